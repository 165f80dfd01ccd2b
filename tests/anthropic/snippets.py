"""Writes the code of docs/claude.md into files, so that what people read is what is tested.

usage: snippets.py DOCUMENT DIRECTORY
"""

import pathlib
import re
import sys

document, directory = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
for language, bridge, example in (("python", "bridge.py", "example.py"), ("js", "bridge.mjs", "example.mjs")):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", document, re.M | re.S)
    assert len(blocks) == 2, f"{language}: {len(blocks)} blocks, not a bridge and an example"
    (directory / bridge).write_text(blocks[0])
    (directory / example).write_text(blocks[0] + "\n" + blocks[1])

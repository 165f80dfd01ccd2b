"""The README of the client, and a Python that has nothing but what an extra installs."""

import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

README = (Path(__file__).parents[3] / "sdk" / "python" / "README.md").read_text()
_SECTIONS = re.split(r"^## ", README, flags=re.MULTILINE)
BLOCKS = [(part.partition("\n")[0], text) for part in _SECTIONS for text in re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)]
PROGRAMS = [(section, text) for section, text in BLOCKS if not text.startswith("# Fragment: ")]
FRAGMENTS = [(section, text) for section, text in BLOCKS if text.startswith("# Fragment: ")]


def imports(text):
    return "\n".join(line for line in text.splitlines() if re.match(r"from |import ", line))


def installs(extra):
    """The distributions that pip installs with the package and one extra, out of those that are pinned here."""
    found, asked = set(), [Requirement(f"loci-memory[{extra}]" if extra else "loci-memory")]
    while asked:
        wanted = asked.pop()
        if (wanted.name.lower(), frozenset(wanted.extras)) in found:
            continue
        found.add((wanted.name.lower(), frozenset(wanted.extras)))
        for line in distribution(wanted.name).requires or []:
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": one}) for one in extras):
                asked.append(needed)
    return {name for name, _ in found}


def alone(program, extra, directory, url="", said="", **environment):
    """Runs a program where there is nothing but what the extra installs, as in a fresh environment."""
    place = directory / f"packages-{extra}"
    if not place.exists():
        for name in installs(extra):
            for file in distribution(name).files or []:
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    (place / file).parent.mkdir(parents=True, exist_ok=True)
                    if not (place / file).exists():
                        (place / file).symlink_to(Path(file.locate()).resolve())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI", "PYTHON"))}
    (text := directory / "program.py").write_text(program)
    code = f"import sys; sys.path.insert(0, {str(place)!r}); exec(compile(open({str(text)!r}).read(), 'README.md', 'exec'), {{'__name__': '__main__'}})"
    command = [sys.executable, "-I", "-S", "-B", "-c", code]
    environment |= kept | {"LOCI_URL": url}
    return subprocess.run(command, input=said, env=environment, capture_output=True, text=True, timeout=120)

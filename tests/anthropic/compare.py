"""Compares the bridge of docs/claude.md with the SDK's own tool over a directory: random
commands must get the same answers, word for word.

Left out are the sizes of directories, which a file system makes up, and long texts to
replace, which errors of ours shorten.
"""

import random
import re
import sys
import tempfile

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from bridge import LociMemory

COMMANDS = 700
chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
paths = ["/memories/" + p for p in ("a", "b.md", "d/a", "d/b", "d/e/f", "d/e/g.txt", ".hidden", "with space", "d")] + ["/memories"]
words = ["a", "b", "aa", "ab", "\n", "\n\n", "one two", "x" * 1500, "é", "tab\there", ""]
text = lambda: "".join(chance.choice(words) for _ in range(chance.randrange(6)))


def command():
    name = chance.choice(["view"] * 3 + ["create"] * 3 + ["str_replace", "insert"] * 3 + ["delete", "rename"])
    path = chance.choice(paths)
    if name == "view":
        c = {"path": path}
        if chance.random() < 0.4:
            c["view_range"] = [chance.randrange(-1, 6), chance.randrange(-2, 8)]
    elif name == "create":
        c = {"path": path, "file_text": text()}
    elif name == "str_replace":
        c = {"path": path, "old_str": chance.choice([w for w in words if 0 < len(w) < 400]), "new_str": text()}
    elif name == "insert":
        c = {"path": path, "insert_line": chance.randrange(-1, 6), "insert_text": text()}
    elif name == "delete":
        c = {"path": path}
    else:
        c = {"old_path": path, "new_path": chance.choice(paths)}
    return {"command": name, **c}


def ask(tool, c):
    try:
        return False, tool.call(c)
    except ToolError as error:
        return True, str(error)
    except OSError as error:  # what the reference has no words for
        return True, type(error).__name__


def directories():
    return {path for path in theirs.memory_root.rglob("*") if path.is_dir()}


def refused_by_theirs(before):
    """Removes the directories that the reference leaves behind when it refuses."""
    for path in sorted(directories() - before, reverse=True):
        path.rmdir()


def plain(answer):
    """The answer without the sizes of directories."""
    lines = answer.split("\n")
    if not answer.startswith("Here're"):
        return answer
    return "\n".join([lines[0], re.sub(r"^\S+", "-", lines[1])] + [re.sub(r"^\S+", "-", l) if l.endswith("/") else l for l in lines[2:]])


mine, theirs = LociMemory(), BetaLocalFilesystemMemoryTool(tempfile.mkdtemp())
failed = compared = 0
seen = set()
for n in range(COMMANDS):
    c = command()
    before = directories()
    got, want = ask(mine, c), ask(theirs, c)
    if want[0]:
        refused_by_theirs(before)
    if want[0] and want[1] in ("NotADirectoryError", "FileExistsError", "OSError"):
        # A parent is a file, or a directory would move into itself: both refuse.
        same = got[0]
    else:
        same = got[0] == want[0] and plain(got[1]) == plain(want[1])
        compared += 1
        seen.add((c["command"], want[0]))
    if not same:
        failed += 1
        print(f"FAIL compare {n} {c}\n got {got}\nwant {want}".replace("x" * 1500, "X"))
        if failed > 5:
            break
if len(seen) < 11:  # six commands, each done and refused; not every one in every run
    failed += 1
    print(f"FAIL compare: only {sorted(seen)} were seen")
if not failed:
    print(f"ok compare {compared} answers")
sys.exit(failed > 0)

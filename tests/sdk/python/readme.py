"""The README of the client, and a Python that has nothing but what an extra installs."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from importlib.metadata import distribution, distributions
from pathlib import Path
from tempfile import TemporaryDirectory

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
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if (name, frozenset(wanted.extras)) in found:
            continue
        found.add((name, frozenset(wanted.extras)))
        for line in distribution(wanted.name).requires or []:
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": one}) for one in extras):
                asked.append(needed)
    return {name for name, _ in found}


@cache
def owners():
    """Which distributions have files at or below each place of this environment."""
    found = defaultdict(set)
    for one in distributions():
        name = re.sub(r"[-_.]+", "-", one.name).lower()  # which reads a file
        for file in one.files or []:
            for depth in range(len(file.parts)):
                found[file.parts[: depth + 1]].add(name)
    return found


_PLACES = TemporaryDirectory()  # ends with the program


@cache
def packages(extra):
    """A directory that has what the extra installs and nothing else. It links to whole directories where everything in them
    comes from the extra, since those keep what Python compiled, and else to files."""
    place, names = Path(_PLACES.name) / (extra or "none"), installs(extra)
    place.mkdir()
    for name in names:
        for file in distribution(name).files or []:
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            depth = next(n for n in range(1, len(file.parts) + 1) if n == len(file.parts) or owners()[file.parts[:n]] <= names)
            link = place.joinpath(*file.parts[:depth])
            if not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(distribution(name).locate_file("")).joinpath(*file.parts[:depth]).resolve())
    return place


def alone(program, extra, directory, url="", said="", **environment):
    """Runs a program where there is nothing but what the extra installs, as in a fresh environment."""
    place = packages(extra)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI", "PYTHON"))}
    (text := directory / "program.py").write_text(program)
    code = f"import sys; sys.path.insert(0, {str(place)!r}); exec(compile(open({str(text)!r}).read(), 'README.md', 'exec'), {{'__name__': '__main__'}})"
    command = [sys.executable, "-I", "-S", "-B", "-c", code]
    environment |= kept | {"LOCI_URL": url}
    return subprocess.run(command, input=said, env=environment, capture_output=True, text=True, timeout=120)

"""Reads the word lists and the paraphrase families.

lexicon/*.txt: sections "= name", entries separated by commas, or by bars if the section
has one (entries of several clauses). A section may go on in another file.

families/*.txt: sections "= kind", one family per line, wordings separated by " | ",
questions last, each with a "?" before it. Kinds:

    say      whole statements in the first person (see grammar)
    habit    verb phrases of what somebody does regularly
    deed     verb phrases of what happens once
    mishap   verb phrases of what goes wrong once
    state    verb phrases of what is so for long
    thing    nouns with the same meaning
    quality  adjectives with the same meaning, said of things and events
    character, mood   adjectives said of what somebody is like, and how somebody feels

The verb phrases, nouns and adjectives are put into the frames of families/frames.txt.
"""

from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent


class Family(NamedTuple):
    """Wordings of one meaning, and questions that they answer."""
    kind: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    keeps: bool = True  # for a frame: whether the family's own questions fit it, too


def _sections(directory: str, pattern: str) -> list[tuple[str, str]]:
    """The named sections of all files of a directory, in the order of their names."""
    out = []
    for path in sorted((_HERE / directory).glob(pattern)):
        for section in ("\n" + path.read_text(encoding="utf-8")).split("\n= ")[1:]:
            name, _, body = section.partition("\n")
            out.append((name.strip(), body.strip()))
    return out


def _lexicon() -> dict[str, list[str]]:
    lists: dict[str, dict[str, None]] = {}
    for name, body in _sections("lexicon", "*.txt"):
        body = body.replace("\n", "|" if "|" in body else ",")
        entries = (e.strip() for e in body.split("|" if "|" in body else ","))
        lists.setdefault(name, {}).update((e, None) for e in entries if e)
    return {name: list(entries) for name, entries in lists.items()}


def _family(kind: str, line: str) -> Family:
    parts = [p.strip() for p in line.split("|")]
    says = tuple(p for p in parts if not p.startswith("?"))
    return Family(kind, says, tuple(p[1:].strip() for p in parts if p.startswith("?")), not line.startswith("!"))


def _families() -> tuple[list[Family], dict[str, list[Family]]]:
    families, frames = [], {}
    for name, body in _sections("families", "*.txt"):
        lines = [line for line in body.splitlines() if line.strip() and not line.startswith("#")]
        if name.startswith("frame "):
            made = [_family(name, line) for line in lines]
            frames[name.removeprefix("frame ")] = [f._replace(statements=tuple(s.lstrip("! ") for s in f.statements)) for f in made]
        else:
            families += [_family(name, line) for line in lines]
    return families, frames


LEXICON = _lexicon()
FAMILIES, FRAMES = _families()

"""The lines of an export in parts, each as much as the server imports with one request."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from loci_memory.calls.call import JSON
from loci_memory.errors import LociError
from loci_memory.replies import ImportReport

MOST = 20_000  # what the lines of one request may weigh, as the server weighs them, and their bytes
MOST_BYTES = 24 << 20
LINES = 9_000
_CHECKPOINTS = ("checkpoint", "checkpoint_value", "checkpoint_write")
_BY_COMMAND = "Import the file with `loci import`, which takes any number of lines."
_JOINED = re.compile(r"[A-Za-z]-(?=[A-Za-z])")
_PLACE = re.compile(r"\bline (\d+)\b")


class Part(NamedTuple):
    lines: list[str]
    numbers: list[int]  # of the lines in the whole, from 1
    names: bool = False  # some of the lines name memories of others


class _Group:
    """Lines that mean something only together."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.weight = self.bytes = self.records = self.revisions = self.links = 0
        self.names = False
        self.path = -1  # of a file: how long it is; directories come before what is in them


class _Load:
    """What the groups of a part come to."""

    def __init__(self) -> None:
        self.weight = self.bytes = self.lines = 0

    def takes(self, group: _Group) -> bool:
        return (
            self.weight + group.weight <= MOST - 8  # the header and the end weigh something, too
            and self.bytes + group.bytes <= MOST_BYTES
            and self.lines + len(group.numbers) <= LINES
        )

    def add(self, group: _Group) -> None:
        self.weight += group.weight
        self.bytes += group.bytes
        self.lines += len(group.numbers)


def imports(lines: list[str]) -> list[Part]:
    """The imports that lines come to; one if they fit, or if the server is to say what is wrong with them."""
    whole = Part(lines, list(range(1, len(lines) + 1)))
    if not all(isinstance(line, str) for line in lines):
        return [whole]
    read = [_read(line) for line in lines]
    if not any(read) or (_weight(read, lines) <= MOST and sum(map(_size, lines)) <= MOST_BYTES and len(lines) <= LINES):
        return [whole]
    first = next((line for line in read if line), {})
    export = first.get("type") == "header"
    if export:
        _check_end(read)
    groups = sorted(_groups(read, lines), key=lambda group: group.path)
    parts: list[list[_Group]] = []
    load = _Load()  # of the last part
    for group in groups:
        if not _Load().takes(group):
            about = read[group.numbers[0] - 1]
            kind = about.get("kind") or about.get("type")
            raise LociError(
                "too_large",
                f"lines {group.numbers[0]} to {group.numbers[-1]} belong together ({kind}), and are more than one request imports: "
                "nothing was imported",
                recovery=_BY_COMMAND,
            )
        if not parts or not load.takes(group) or bool(group.links) != bool(parts[-1][0].links):
            parts.append([])
            load = _Load()
        parts[-1].append(group)
        load.add(group)
    return [_part(part, read, lines, export) for part in parts] or [whole]


def whole(part: Part, error: LociError, done: Sequence[ImportReport], parts: int) -> LociError:
    """An error of a part with the numbers of the lines that were given, and with what is stored already."""
    if parts == 1:
        return error

    def number(place: re.Match[str]) -> str:
        at = int(place[1])
        return f"line {part.numbers[at - 1]}" if 0 < at <= len(part.numbers) and part.numbers[at - 1] else place[0]

    stored = f"the first {len(done)} of {parts} parts of the lines are imported, the others are not: "
    return LociError(
        error.code,
        (stored if done else "") + _PLACE.sub(number, error.message),
        recovery=error.recovery + (" Then import all lines again: what is there is left alone." if done else ""),
        status=error.status,
        request_id=error.request_id,
        parts=error.parts,
    )


def check(parts: Sequence[Part], done: Sequence[ImportReport]) -> None:
    """Refuses to go on where a part names memories by ids that they do not have here."""
    if len(parts) > 1 and done[-1].get("moved") and any(part.names for part in parts):
        raise LociError(
            "conflict",
            "some ids of these lines stand for other memories here, so that what one part says of another would be lost: "
            f"{len(done)} of {len(parts)} parts are imported",
            recovery=_BY_COMMAND,
        )


def together(done: Sequence[ImportReport]) -> ImportReport:
    """What the imports of all parts have done."""
    out: Any = {**done[0], **{count: sum(one[count] for one in done) for count in ("created", "existing", "conflicts")}}
    skipped = [line for one in done for line in one.get("skipped", [])][:20]
    moved = sum(one.get("moved", 0) for one in done)
    out = {**out, **({"skipped": skipped} if skipped else {}), **({"moved": moved} if moved else {})}
    return cast(ImportReport, out)


def _check_end(read: Sequence[JSON]) -> None:
    end = next((line for line in reversed(read) if line), {})
    if end.get("type") != "end":
        raise LociError("invalid", 'the file is cut short: its last line must have type "end"', recovery="Export it again.")
    for field, type in (("records", "record"), ("revision_lines", "revision"), ("links", "link")):
        count = sum(line.get("type") == type for line in read)
        if end.get(field, 0) != count:
            raise LociError("invalid", f"{field} is {end.get(field, 0)} but {count} were read: the file is damaged", recovery="Export it again.")


def _read(line: str) -> JSON:
    try:
        read = json.loads(line)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8", "replace"))


def _text(value: object) -> int:
    """How many bytes the server counts a text as: those that are not ASCII twice, a hyphen between two letters as six."""
    if not isinstance(value, str):
        return 0
    size = len(value) if value.isascii() else 2 * _size(value) - len(value.encode("ascii", "ignore"))
    return size + 5 * sum(1 for _ in _JOINED.finditer(value))


def _line_weight(read: JSON, line: str) -> int:
    size = _size(line)
    weight = size // 2000
    if read.get("type") in ("header", "revision", "link", "end"):
        return weight + 2
    if read.get("type") == "entity":
        observations = read.get("observations")
        more = max(len(observations) - 1, 0) if isinstance(observations, list) else 0
        return weight + 5 * (more + 1) + (_text(line) + more * (_text(read.get("name")) + _text(read.get("entityType")))) // 105
    return min(weight + 5 + _text(read.get("text")) // 105, MOST // 2)


def _weight(read: Sequence[JSON], lines: Sequence[str]) -> int:
    return sum(map(_line_weight, read, lines))


def _groups(read: Sequence[JSON], lines: Sequence[str]) -> Iterator[_Group]:
    groups: dict[object, _Group] = {}
    last: object = None
    values: list[int] = []  # of checkpoints, which come before the first that has them
    for at, (line, text) in enumerate(zip(read, lines, strict=True)):
        if not (line or text.strip()) or line.get("type") in ("header", "end"):
            continue
        key: object = ("line", at)
        body = _body(line)
        if line.get("type") == "revision":
            key = last
        elif line.get("kind") == "checkpoint_value":
            values.append(at)
            last = None
            continue
        elif line.get("kind") in _CHECKPOINTS:
            key = ("thread", str(line.get("namespace")), body.get("thread"), body.get("ns"))
        elif line.get("kind") == "session":
            key = ("session", str((line.get("namespace") or [])[:-1]), _slot(line))
        elif line.get("kind") == "message":
            key = ("session", str((line.get("namespace") or [])[:-1]), line.get("sequence"))
        elif line.get("kind") == "file":
            key = ("file", line.get("id"))
        elif line.get("kind") == "block":
            key = ("file", line.get("sequence"))
        group = groups.setdefault(key, _Group())
        for each in [*values, at] if line.get("kind") == "checkpoint" else [at]:
            group.numbers.append(each + 1)
            group.weight += _line_weight(read[each], lines[each])
            group.bytes += _size(lines[each])
            group.records += read[each].get("type") == "record"
            group.revisions += read[each].get("type") == "revision"
            group.links += read[each].get("type") == "link"
            group.names = group.names or bool(group.links or _body(read[each]).get("supersedes") or _body(read[each]).get("superseded_by"))
        if line.get("kind") == "checkpoint":
            values = []
        if line.get("kind") == "file":
            group.path = len(_slot(line))
        last = key
    for group in groups.values():
        group.numbers.sort()
        if group.links:
            group.path = 1 << 30  # after all that they join
    yield from groups.values()


def _body(line: JSON) -> JSON:
    body = line.get("body")
    return body if isinstance(body, dict) else {}


def _slot(line: JSON) -> str:
    try:
        return b64decode(line.get("slot") or "").decode("utf-8", "replace")
    except ValueError:
        return ""


def _part(groups: Sequence[_Group], read: Sequence[JSON], lines: Sequence[str], export: bool) -> Part:
    numbers = [number for group in groups for number in group.numbers]
    if not export:
        numbers.sort()
        return Part([lines[number - 1] for number in numbers], numbers)
    head = next(i for i, line in enumerate(read) if line.get("type") == "header")
    end = {
        "type": "end",
        "records": sum(group.records for group in groups),
        "revision_lines": sum(group.revisions for group in groups),
        "links": sum(group.links for group in groups),
    }
    return Part(
        [lines[head], *(lines[number - 1] for number in numbers), json.dumps(end)],
        [head + 1, *numbers, 0],
        any(group.names for group in groups),
    )

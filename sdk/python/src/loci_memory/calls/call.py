"""What a request is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json import dumps
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from loci_memory.errors import LociError

T = TypeVar("T")
JSON = dict[str, Any]


def whole(reply: Any) -> Any:
    """Reads a reply as it is."""
    return reply


def nothing(_: Any) -> None:
    """Reads a reply without a body."""


def on(before: T, after: T, what: str) -> T:
    """Where a list goes on, which must be elsewhere than before: no list goes round in circles."""
    if before == after:
        raise LociError("unsupported", f"the server's list of {what} does not end: it goes on where it went on before", recovery="See what the url leads to.")
    return after


def part_key(key: str | None, part: int) -> str | None:
    """The idempotency key of a later part of what takes several requests: it begins with that of the first."""
    if key is None:
        return None
    if len(made := f"{key}:{part}") > 256:
        text = f"idempotency_key is {len(key)} bytes long, and that of a later part, which ends in :{part}, may have 256"
        raise LociError("invalid", text, recovery="Choose a key of up to 240 bytes.")
    return made


MOST_PARTS = 10**9  # of what takes several requests: more than there can be


def field(name: str) -> Callable[[Any], Any]:
    """Reads one field of a reply."""
    return lambda reply: reply[name]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, the form of its reply (None: no body), and how that is read.

    It may be sent again when no reply came. One with `once` needs an idempotency key for
    that, since a second time would change more than the first; `fragile` ones are not sent
    again at all. Of an `optional` thing None is read where there is none. Where `parts` are
    asked for, a server that knows them sends bytes as they are, except those of `known` ids. What goes `on` may
    be done by a part: the reply then says where it goes on.
    """

    method: str
    path: str
    form: Any
    body: JSON | None = None
    query: Mapping[str, Any] | None = None
    read: Callable[[Any], T] = whole
    once: bool = False
    fragile: bool = False
    optional: bool = False
    parts: bool = False
    known: tuple[str, ...] = ()
    on: bool = False


def given(**fields: Any) -> JSON:
    """The fields that are not None: an absent field has the server's default. A time becomes its text."""
    return {name: moment(name, value) if isinstance(value, datetime) else value for name, value in fields.items() if value is not None}


def moment(field: str, value: datetime) -> str:
    """A time as the server reads it. One without a zone would be another on another machine."""
    if value.utcoffset() is None:
        raise LociError("invalid", f"{field} has no time zone", recovery="Use datetime.now(timezone.utc), or .astimezone() for the zone of this machine.")
    return value.isoformat(timespec="milliseconds")  # as exact as the server is


def sent(_: Any, text: str) -> int:
    """How many bytes a text is when it is sent."""
    return len(text.encode("utf-8", "surrogatepass"))


def weighed(_: Any, text: str) -> int:
    """How many bytes the server counts a text as where it makes words of it: those that are not ASCII twice."""
    return len(text) if text.isascii() else 2 * sent(None, text) - len(text.encode("ascii", "ignore"))


def parts(values: Sequence[Any], most: int, most_bytes: int, counted: Callable[[Any, str], int] = sent) -> list[slice]:
    """Cuts values for several requests: so many of them, and so many bytes of their JSON, each as what it is counted."""
    cuts: list[slice] = []
    start = total = 0
    for i, value in enumerate(values):
        size = counted(value, dumps(value, ensure_ascii=False, default=str))
        if i > start and (i - start == most or total + size > most_bytes):
            cuts.append(slice(start, i))
            start, total = i, 0
        total += size
    return [*cuts, slice(start, len(values))] if start < len(values) else cuts


def texts(field: str, values: Sequence[str]) -> list[str]:
    """A list of texts. One text is refused, of which Python would make a list of its characters."""
    if isinstance(values, (str, bytes)):
        raise LociError("invalid", f"{field} must be a list of texts, not one text", recovery="Put it in a list.")
    if not isinstance(values, Iterable):
        raise LociError("invalid", f"{field} must be a list of texts", recovery="Put what it holds in a list.")
    return list(values)


def some_texts(field: str, values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else texts(field, values)


def objects(field: str, values: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """A list of objects, which a single one and a text are not."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
        raise LociError("invalid", f"{field} must be a list of objects", recovery="Put what it holds in a list.")
    for at, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise LociError("invalid", f"{field}[{at}] must be an object", recovery="Pass dictionaries.")
    return values


def segment(field: str, value: str) -> str:
    """A part of a path."""
    if value in ("", ".", ".."):
        raise LociError("invalid", f"{field} must not be {value!r}: no address can hold it", recovery="Choose another one.")
    try:
        return quote(value, safe="", errors="strict")
    except (TypeError, UnicodeEncodeError) as err:
        raise LociError("invalid", f"{field} is no well-formed text", recovery="Choose another one.") from err

"""Requests about memories of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loci_memory.calls import transfer
from loci_memory.calls.call import JSON, Call, field, given, nothing, segment, some_texts, texts
from loci_memory.replies import DuePage, Entry, EntryPage, ErasedMemories, ExportPart, ImportReport, Links, Origin, Past, Places, Stats


def page(query: JSON) -> Call[EntryPage]:
    return Call("GET", "/v1/memories", EntryPage, query=given(**query))


def get(id: str) -> Call[Entry]:
    return Call("GET", _path(id), Entry)


def delete(id: str) -> Call[None]:
    return Call("DELETE", _path(id), None, read=nothing, once=True)


def change(id: str, verb: str, body: JSON | None = None) -> Call[Entry]:
    return Call("POST", _path(id) + "/" + verb, Entry, body, once=True)


def supersede(
    id: str,
    content: str | None,
    value: Mapping[str, Any] | None,
    tags: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
    importance: float | None,
    permanence: str | None,
) -> Call[Entry]:
    body = given(
        content=content,
        value=None if value is None else dict(value),
        tags=some_texts("tags", tags),
        metadata=None if metadata is None else dict(metadata),
        importance=importance,
        permanence=permanence,
    )
    return change(id, "supersede", body)


def history(id: str) -> Call[Past]:
    return Call("GET", _path(id) + "/history", Past)


def provenance(id: str) -> Call[Origin]:
    return Call("GET", _path(id) + "/provenance", Origin)


def links(id: str) -> Call[list[JSON]]:
    return Call("GET", _path(id) + "/links", Links, read=field("links"))


def link(id: str, type: str, to: str) -> Call[list[JSON]]:
    return Call("POST", _path(id) + "/links", Links, {"link_type": type, "to": to}, read=field("links"), once=True)


def review(limit: int | None, cursor: str | None) -> Call[DuePage]:
    return Call("GET", "/v1/review", DuePage, query=given(limit=limit, cursor=cursor))


def namespaces(limit: int | None, cursor: str | None) -> Call[Places]:
    return Call("GET", "/v1/namespaces", Places, query=given(limit=limit, cursor=cursor))


LINES_AT_ONCE = 5000  # of an export


def export(kind: Sequence[str] | None, state: Sequence[str] | None, cursor: str | None) -> Call[ExportPart]:
    query = given(kind=some_texts("kind", kind), state=some_texts("state", state), limit=LINES_AT_ONCE, cursor=cursor)
    return Call("GET", "/v1/export", ExportPart, query=query)


def import_parts(lines: Sequence[str]) -> list[transfer.Part]:
    return transfer.imports(texts("lines", lines))


def import_lines(lines: Sequence[str]) -> Call[ImportReport]:
    return Call("POST", "/v1/import", ImportReport, {"lines": lines}, fragile=True)


ERASED_AT_ONCE = 4000  # by one request


def erase(body: JSON) -> Call[ErasedMemories]:
    return Call("POST", "/v1/erase", ErasedMemories, body, once=True)


def stats() -> Call[Stats]:
    return Call("GET", "/v1/stats", Stats)


def _path(id: str) -> str:
    return "/v1/memories/" + segment("id", id)

"""Requests about conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from loci_memory.calls.call import JSON, Call, given, objects, part_key, parts, segment, weighed
from loci_memory.replies import (
    Appended,
    Cleared,
    History,
    Imported,
    OpenAIHistory,
    Popped,
    Reminders,
    Session,
    SessionDocument,
    SessionHits,
    SessionPage,
    Summarised,
    Trimmed,
)

BATCH = 1000  # messages of one append, as the server takes them, and their bytes, with room below what it takes
BATCH_BYTES = 3 << 18
PART = 5000  # messages of one import, and their bytes, with room below what the server takes
PART_BYTES = 3 << 20


def create(id: str | None, metadata: Mapping[str, Any] | None, max_messages: int | None, timeout_seconds: int | None) -> Call[Session]:
    return Call("POST", "/v1/sessions", Session, given(id=id, **_settings(metadata, max_messages, timeout_seconds)), once=True)


def page(include_expired: bool, limit: int | None, cursor: str | None) -> Call[SessionPage]:
    return Call("GET", "/v1/sessions", SessionPage, query=given(include_expired=include_expired or None, limit=limit, cursor=cursor))


def get(id: str) -> Call[Session]:
    return Call("GET", _path(id), Session)


def update(id: str, metadata: Mapping[str, Any] | None, max_messages: int | None, timeout_seconds: int | None) -> Call[Session]:
    return Call("PATCH", _path(id), Session, _settings(metadata, max_messages, timeout_seconds), once=True)


def clear(id: str) -> Call[Cleared]:
    return Call("DELETE", _path(id), Cleared, once=True)


def clear_all() -> Call[Cleared]:
    return Call("DELETE", "/v1/sessions", Cleared, query={"all": "true"}, once=True)


def append(id: str, messages: Sequence[Mapping[str, Any]]) -> Call[Appended]:
    return Call("POST", _path(id) + "/messages", Appended, {"messages": [dict(m) for m in messages]}, once=True)


def appends(id: str, messages: Sequence[Mapping[str, Any]], key: str | None) -> list[tuple[Call[Appended], str | None]]:
    """The appends that messages come to, each with its idempotency key; without messages one, which the server refuses."""
    messages = objects("messages", messages)
    cuts = parts(messages, BATCH, BATCH_BYTES, weighed) or [slice(0, 0)]
    return [(append(id, messages[cut]), part_key(key, cut.start) if cut.start else key) for cut in cuts]


def together(done: Sequence[Appended]) -> Appended:
    """What several appends have done."""
    first, last = done[0], done[-1]
    counts = {total: sum(one[total] for one in done) for total in ("count", "trimmed")}
    return {**last, "created": first["created"], "first_seq": first["first_seq"], "count": counts["count"], "trimmed": counts["trimmed"]}


def history(id: str, query: JSON) -> Call[History]:
    return Call("GET", _path(id) + "/messages", History if query.get("format") != "openai" else OpenAIHistory, query=given(**query))


def export(id: str) -> Call[SessionDocument]:
    return Call("GET", _path(id) + "/export", SessionDocument)


def import_document(document: Mapping[str, Any] | Sequence[Mapping[str, Any]], id: str | None, mode: str | None) -> Call[Imported]:
    form = dict(document) if isinstance(document, Mapping) else list(document)
    return Call("POST", "/v1/sessions/import", Imported, given(document=form, id=id, mode=mode), once=True)


def imports(
    document: Mapping[str, Any] | Sequence[Mapping[str, Any]], id: str | None, mode: str | None, key: str | None
) -> list[tuple[Call[Imported], str | None]]:
    """The imports that a document comes to, each with its idempotency key."""
    whole = document if isinstance(document, Mapping) else {}
    messages = whole.get("messages") if whole else document
    cuts = parts(messages, PART, PART_BYTES) if isinstance(messages, Sequence) else []
    if not isinstance(messages, Sequence) or len(cuts) < 2:
        return [(import_document(document, id, mode), key)]
    session = whole.get("session") or {}
    id = id or session.get("id") or str(uuid4())
    begin: Any = list(messages[cuts[0]])
    if whole:  # the numbers go on behind those of the first part
        begin = {**whole, "messages": begin, "session": {name: value for name, value in session.items() if name != "last_seq"}}
    rest = [(import_document(messages[cut], id, "append"), part_key(key, cut.start)) for cut in cuts[1:]]
    return [(import_document(begin, id, mode), key), *rest]


def imported(done: Sequence[Imported]) -> Imported:
    """What the imports of a document have done."""
    return {**done[0], "imported": sum(one["imported"] for one in done), "trimmed": sum(one["trimmed"] for one in done)}


def trim(id: str, max_messages: int) -> Call[Trimmed]:
    return Call("POST", _path(id) + "/trim", Trimmed, {"max_messages": max_messages}, once=True)


def pop(id: str) -> Call[Popped]:
    return Call("POST", _path(id) + "/pop", Popped, once=True)


def search(
    query: str,
    id: str | None,
    mode: str | None,
    limit: int | None,
    offset: int | None,
    min_score: float | None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> Call[SessionHits]:
    path = "/v1/sessions" if id is None else _path(id)
    body = given(query=query, mode=mode, limit=limit, offset=offset, min_score=min_score, since=since, until=until)
    return Call("POST", path + "/search", SessionHits, body)


def summarise(id: str, context_tokens: int, fields: JSON) -> Call[Summarised]:
    return Call("POST", _path(id) + "/summarise", Summarised, given(context_tokens=context_tokens, **fields), once=True)


def retrieve(id: str, query: str, token_budget: int | None, recent: int | None, min_score: float | None) -> Call[Reminders]:
    body = given(query=query, token_budget=token_budget, recent=recent, min_score=min_score)
    return Call("POST", _path(id) + "/retrieve", Reminders, body)


def _path(id: str) -> str:
    return "/v1/sessions/" + segment("session id", id)


def _settings(metadata: Mapping[str, Any] | None, max_messages: int | None, timeout_seconds: int | None) -> JSON:
    return given(metadata=None if metadata is None else dict(metadata), max_messages=max_messages, timeout_seconds=timeout_seconds)

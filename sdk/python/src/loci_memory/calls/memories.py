"""Requests about memories of any kind, notes, tools and the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls.call import JSON, Call, field, given, nothing, segment, some_texts
from loci_memory.replies import Context, EventPage, Found, Info, Note, NotePage, Recalled, SavedNote, Tool, ToolReply, Tools


def info() -> Call[Info]:
    return Call("GET", "/v1/info", Info)


def search(query: str | None, fields: JSON) -> Call[Found]:
    return Call("POST", "/v1/search", Found, given(query=query, **fields))


def recall(topic: str, fields: JSON) -> Call[Recalled]:
    # With touch a second attempt would count another use.
    return Call("POST", "/v1/recall", Recalled, given(topic=topic, **fields), fragile=bool(fields.get("touch")))


def context(prompt: str, agent: str | None, token_budget: int | None, min_score: float | None) -> Call[Context]:
    body = given(trigger_prompt=prompt, butler=agent, token_budget=token_budget, min_score=min_score)
    return Call("POST", "/v1/context", Context, body)


def events(query: JSON) -> Call[EventPage]:
    return Call("GET", "/v1/events", EventPage, query=given(**query))


def list_tools() -> Call[list[Tool]]:
    return Call("GET", "/v1/tools", Tools, read=field("tools"))


def call_tool(name: str, arguments: Mapping[str, Any]) -> Call[ToolReply]:
    return Call("POST", "/v1/tools/" + segment("name", name), ToolReply, dict(arguments), once=True)


def save_note(
    content: str,
    tags: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
    created_at: str | datetime | None = None,
    sequence: str | None = None,
    position: int | None = None,
) -> Call[SavedNote]:
    body = {**_note(content, tags, metadata), **given(created_at=created_at, sequence=sequence, position=position)}
    return Call("POST", "/v1/notes", SavedNote, body, once=True)


def list_notes(query: JSON) -> Call[NotePage]:
    return Call("GET", "/v1/notes", NotePage, query=given(**query))


def get_note(id: str) -> Call[Note]:
    return Call("GET", "/v1/notes/" + segment("id", id), Note)


def update_note(
    id: str, content: str | None, tags: Sequence[str] | None, metadata: Mapping[str, Any] | None, if_version: int | None
) -> Call[Note]:
    body = {**_note(content, tags, metadata), **given(if_version=if_version)}
    return Call("PATCH", "/v1/notes/" + segment("id", id), Note, body, once=True)


def delete_note(id: str) -> Call[None]:
    return Call("DELETE", "/v1/notes/" + segment("id", id), None, read=nothing, once=True)


def _note(content: str | None, tags: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> JSON:
    return given(content=content, tags=some_texts("tags", tags), metadata=None if metadata is None else dict(metadata))

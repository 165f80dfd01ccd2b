"""Sessions for the OpenAI Agents SDK."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, cast

from agents import SessionABC, SessionSettings, TResponseInputItem

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import one
from loci_memory.conversation import absent, arecent, arguments_of, carried, carrying, text_of
from loci_memory.errors import ConfigurationError, LociError
from loci_memory.remember import OnError, Remembered, aremember, report
from loci_memory.replies import JSON, Appended, StoredMessage

KEY = "openai_response_item"  # under which a message carries an item of the Responses API
_ROLES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}


class LociSession(SessionABC):
    """Keeps a conversation of the OpenAI Agents SDK in Loci.

        await Runner.run(agent, "Hello", session=LociSession("s1"))

    Each item is stored as it is and, beside that, as a message that other programs read.
    `pop_item` takes the newest one away in one change, so that no two callers get the same.
    Without a `session_id` it gets a UUID. `url` and the other settings are those of `AsyncLoci`; a
    client of your own may be given in their place.

    A run goes on without its memory: what fails is told to `on_error` (by default a warning
    in the log), reads give no items, and `last` says what became of the last items added.
    With `strict` it is raised. `pop_item` and `clear_session` always raise what fails.
    """

    def __init__(
        self,
        session_id: str | None = None,
        url: str | None = None,
        *,
        client: AsyncLoci | None = None,
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
        strict: bool = False,
        on_error: OnError | None = None,
        **settings: Any,
    ) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        self.session_settings = _settings(session_settings)
        self.client = one(client, AsyncLoci, url, settings)
        self.strict = strict
        self.on_error = on_error
        self.last: Remembered[Appended] | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first, at most so many of the newest (None: as the session's settings say)."""
        most = limit if limit is not None else _settings(self.session_settings).limit  # whoever sets the attribute may set a dictionary
        try:
            items = [item for message in await arecent(self.client, self.session_id, most) for item in _items(message)]
        except LociError as err:
            if self.strict or isinstance(err, ConfigurationError):
                raise
            report(err, self.on_error)
            return []
        return cast("list[TResponseInputItem]", items if most is None else items[max(0, len(items) - most) :])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items in their order, all or nothing."""

        async def append() -> Appended:
            return await self.client.sessions.append(self.session_id, [_message(cast(JSON, item)) for item in items])

        if not items:
            return
        self.last = await aremember(append(), (lambda _: None) if self.strict else self.on_error)
        if self.strict and self.last.error:
            raise self.last.error

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the newest item away and returns it; None: there is none."""
        try:
            while message := (await self.client.sessions.pop(self.session_id))["message"]:
                if items := _items(message):
                    return cast("TResponseInputItem", items[-1])
        except LociError as err:
            absent(err)
        return None

    async def clear_session(self) -> None:
        """Erases the session."""
        try:
            await self.client.sessions.clear(self.session_id)
        except LociError as err:
            absent(err)


def _settings(given: SessionSettings | Mapping[str, Any] | None) -> SessionSettings:
    """Settings as a framework passes them: their own type, a dictionary, or nothing."""
    return given if isinstance(given, SessionSettings) else SessionSettings(**(given or {}))


def _message(item: JSON) -> StoredMessage:
    """A message that carries an item."""
    kind = item.get("type")
    if kind == "function_call":
        call = {"name": item.get("name"), "args": arguments_of(item.get("arguments")), "id": item.get("call_id"), "type": "tool_call"}
        return carrying("ai", {"content": "", "tool_calls": [call]}, KEY, item)
    if kind == "function_call_output":
        return carrying("tool", {"content": text_of(item.get("output")), "tool_call_id": item.get("call_id")}, KEY, item)
    role = _ROLES.get(str(item.get("role")))
    if kind in (None, "message") and role:
        return carrying(role, {"content": text_of(item.get("content"))}, KEY, item)
    return carrying("generic", {"role": str(kind or item.get("role") or "item"), "content": text_of(item.get("content"))}, KEY, item)


def _items(message: StoredMessage) -> list[JSON]:
    """The items of a message, also of one that another program wrote."""
    original = carried(message, KEY)
    if original is not None:
        return [original]
    data = message["data"]
    text = text_of(data.get("content"))
    if message["type"] == "human":
        return [{"role": "user", "content": text}]
    if message["type"] == "system":
        return [{"role": "system", "content": text}]
    if message["type"] == "ai":
        said: list[JSON] = [{"role": "assistant", "content": text}] if text else []
        given = data.get("tool_calls")
        calls = [call for call in given if isinstance(call, dict) and "name" in call] if isinstance(given, list) else []
        return said + [
            {"type": "function_call", "call_id": call.get("id") or "", "name": call["name"], "arguments": json.dumps(call.get("args") or {})} for call in calls
        ]
    if message["type"] == "tool":
        return [{"type": "function_call_output", "call_id": data.get("tool_call_id") or "", "output": text}]
    return []  # a role that the SDK has no item for

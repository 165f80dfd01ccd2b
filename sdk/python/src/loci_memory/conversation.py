"""What adapters for histories share: which messages of a session count, and messages that carry a framework's own form."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from loci_memory.aio.client import AsyncLoci
from loci_memory.errors import LociError
from loci_memory.replies import JSON, Message, StoredMessage
from loci_memory.sync.client import Loci

REMOVE_ALL = "__remove_all__"  # the id by which LangGraph removes every message before it


class Recent:
    """Collects messages, the newest first, until there are `limit` (None: all).

    What a later message of the type remove names is left out, and so are these.
    """

    def __init__(self, limit: int | None) -> None:
        self.full = limit is not None and limit <= 0
        self.page = 500 if limit is None else min(max(limit, 0) + 10, 500)
        self._limit = limit
        self._found: list[Message] = []
        self._removed: set[Any] = set()

    def take(self, message: Message) -> None:
        id = message["data"].get("id")
        if message["type"] == "remove":
            self.full = self.full or id == REMOVE_ALL
            self._removed.add(id)
        elif id is None or id not in self._removed:
            self._found.append(message)
            self.full = self._limit is not None and len(self._found) >= self._limit

    def messages(self) -> list[Message]:
        """Oldest first."""
        return self._found[::-1]


def recent(client: Loci, session: str, limit: int | None = None) -> list[Message]:
    """The newest messages of a session, oldest first. A session that is not there has none."""
    found = Recent(limit)
    if found.full:
        return []
    try:
        for message in client.sessions.messages(session, order="desc", page=found.page):
            found.take(message)
            if found.full:
                break
    except LociError as err:
        absent(err)
    return found.messages()


async def arecent(client: AsyncLoci, session: str, limit: int | None = None) -> list[Message]:
    """`recent` for asyncio."""
    found = Recent(limit)
    if found.full:
        return []
    try:
        async for message in client.sessions.messages(session, order="desc", page=found.page):
            found.take(message)
            if found.full:
                break
    except LociError as err:
        absent(err)
    return found.messages()


def absent(err: LociError) -> None:
    """None for what is not there; any other error goes on."""
    if err.code != "not_found":
        raise err


def carrying(type: str, data: JSON, key: str, original: Any) -> StoredMessage:
    """A message in LangChain's form that also carries a framework's own, under a key of additional_kwargs.

    So the framework reads back exactly what it wrote, and every other program understands it.
    """
    return {"type": type, "data": {"id": str(uuid.uuid4()), **data, "additional_kwargs": {key: original}}}


def carried(message: StoredMessage, key: str) -> Any:
    """What `carrying` put there; None: another program wrote the message."""
    kwargs = message["data"].get("additional_kwargs")
    return kwargs.get(key) if isinstance(kwargs, dict) else None


def text_of(content: Any) -> str:
    """The text of a content: a text, or those among its blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block if isinstance(block, str) else _block_text(block) for block in content)
    return "\n".join(text for text in texts if text)


def _block_text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return ""
    text = block.get("text", block.get("refusal"))
    return text if isinstance(text, str) else ""


def arguments_of(given: Any) -> JSON:
    """Arguments of a tool call, which models give as JSON; what is none stays a text."""
    value = given
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except ValueError:
            return {"arguments": given}
    return value if isinstance(value, dict) else {"arguments": value}

"""The memory service of Google's Agent Development Kit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Optional

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import one
from loci_memory.errors import LociError, problem_of
from loci_memory.replies import JSON, Item

_PART = 100  # events of one request


class LociMemoryService(BaseMemoryService):
    """Keeps what was said in ADK's sessions, for later ones.

        Runner(app_name="trips", agent=agent, memory_service=LociMemoryService(), session_service=…)

    Each user's memories are in the memory of that user, those of each app apart, so the server
    must allow the choice (scope delegate). An event that was deleted does not come back with
    its session. `limit` is how many memories a search finds. `url` and the other settings are
    those of `AsyncLoci`; a client of your own may be given in their place. What fails is raised.
    """

    def __init__(self, url: str | None = None, *, client: AsyncLoci | None = None, limit: int = 10, **settings: Any) -> None:
        self.client = one(client, AsyncLoci, url, settings)
        self.limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Adds the events of a session; those that are there already are replaced."""
        await self.add_events_to_memory(app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds events that have content."""
        said = [event for event in events if event.content and event.content.parts]
        entries = [_entry(event.id, event.content, event.author, _time(event.timestamp), session_id, custom_metadata) for event in said]
        await self._put(app_name, user_id, entries)

    async def add_memory(
        self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Adds memories as they are."""
        given = [{**memory.custom_metadata, **(custom_metadata or {})} for memory in memories]
        entries = [_entry(m.id or str(uuid.uuid4()), m.content, m.author, m.timestamp, None, more) for m, more in zip(memories, given, strict=True)]
        await self._put(app_name, user_id, entries)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Finds memories by meaning and by words, the best first."""
        found = await self._of(user_id).items.search(_place(app_name, "events"), query=query, limit=self.limit)
        return SearchMemoryResponse(memories=[_memory(item) for item in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: Optional[str] = None) -> None:
        """Erases a memory, and remembers that it is not to come back."""
        if not memory_id:
            return
        gone = {"op": "put", "namespace": _place(app_name, "deleted"), "key": memory_id, "value": {}, "index": []}
        await self._batch(user_id, [gone, {"op": "delete", "namespace": _place(app_name, "events"), "key": memory_id}])

    async def close(self) -> None:
        """Closes the client."""
        await self.client.aclose()

    def _of(self, user_id: str) -> AsyncLoci:
        return self.client.for_call({"user_id": user_id})

    async def _put(self, app_name: str, user_id: str, entries: Sequence[tuple[str, JSON]]) -> None:
        for start in range(0, len(entries), _PART):
            part = entries[start : start + _PART]
            asked = [{"op": "get", "namespace": _place(app_name, "deleted"), "key": key} for key, _ in part]
            deleted = [bool(one.get("item")) for one in await self._batch(user_id, asked)]
            live = [entry for entry, gone in zip(part, deleted, strict=True) if not gone]
            place = {"op": "put", "namespace": _place(app_name, "events"), "index": ["text"]}
            if live:
                await self._batch(user_id, [{**place, "key": key, "value": value} for key, value in live])

    async def _batch(self, user_id: str, operations: list[JSON]) -> list[Any]:
        outcomes = await self._of(user_id).items.batch(operations)
        for outcome in outcomes:
            if error := outcome.get("error"):
                raise problem_of(error) or LociError("internal", "an operation of the batch failed")
        return list(outcomes)


def _place(app_name: str, kind: str) -> list[str]:
    """Labels have no period; the escape of one cannot be written otherwise."""
    return ["adk", app_name.replace("%", "%25").replace(".", "%2E"), kind]


def _entry(id: str, content: Any, author: str | None, timestamp: str | None, session_id: str | None, more: Mapping[str, object] | None) -> tuple[str, JSON]:
    text = " ".join(part.text for part in content.parts or [] if part.text)
    fields = {"author": author, "timestamp": timestamp, "session_id": session_id, "custom_metadata": dict(more) if more else None}
    stored = content.model_dump(mode="json", exclude_none=True)
    return id, {"text": text, "content": stored, **{name: value for name, value in fields.items() if value is not None}}


def _memory(item: Item) -> MemoryEntry:
    value = item["value"]
    try:
        return MemoryEntry(
            id=item["key"],
            content=Content.model_validate(value["content"]),
            author=value.get("author"),
            timestamp=value.get("timestamp"),
            custom_metadata=value.get("custom_metadata") or {},
        )
    except (KeyError, ValueError) as err:
        raise LociError("unsupported", f"the item {item['key']!r} is no memory of ADK", recovery="Another program wrote it.") from err


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()

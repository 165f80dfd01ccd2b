"""Notes: what is to be remembered, in plain words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls import memories
from loci_memory.calls.call import on, some_texts
from loci_memory.replies import Note, NotePage, SavedNote
from loci_memory.transport import AsyncTransport


class AsyncNotes:
    """Notes, and facts beside them."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def save(
        self,
        content: str,
        *,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: str | datetime | None = None,
        sequence: str | None = None,
        position: int | None = None,
        idempotency_key: str | None = None,
    ) -> SavedNote:
        """Saves a note. One that is remembered already is confirmed instead. `created_at` is when it was said, such as 2025-08-30T10:00:00Z;
        `sequence` is the conversation it is a part of, and `position` its place there (absent: behind what was saved before)."""
        call = memories.save_note(content, tags, metadata, created_at, sequence, position)
        return await self._transport.run(call, idempotency_key=idempotency_key)

    async def page(
        self, *, tag: Sequence[str] | None = None, history: bool | None = None, limit: int | None = None, cursor: str | None = None
    ) -> NotePage:
        """Reads a page of notes and facts, newest first; with `history` also those that are no longer valid."""
        query = {"tag": some_texts("tag", tag), "history": history, "limit": limit, "cursor": cursor}
        return await self._transport.run(memories.list_notes(query))

    async def all(self, *, tag: Sequence[str] | None = None, history: bool | None = None) -> AsyncIterator[Note]:
        """Goes through all notes and facts, newest first."""
        cursor: str | None = None
        while True:
            page = await self.page(tag=tag, history=history, limit=500, cursor=cursor)
            for note in page["notes"]:
                yield note
            if not page.get("next_cursor"):
                return
            cursor = on(cursor, page["next_cursor"], "notes")

    async def get(self, id: str) -> Note:
        """Reads a note or a fact."""
        return await self._transport.run(memories.get_note(id))

    async def update(
        self,
        id: str,
        *,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        if_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Note:
        """Corrects a note; what is None stays. `if_version` refuses the change unless this is its version."""
        return await self._transport.run(memories.update_note(id, content, tags, metadata, if_version), idempotency_key=idempotency_key)

    async def delete(self, id: str, *, idempotency_key: str | None = None) -> None:
        """Erases a note: its bytes leave the store."""
        await self._transport.run(memories.delete_note(id), idempotency_key=idempotency_key)

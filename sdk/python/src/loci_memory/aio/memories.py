"""Memories of every kind in one view, and the verbs of their lifecycle."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls import JSON, transfer, view
from loci_memory.calls.call import given, on, part_key, some_texts
from loci_memory.errors import LociError
from loci_memory.replies import DuePage, Entry, EntryPage, ErasedMemories, Export, ImportReport, Origin, Past, Places, Stats
from loci_memory.transport import AsyncTransport


class AsyncMemories:
    """Notes, facts, rules, episodes, items, sessions, messages, files and threads."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def page(
        self,
        *,
        kind: Sequence[str] | None = None,
        state: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
        namespace: str | None = None,
        as_of: str | datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> EntryPage:
        """Reads a page, newest first; without `kind` of all but messages, without `state` of those that are found.

        `filter` has conditions on metadata, the subject and predicate of facts, and the fields of items.
        `namespace` is relative to the client's own, such as trips/2026. `as_of` is a time: the facts and
        notes that were believed then.
        """
        query = {
            "kind": some_texts("kind", kind),
            "state": some_texts("state", state),
            "tag": some_texts("tag", tag),
            "filter": None if filter is None else json.dumps(dict(filter)),
            "namespace": namespace,
            "as_of": as_of,
            "limit": limit,
            "cursor": cursor,
        }
        return await self._transport.run(view.page(query))

    async def all(
        self,
        *,
        kind: Sequence[str] | None = None,
        state: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
        namespace: str | None = None,
        as_of: str | datetime | None = None,
    ) -> AsyncIterator[Entry]:
        """Goes through memories page by page, newest first; see `page`."""
        cursor: str | None = None
        while True:
            page = await self.page(kind=kind, state=state, tag=tag, filter=filter, namespace=namespace, as_of=as_of, limit=500, cursor=cursor)
            for memory in page["memories"]:
                yield memory
            if not page.get("next_cursor"):
                return
            cursor = on(cursor, page["next_cursor"], "memories")

    async def get(self, id: str) -> Entry:
        """Reads one in full; of a file what it says."""
        return await self._transport.run(view.get(id))

    async def delete(self, id: str, *, idempotency_key: str | None = None) -> None:
        """Erases one with all that belongs to it: its bytes leave the store."""
        await self._transport.run(view.delete(id), idempotency_key=idempotency_key)

    async def erase(
        self,
        *,
        all: bool = False,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
        namespace: Sequence[str] | None = None,
        expect: int | None = None,
        idempotency_key: str | None = None,
    ) -> ErasedMemories:
        """Erases what all conditions select, for good; `all` is everything, and allows no other condition.

        Without `expect` it counts them and erases nothing. With it, nothing is erased unless so many are selected.
        More than the server erases with one request are several. What others erase meanwhile is not counted, and what
        they store stays, unless it says that it is older than what was there.
        `kinds` are fact (notes, too), item, rule, episode and session, which goes with its messages, by kind alone.
        """
        body = given(
            all=all or None,
            kinds=some_texts("kinds", kinds),
            tags=some_texts("tags", tags),
            filter=None if filter is None else dict(filter),
            namespace=some_texts("namespace", namespace),
            expect=expect,
        )
        if (expect or 0) > view.ERASED_AT_ONCE:
            part_key(idempotency_key, expect or 0)  # a key without room for the others is refused before anything is erased
        done = await self._transport.run(view.erase(body), idempotency_key=idempotency_key)
        cursor = None
        while "next_cursor" in done:
            cursor, left = on(cursor, done["next_cursor"], "what it erased"), done.get("left", 0)
            call = view.erase({**body, "expect": left, "cursor": cursor})
            more = await self._transport.run(call, idempotency_key=part_key(idempotency_key, left))
            done = {**more, "selected": done["selected"], "erased": done["erased"] + more["erased"]}
        return done

    async def confirm(self, id: str, *, idempotency_key: str | None = None) -> Entry:
        """Says that a note, a fact or a rule still holds."""
        return await self._transport.run(view.change(id, "confirm"), idempotency_key=idempotency_key)

    async def forget(self, id: str, *, idempotency_key: str | None = None) -> Entry:
        """Takes a note, a fact, a rule or an episode out of every search; `restore` brings it back."""
        return await self._transport.run(view.change(id, "forget"), idempotency_key=idempotency_key)

    async def restore(self, id: str, *, version: int | None = None, idempotency_key: str | None = None) -> Entry:
        """Brings back what was forgotten or superseded; with `version` what a fact said then. Returns what is there now."""
        return await self._transport.run(view.change(id, "restore", given(version=version)), idempotency_key=idempotency_key)

    async def supersede(
        self,
        id: str,
        content: str | None = None,
        *,
        value: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        permanence: str | None = None,
        idempotency_key: str | None = None,
    ) -> Entry:
        """Stores a fact or a note in the place of another, under its key, and returns the new one."""
        call = view.supersede(id, content, value, tags, metadata, importance, permanence)
        return await self._transport.run(call, idempotency_key=idempotency_key)

    async def helpful(self, id: str, *, idempotency_key: str | None = None) -> Entry:
        """Counts that a rule helped."""
        return await self._transport.run(view.change(id, "helpful"), idempotency_key=idempotency_key)

    async def harmful(self, id: str, reason: str | None = None, *, idempotency_key: str | None = None) -> Entry:
        """Counts that a rule did harm, and why."""
        return await self._transport.run(view.change(id, "harmful", given(reason=reason)), idempotency_key=idempotency_key)

    async def history(self, id: str) -> Past:
        """Reads what a memory was before."""
        return await self._transport.run(view.history(id))

    async def provenance(self, id: str) -> Origin:
        """Reads where a memory comes from."""
        return await self._transport.run(view.provenance(id))

    async def links(self, id: str) -> list[JSON]:
        """Lists the links from and to a memory."""
        return await self._transport.run(view.links(id))

    async def link(self, id: str, type: str, to: str, *, idempotency_key: str | None = None) -> list[JSON]:
        """Links a memory to another: derived_from, supports, contradicts, supersedes or related_to."""
        return await self._transport.run(view.link(id, type, to), idempotency_key=idempotency_key)

    async def review(self, *, limit: int | None = None, cursor: str | None = None) -> DuePage:
        """Reads a page of what somebody should look at: what fades, rules that did harm, episodes that wait."""
        return await self._transport.run(view.review(limit, cursor))

    async def namespaces(self, *, limit: int | None = None, cursor: str | None = None) -> Places:
        """Reads where memories lie, with counts; `outside` is where tools keep some that no list here shows."""
        return await self._transport.run(view.namespaces(limit, cursor))

    async def export(self, *, kind: Sequence[str] | None = None, state: Sequence[str] | None = None) -> Export:
        """Reads all memories, with their history and links; `lines` are those of the file that `loci export` writes. Many come in several requests."""
        part = await self._transport.run(view.export(kind, state, None))
        whole = Export(lines=part["lines"], left_out=part["left_out"])
        cursor = None
        while "next_cursor" in part:
            cursor = on(cursor, part["next_cursor"], "where the export goes on")
            part = await self._transport.run(view.export(kind, state, cursor))
            whole["lines"] += part["lines"]
        return whole

    async def import_lines(self, lines: Sequence[str]) -> ImportReport:
        """Stores the lines of an export. What is there already is left alone, so that it may be repeated.

        More than the server imports with one request are several imports, each of them checked as a whole before it
        stores anything; an error says how many of them are stored. What belongs together, such as a session with its
        messages, must fit into one: else nothing is imported, and `loci import` takes the file.
        """
        parts = view.import_parts(lines)
        done: list[ImportReport] = []
        for part in parts:
            try:
                done.append(await self._transport.run(view.import_lines(part.lines)))
            except LociError as err:
                raise transfer.whole(part, err, done, len(parts)) from err
            transfer.check(parts, done)
        return transfer.together(done)

    async def stats(self) -> Stats:
        """Counts memories by kind and state."""
        return await self._transport.run(view.stats())

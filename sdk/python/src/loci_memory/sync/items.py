# Made by generate.py from loci_memory/aio: change that and run it again.
"""Items: JSON objects under keys in namespaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls import items
from loci_memory.calls.call import part_key
from loci_memory.replies import Item, Outcome
from loci_memory.transport import Transport


class Items:
    """JSON objects under keys, with the semantics of LangGraph's store. Namespaces begin at the caller's own."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        index: Sequence[str] | None = None,
        ttl: float | None = None,
        created_at: str | datetime | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        """Stores a JSON object under a key. `index` names the paths that are searched (an empty list: none); `ttl` is in minutes;
        `created_at` is when a new item was made, such as 2025-08-30T10:00:00Z."""
        self._transport.run(items.put(namespace, key, value, index, ttl, created_at), idempotency_key=idempotency_key)

    def get(self, namespace: Sequence[str], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Reads an item; None: there is none. Reading moves the expiry unless `refresh_ttl` is False."""
        return self._transport.run(items.get(namespace, key, refresh_ttl))

    def delete(self, namespace: Sequence[str], key: str, *, idempotency_key: str | None = None) -> None:
        """Erases an item. A key that names none is no error."""
        self._transport.run(items.delete(namespace, key), idempotency_key=idempotency_key)

    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        refresh_ttl: bool | None = None,
        min_score: float | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[Item]:
        """Finds items below a namespace by meaning and by words; without a query the newest. `limit` is 1 to 1000, default 10.

        `min_score` leaves out what fits less. `since` and `until` are times such as 2026-01-31T08:00:00Z: what was put first in between.
        """
        call = items.search(namespace_prefix, query, filter, limit, offset, refresh_ttl, min_score, since, until)
        return self._transport.run(call)

    def namespaces(
        self,
        *,
        prefix: Sequence[str] | None = None,
        suffix: Sequence[str] | None = None,
        max_depth: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[tuple[str, ...]]:
        """Lists namespaces that hold items, in order; * in a prefix or suffix stands for any one label."""
        return self._transport.run(items.namespaces(prefix, suffix, max_depth, limit, offset))

    def batch(self, operations: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> list[Outcome]:
        """Does several things. Operations that read see what was there before; then those that write are done in their order, each for itself.

        More than 250 operations, 38 searches, or 768 KiB, go in several requests; one that fails has an error. What has no room in an answer is asked again.
        """
        todo = items.Batch(operations)
        if todo.last > 0:
            part_key(idempotency_key, todo.last)  # a key without room for the last one is refused before anything is sent
        while call := todo.next():
            todo.take(self._transport.run(call, idempotency_key=todo.key(idempotency_key)))
        return todo.outcomes

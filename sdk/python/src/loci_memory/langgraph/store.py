"""A store for LangGraph: items with keys in namespaces, searched by meaning and by words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp, TTLConfig

from loci_memory.aio.client import AsyncLoci
from loci_memory.calls import JSON, items
from loci_memory.errors import LociError, problem_of
from loci_memory.replies import Item as Found
from loci_memory.replies import Outcome
from loci_memory.sync.client import Loci

_BATCH = 1000  # operations of one request


class LociStore(BaseStore):
    """Keeps LangGraph's long-term memory in Loci; namespaces begin at the caller's own.

    `url` and the other settings are those of `Loci`; clients of your own may be given in
    their place.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        ttl: TTLConfig | None = None,
        **settings: Any,
    ) -> None:
        self.client = client or Loci(url, **settings)
        self.async_client = async_client or AsyncLoci(url, **settings)
        self.ttl_config = ttl

    def close(self) -> None:
        """Closes the client that waits."""
        self.client.close()

    async def aclose(self) -> None:
        """Closes both clients."""
        self.client.close()
        await self.async_client.aclose()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does operations in few requests: reads see what was there before, of puts to one key the last counts."""
        plan = _Plan(list(ops))
        for part in plan.parts():
            plan.take(part, self.client.run(items.batch([op for _, op in part])))
        return plan.results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` for asyncio."""
        plan = _Plan(list(ops))
        for part in plan.parts():
            plan.take(part, await self.async_client.run(items.batch([op for _, op in part])))
        return plan.results


class _Plan:
    """The requests that a batch of operations comes to, and its results."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.results: list[Result] = [None] * len(ops)
        reads: list[tuple[int, JSON]] = []
        writes: dict[tuple[tuple[str, ...], str], tuple[int, JSON]] = {}
        for i, op in enumerate(ops):
            if isinstance(op, PutOp):
                writes[(tuple(op.namespace), op.key)] = (i, _write(op))
            else:
                reads.append((i, _read(op)))
        self.requests = reads + list(writes.values())

    def parts(self) -> Iterable[list[tuple[int, JSON]]]:
        for start in range(0, len(self.requests), _BATCH):
            yield self.requests[start : start + _BATCH]

    def take(self, part: list[tuple[int, JSON]], outcomes: list[Outcome]) -> None:
        for (i, op), outcome in zip(part, outcomes, strict=True):
            if error := outcome.get("error"):
                raise problem_of(error) or LociError("internal", "an operation of the batch failed")
            if op["op"] == "get":
                item = outcome.get("item")
                self.results[i] = _item(item) if item else None
            elif op["op"] == "search":
                self.results[i] = [_found(item) for item in outcome.get("items") or []]
            elif op["op"] == "namespaces":
                self.results[i] = [tuple(labels) for labels in outcome.get("namespaces") or []]


def _write(op: PutOp) -> JSON:
    place: JSON = {"namespace": list(op.namespace), "key": op.key}
    if op.value is None:
        return {"op": "delete", **place}
    out: JSON = {"op": "put", **place, "value": dict(op.value)}
    if op.index is False:
        out["index"] = []
    elif op.index is not None:
        out["index"] = list(op.index)
    if op.ttl is not None:
        out["ttl"] = op.ttl
    return out


def _read(op: Op) -> JSON:
    if isinstance(op, GetOp):
        return {"op": "get", "namespace": list(op.namespace), "key": op.key, "refresh_ttl": op.refresh_ttl}
    if isinstance(op, SearchOp):
        out: JSON = {"op": "search", "namespace_prefix": list(op.namespace_prefix), "limit": op.limit, "offset": op.offset, "refresh_ttl": op.refresh_ttl}
        if op.query is not None:
            out["query"] = op.query
        if op.filter:
            out["filter"] = op.filter
        return out
    if isinstance(op, ListNamespacesOp):
        return _namespaces(op)
    raise TypeError(f"{type(op).__name__} is no operation of a store")


def _namespaces(op: ListNamespacesOp) -> JSON:
    out: JSON = {"op": "namespaces", "limit": op.limit, "offset": op.offset}
    if op.max_depth is not None:
        out["max_depth"] = op.max_depth
    for condition in op.match_conditions or ():
        if condition.match_type in out:
            raise ValueError(f"one {condition.match_type} at a time can be asked for")
        out[condition.match_type] = list(condition.path)
    return out


def _fields(item: Found) -> JSON:
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": item["value"],
        "created_at": _time(item["created_at"]),
        "updated_at": _time(item["updated_at"]),
    }


def _time(text: str) -> datetime:
    """A time in UTC. Python 3.10 reads fractions of a second only with three digits or six."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(seconds).replace(microsecond=int(fraction[:6].ljust(6, "0")), tzinfo=timezone.utc)


def _item(item: Found) -> Item:
    return Item(**_fields(item))


def _found(item: Found) -> SearchItem:
    return SearchItem(**_fields(item), score=item.get("score"))

"""A store for LangGraph: items with keys in namespaces, searched by meaning and by words."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp, TTLConfig

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.calls import JSON, items
from loci_memory.errors import LociError, problem_of
from loci_memory.replies import Item as Found
from loci_memory.sync.client import Loci


class LociStore(BaseStore):
    """Keeps LangGraph's long-term memory in Loci; namespaces begin at the caller's own.

    `index` is that of LangGraph's stores: its fields are searched where a put names none. The
    server embeds, as it is configured, so embed and dims count for nothing. A key of a filter
    with a period is refused, since stores differ in what it means. `url` and the other settings
    are those of `Loci`; clients of your own may be given in their place.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        ttl: TTLConfig | None = None,
        index: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.client, self.async_client = both(client, async_client, url, settings)
        self.ttl_config = ttl
        self.index_config = index

    def close(self) -> None:
        """Closes the client that waits."""
        self.client.close()

    async def aclose(self) -> None:
        """Closes both clients."""
        self.client.close()
        await self.async_client.aclose()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does operations in few requests: reads see what was there before, of puts to one key the last counts."""
        plan = _Plan(list(ops), self._fields())
        while call := plan.todo.next():
            plan.todo.take(self.client.run(call))
        return plan.done()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` for asyncio."""
        plan = _Plan(list(ops), self._fields())
        while call := plan.todo.next():
            plan.todo.take(await self.async_client.run(call))
        return plan.done()


    def _fields(self) -> list[str] | None:
        """What is searched of an item whose put does not say; None: all of it."""
        given = self.index_config or {}
        fields = given.get("fields", given.get("text_fields"))
        return None if fields is None or list(fields) == ["$"] else list(fields)


class _Plan:
    """The requests that a batch of operations comes to, and its results."""

    def __init__(self, ops: Sequence[Op], fields: list[str] | None) -> None:
        self.results: list[Result] = [None] * len(ops)
        reads: list[tuple[int, JSON]] = []
        writes: dict[tuple[tuple[str, ...], str], tuple[int, JSON]] = {}
        for i, op in enumerate(ops):
            _check(op)
            if isinstance(op, PutOp):
                writes[(tuple(op.namespace), op.key)] = (i, _write(op, fields))
            elif isinstance(op, SearchOp) and (conditions := finite(op.filter or {})) is None:
                self.results[i] = []  # no value of JSON is as the filter wants it
            else:
                reads.append((i, _read(op if not isinstance(op, SearchOp) else op._replace(filter=conditions))))
        self.requests = reads + list(writes.values())

        self.todo = items.Batch([op for _, op in self.requests])

    def done(self) -> list[Result]:
        for (i, op), outcome in zip(self.requests, self.todo.outcomes, strict=True):
            if error := outcome.get("error"):
                raise problem_of(error) or LociError("internal", "an operation of the batch failed")
            if op["op"] == "get":
                item = outcome.get("item")
                self.results[i] = _item(item) if item else None
            elif op["op"] == "search":
                self.results[i] = [_found(item) for item in outcome.get("items") or []]
            elif op["op"] == "namespaces":
                self.results[i] = [tuple(labels) for labels in outcome.get("namespaces") or []]
        return self.results


def _check(op: Op) -> None:
    """The rules of LangGraph, with its error: the whole batch is refused before anything is done."""
    if isinstance(op, (GetOp, PutOp)):
        if not op.namespace:
            raise InvalidNamespaceError("Namespace cannot be empty.")
        _labels(op.namespace)  # "langgraph" may be the first one, which `put` alone refuses
    elif isinstance(op, SearchOp):
        _labels(op.namespace_prefix)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _labels(condition.path)


def _labels(namespace: Sequence[Any]) -> None:
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label:
            raise InvalidNamespaceError(f"Invalid namespace label {label!r} in {tuple(namespace)}: labels must be texts that are not empty and have no period.")


def finite(conditions: Mapping[str, Any]) -> JSON | None:
    """A filter without numbers that JSON cannot say, which mean the same; None: nothing can match."""
    out: JSON = {}
    for key, wanted in conditions.items():
        if "." in str(key):
            raise LociError("invalid", f"the key {key!r} of the filter has a period", recovery="For a field inside an object write {'outer': {'inner': …}}.")
        operators = isinstance(wanted, Mapping) and wanted and all(isinstance(name, str) and name.startswith("$") for name in wanted)
        left = {}
        for name, value in wanted.items() if operators else [("$eq", wanted)]:
            bound = _bound(name, value)
            if bound is None:
                return None
            left.update(bound)
        if operators and left:
            out[key] = left
        elif not operators:
            out[key] = wanted
    return out


def _bound(operator: str, value: Any) -> JSON | None:
    """A condition in values that JSON can say; empty: it always holds, None: it never does."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        value = math.inf if value > 0 else -math.inf
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        value = float(value)
    if not _unsayable(value):
        return {operator: value}
    if operator == "$ne":
        return {}  # nothing that is stored is such a value
    if operator in ("$gt", "$gte") and value == -math.inf:
        return {"$gte": -sys.float_info.max}
    if operator in ("$lt", "$lte") and value == math.inf:
        return {"$lte": sys.float_info.max}
    return None


def _unsayable(value: Any) -> bool:
    """Whether a value holds what JSON cannot say and no item can hold, such as NaN."""
    if isinstance(value, Mapping):
        return any(_unsayable(one) for one in (*value, *value.values()))
    if isinstance(value, (list, tuple)):
        return any(_unsayable(one) for one in value)
    if isinstance(value, str):
        return "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, float) and not math.isfinite(value)


def _write(op: PutOp, fields: list[str] | None) -> JSON:
    place: JSON = {"namespace": list(op.namespace), "key": op.key}
    if op.value is None:
        return {"op": "delete", **place}
    out: JSON = {"op": "put", **place, "value": dict(op.value)}
    if op.index is False:
        out["index"] = []
    elif op.index is not None or fields is not None:
        out["index"] = list(op.index or fields or ())
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

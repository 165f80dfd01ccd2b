"""Requests about items: JSON objects under keys, as in LangGraph's store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls.call import Call, field, given, nothing, objects, parts, some_texts, texts
from loci_memory.calls.form import NotOfForm
from loci_memory.replies import BatchResults, Item, Items, Namespaces, Outcome


def put(
    namespace: Sequence[str],
    key: str,
    value: Mapping[str, Any],
    index: Sequence[str] | None,
    ttl: float | None,
    created_at: str | datetime | None = None,
) -> Call[None]:
    paths = some_texts("index", index)
    body = given(namespace=texts("namespace", namespace), key=key, value=dict(value), index=paths, ttl=ttl, created_at=created_at)
    return Call("PUT", "/v1/items", None, body, read=nothing, once=True)


def get(namespace: Sequence[str], key: str, refresh_ttl: bool | None) -> Call[Item | None]:
    return Call("POST", "/v1/items/get", Item, given(namespace=texts("namespace", namespace), key=key, refresh_ttl=refresh_ttl), optional=True)


def delete(namespace: Sequence[str], key: str) -> Call[None]:
    return Call("POST", "/v1/items/delete", None, {"namespace": texts("namespace", namespace), "key": key}, read=nothing, once=True)


def search(
    prefix: Sequence[str],
    query: str | None,
    filter: Mapping[str, Any] | None,
    limit: int | None,
    offset: int | None,
    refresh_ttl: bool | None,
    min_score: float | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> Call[list[Item]]:
    conditions = None if filter is None else dict(filter)
    body = given(
        namespace_prefix=texts("namespace_prefix", prefix),
        query=query,
        filter=conditions,
        limit=limit,
        offset=offset,
        refresh_ttl=refresh_ttl,
        min_score=min_score,
        since=since,
        until=until,
    )
    return Call("POST", "/v1/items/search", Items, body, read=field("items"))


def namespaces(
    prefix: Sequence[str] | None, suffix: Sequence[str] | None, max_depth: int | None, limit: int | None, offset: int | None
) -> Call[list[tuple[str, ...]]]:
    body = given(prefix=some_texts("prefix", prefix), suffix=some_texts("suffix", suffix), max_depth=max_depth, limit=limit, offset=offset)
    return Call("POST", "/v1/items/namespaces", Namespaces, body, read=lambda reply: [tuple(labels) for labels in reply["namespaces"]])


OPERATIONS = 250  # of one batch, and their bytes, with room below what the server takes
BYTES = 3 << 18


def batches(operations: Sequence[Mapping[str, Any]]) -> list[slice]:
    """The requests that operations come to."""
    return parts(objects("operations", operations), OPERATIONS, BYTES, _counted)


def _counted(op: Mapping[str, Any], size: int) -> int:
    """How many bytes the server counts an operation as: a search costs more than a put."""
    return max(20 << 10, 16 * size) if op.get("op") in ("search", "namespaces") else size


def batch(operations: Sequence[Mapping[str, Any]]) -> Call[list[Outcome]]:
    body = {"operations": [dict(op) for op in objects("operations", operations)]}
    asked = [op.get("op") for op in operations]

    def results(reply: Any) -> list[Outcome]:
        done: list[Outcome] = reply["results"]
        if [one["op"] for one in done] != asked:
            raise NotOfForm("the reply's results are not those of the operations")
        return done

    return Call("POST", "/v1/items/batch", BatchResults, body, read=results, once=any(op in ("put", "delete") for op in asked))

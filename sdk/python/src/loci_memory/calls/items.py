"""Requests about items: JSON objects under keys, as in LangGraph's store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from loci_memory.calls.call import Call, field, given, nothing, objects, part_key, parts, some_texts, texts, weighed
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


def _counted(op: Mapping[str, Any], text: str) -> int:
    """How many bytes the server counts an operation as: a search costs more than a put."""
    size = weighed(op, text)
    return max(20 << 10, 16 * size) if op.get("op") in ("search", "namespaces") else size


ROOMY = 30  # so many items always have room in one answer


class Batch:
    """The requests that operations come to. Those that read come first; what has no room in an answer is asked again."""

    def __init__(self, operations: Sequence[Mapping[str, Any]]) -> None:
        self._operations = objects("operations", operations)
        reads = [i for i in range(len(operations)) if not self._writes(i)]
        writes = [i for i in range(len(operations)) if self._writes(i)]
        # What is asked again must not see what was written in the same request.
        alone = len(reads) > ROOMY or any(operations[i].get("op") != "get" for i in reads)
        some = [reads, writes] if alone else [reads + writes]
        self._waiting = list(enumerate(part for of in some for part in self._parts(of)))
        self._outcomes: dict[int, Outcome] = {}
        self.last = max(0, len(self._waiting) - 1)

    @property
    def outcomes(self) -> list[Outcome]:
        return [self._outcomes[i] for i in range(len(self._operations))]

    def next(self) -> Call[list[Outcome]] | None:
        """The next request; its results go to `take`."""
        return batch([self._operations[i] for i in self._waiting[0][1]]) if self._waiting else None

    def key(self, key: str | None) -> str | None:
        """The idempotency key of the next request: the same one for what is asked again, which only reads."""
        number = self._waiting[0][0]
        return part_key(key, number) if number > 0 else key

    def take(self, results: list[Outcome]) -> None:
        number, part = self._waiting.pop(0)
        again = []
        for n, (i, outcome) in enumerate(zip(part, results, strict=True)):
            self._outcomes[i] = outcome
            # Before the first one nothing was answered: what has no room then has none at all.
            if n > 0 and outcome.get("error", {}).get("code") == "too_large" and not any(map(self._writes, part)):
                again.append(i)
        self._waiting[:0] = [(number, again)] if again else []

    def _writes(self, i: int) -> bool:
        return self._operations[i].get("op") in ("put", "delete")

    def _parts(self, some: list[int]) -> list[list[int]]:
        return [some[part] for part in batches([self._operations[i] for i in some])] if some else []


def batch(operations: Sequence[Mapping[str, Any]]) -> Call[list[Outcome]]:
    body = {"operations": [dict(op) for op in objects("operations", operations)]}
    asked = [op.get("op") for op in operations]

    def results(reply: Any) -> list[Outcome]:
        done: list[Outcome] = reply["results"]
        if [one["op"] for one in done] != asked:
            raise NotOfForm("the reply's results are not those of the operations")
        return done

    return Call("POST", "/v1/items/batch", BatchResults, body, read=results, once=any(op in ("put", "delete") for op in asked))

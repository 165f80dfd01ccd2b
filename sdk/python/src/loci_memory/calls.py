"""The requests of the REST API, each as a value: the same for the client that waits and the one that does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

T = TypeVar("T")
JSON = dict[str, Any]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how its reply is read."""

    method: str
    path: str
    body: JSON | None
    read: Callable[[Any], T]


def _given(**fields: Any) -> JSON:
    """The fields that are not None: an absent field has the server's default."""
    return {name: value for name, value in fields.items() if value is not None}


def _nothing(_: Any) -> None:
    return None


def _whole(reply: Any) -> JSON:
    return dict(reply)


def _field(name: str) -> Callable[[Any], Any]:
    return lambda reply: reply[name]


def info() -> Call[JSON]:
    return Call("GET", "/v1/info", None, _whole)


# Items.


def put_item(namespace: Sequence[str], key: str, value: Mapping[str, Any], index: Sequence[str] | None, ttl: float | None) -> Call[None]:
    body = _given(namespace=list(namespace), key=key, value=dict(value), index=None if index is None else list(index), ttl=ttl)
    return Call("PUT", "/v1/items", body, _nothing)


def get_item(namespace: Sequence[str], key: str, refresh_ttl: bool | None) -> Call[JSON]:
    return Call("POST", "/v1/items/get", _given(namespace=list(namespace), key=key, refresh_ttl=refresh_ttl), _whole)


def delete_item(namespace: Sequence[str], key: str) -> Call[None]:
    return Call("POST", "/v1/items/delete", {"namespace": list(namespace), "key": key}, _nothing)


def search_items(
    prefix: Sequence[str], query: str | None, filter: Mapping[str, Any] | None, limit: int | None, offset: int | None, refresh_ttl: bool | None
) -> Call[list[JSON]]:
    body = _given(
        namespace_prefix=list(prefix), query=query, filter=None if filter is None else dict(filter), limit=limit, offset=offset, refresh_ttl=refresh_ttl
    )
    return Call("POST", "/v1/items/search", body, _field("items"))


def list_namespaces(
    prefix: Sequence[str] | None, suffix: Sequence[str] | None, max_depth: int | None, limit: int | None, offset: int | None
) -> Call[list[tuple[str, ...]]]:
    body = _given(
        prefix=None if prefix is None else list(prefix),
        suffix=None if suffix is None else list(suffix),
        max_depth=max_depth,
        limit=limit,
        offset=offset,
    )
    return Call("POST", "/v1/items/namespaces", body, lambda reply: [tuple(labels) for labels in reply["namespaces"]])


def batch(operations: Sequence[Mapping[str, Any]]) -> Call[list[JSON]]:
    return Call("POST", "/v1/items/batch", {"operations": [dict(op) for op in operations]}, _field("results"))


# Memories.


def list_tools() -> Call[list[JSON]]:
    return Call("GET", "/v1/tools", None, _field("tools"))


def call_tool(name: str, arguments: Mapping[str, Any]) -> Call[JSON]:
    return Call("POST", "/v1/tools/" + quote(name, safe=""), dict(arguments), _whole)


def search(query: str | None, fields: JSON) -> Call[JSON]:
    return Call("POST", "/v1/search", _given(query=query, **fields), _whole)


def recall(topic: str, fields: JSON) -> Call[JSON]:
    return Call("POST", "/v1/recall", _given(topic=topic, **fields), _whole)


def context(prompt: str, agent: str | None, budget: int | None) -> Call[JSON]:
    return Call("POST", "/v1/context", _given(trigger_prompt=prompt, butler=agent, token_budget=budget), _whole)


# Checkpoints.


def put_checkpoint(checkpoint: Mapping[str, Any]) -> Call[None]:
    return Call("PUT", "/v1/checkpoints", dict(checkpoint), _nothing)


def get_checkpoint(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> Call[JSON]:
    return Call("POST", "/v1/checkpoints/get", _given(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id), _whole)


def list_checkpoints(fields: JSON) -> Call[JSON]:
    return Call("POST", "/v1/checkpoints/list", _given(**fields), _whole)


def put_writes(thread_id: str, checkpoint_ns: str, checkpoint_id: str, writes: Sequence[Mapping[str, Any]]) -> Call[None]:
    body = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id, "writes": [dict(w) for w in writes]}
    return Call("POST", "/v1/checkpoints/writes", body, _nothing)


def copy_thread(thread_id: str, target_thread_id: str) -> Call[int]:
    return Call("POST", "/v1/checkpoints/copy", {"thread_id": thread_id, "target_thread_id": target_thread_id}, _field("copied"))


def prune(thread_ids: Sequence[str], strategy: str) -> Call[int]:
    return Call("POST", "/v1/checkpoints/prune", {"thread_ids": list(thread_ids), "strategy": strategy}, _field("erased"))


def delete_for_runs(run_ids: Sequence[str]) -> Call[int]:
    return Call("POST", "/v1/checkpoints/delete_for_runs", {"run_ids": list(run_ids)}, _field("erased"))


def delete_thread(thread_id: str) -> Call[int]:
    return prune([thread_id], "delete")  # a thread called ".." could not be said in a path

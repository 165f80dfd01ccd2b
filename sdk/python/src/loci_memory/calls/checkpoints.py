"""Requests about checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loci_memory.calls.call import JSON, Call, field, given, nothing, texts
from loci_memory.replies import Checkpoint, CheckpointPage, Copied, Erased, FetchedCheckpoint


def put(checkpoint: Mapping[str, Any]) -> Call[None]:
    return Call("PUT", "/v1/checkpoints", None, dict(checkpoint), read=nothing, once=True)


def put_writes(thread_id: str, checkpoint_ns: str, checkpoint_id: str, writes: Sequence[Mapping[str, Any]]) -> Call[None]:
    body = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id, "writes": [dict(w) for w in writes]}
    return Call("POST", "/v1/checkpoints/writes", None, body, read=nothing, once=True)


def get(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> Call[Checkpoint | None]:
    body = given(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
    return Call("POST", "/v1/checkpoints/get", Checkpoint, body, optional=True)


def fetch(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None, known: tuple[str, ...] = ()) -> Call[FetchedCheckpoint | None]:
    """`get` with bytes as they are, where the server knows how: those of values whose ids are known are not sent."""
    body = given(thread_id=thread_id, checkpoint_ns=checkpoint_ns, checkpoint_id=checkpoint_id)
    return Call("POST", "/v1/checkpoints/get", FetchedCheckpoint, body, optional=True, parts=True, known=known)


def page(fields: JSON) -> Call[CheckpointPage]:
    return Call("POST", "/v1/checkpoints/list", CheckpointPage, given(**fields))


def copy_thread(thread_id: str, target_thread_id: str) -> Call[int]:
    body = {"thread_id": thread_id, "target_thread_id": target_thread_id}
    return Call("POST", "/v1/checkpoints/copy", Copied, body, read=field("copied"), once=True)


def prune(thread_ids: Sequence[str], strategy: str) -> Call[int]:
    body = {"thread_ids": texts("thread_ids", thread_ids), "strategy": strategy}
    return Call("POST", "/v1/checkpoints/prune", Erased, body, read=field("erased"), once=True)


def delete_for_runs(run_ids: Sequence[str]) -> Call[int]:
    return Call("POST", "/v1/checkpoints/delete_for_runs", Erased, {"run_ids": texts("run_ids", run_ids)}, read=field("erased"), once=True)


def delete_thread(thread_id: str) -> Call[int]:
    return prune([thread_id], "delete")  # a thread called ".." could not be said in a path

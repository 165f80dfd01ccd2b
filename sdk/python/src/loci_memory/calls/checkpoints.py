"""Requests about checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loci_memory.calls.call import JSON, MOST_PARTS, Call, given, nothing, on, part_key, texts
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


def copy_thread(thread_id: str, target_thread_id: str) -> Call[Copied]:
    body = {"thread_id": thread_id, "target_thread_id": target_thread_id}
    return Call("POST", "/v1/checkpoints/copy", Copied, body, once=True, on=True)


def prune(thread_ids: Sequence[str], strategy: str) -> Call[Erased]:
    body = {"thread_ids": texts("thread_ids", thread_ids), "strategy": strategy}
    return Call("POST", "/v1/checkpoints/prune", Erased, body, once=True, on=True)


def delete_for_runs(run_ids: Sequence[str]) -> Call[Erased]:
    return Call("POST", "/v1/checkpoints/delete_for_runs", Erased, {"run_ids": texts("run_ids", run_ids)}, once=True, on=True)


def delete_thread(thread_id: str) -> Call[Erased]:
    return prune([thread_id], "delete")  # a thread called ".." could not be said in a path


class Parts:
    """What a large thread takes: a request after the other, each of which does a part and says where the next goes on.

    `key` is that of the first one. A key without room for those of the others is refused before anything is done.
    """

    def __init__(self, call: Call[Any], key: str | None = None) -> None:
        part_key(key, MOST_PARTS)
        self._first, self._key = call, key
        self._done = 0
        self._cursor: str | None = None
        self.count = 0  # of checkpoints
        self.ended = False

    def next(self) -> tuple[Call[Any], str | None]:
        """The next request and its idempotency key."""
        if self._cursor is None:
            return self._first, self._key
        return replace(self._first, body={**(self._first.body or {}), "cursor": self._cursor}), part_key(self._key, self._done)

    def add(self, reply: Any) -> None:
        """Counts what a request has done."""
        self._done += 1
        self.count = reply["copied"] if "copied" in reply else self.count + reply["erased"]
        self.ended = "next_cursor" not in reply
        if not self.ended:
            self._cursor = on(self._cursor, reply["next_cursor"], "what it did")

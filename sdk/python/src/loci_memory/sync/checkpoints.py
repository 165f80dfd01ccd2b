# Made by generate.py from loci_memory/aio: change that and run it again.
"""Checkpoints of graphs, as bytes of the caller's own serializer. LangGraph has `loci_memory.langgraph.LociSaver`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loci_memory.calls import checkpoints
from loci_memory.calls.call import Call, on
from loci_memory.replies import Checkpoint, CheckpointPage
from loci_memory.transport import Transport


class Checkpoints:
    """Checkpoints of graphs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(self, checkpoint: Mapping[str, Any], *, idempotency_key: str | None = None) -> None:
        """Stores a checkpoint with the fields of the REST interface; it replaces one of the same id."""
        self._transport.run(checkpoints.put(checkpoint), idempotency_key=idempotency_key)

    def put_writes(
        self,
        thread_id: str,
        checkpoint_id: str,
        writes: Sequence[Mapping[str, Any]],
        *,
        checkpoint_ns: str = "",
        idempotency_key: str | None = None,
    ) -> None:
        """Stores what tasks wrote after a checkpoint."""
        call = checkpoints.put_writes(thread_id, checkpoint_ns, checkpoint_id, writes)
        self._transport.run(call, idempotency_key=idempotency_key)

    def get(self, thread_id: str, *, checkpoint_ns: str = "", checkpoint_id: str | None = None) -> Checkpoint | None:
        """Reads a checkpoint, the latest unless its id is given; None: there is none."""
        return self._transport.run(checkpoints.get(thread_id, checkpoint_ns, checkpoint_id))

    def page(self, **query: Any) -> CheckpointPage:
        """Reads a page of checkpoints, of a thread the latest first.

        `query` may have thread_id, checkpoint_ns, checkpoint_id, before, filter, limit, cursor and values.
        """
        return self._transport.run(checkpoints.page(query))

    def all(self, **query: Any) -> Iterator[Checkpoint]:
        """Goes through the checkpoints of a query, page by page."""
        while True:
            page = self.page(**query)
            for checkpoint in page["checkpoints"]:
                yield checkpoint
            if not page.get("next_cursor"):
                return
            query["cursor"] = on(query.get("cursor"), page["next_cursor"], "checkpoints")

    def copy_thread(self, thread_id: str, target_thread_id: str, *, idempotency_key: str | None = None) -> int:
        """Copies a thread to one without checkpoints, and returns how many there were.

        A large thread takes several requests. Until the last one the target cannot be read; if they stop, copy again.
        """
        return self._parts(checkpoints.copy_thread(thread_id, target_thread_id), idempotency_key)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", idempotency_key: str | None = None) -> int:
        """Erases old checkpoints of threads, or with delete all; returns how many. Large threads take several requests."""
        return self._parts(checkpoints.prune(thread_ids, strategy), idempotency_key)

    def delete_for_runs(self, run_ids: Sequence[str], *, idempotency_key: str | None = None) -> int:
        """Erases the checkpoints whose metadata have one of the run ids; returns how many. Many take several requests."""
        return self._parts(checkpoints.delete_for_runs(run_ids), idempotency_key)

    def _parts(self, call: Call[Any], idempotency_key: str | None) -> int:
        parts = checkpoints.Parts(call, idempotency_key)
        while not parts.ended:
            one, key = parts.next()
            parts.add(self._transport.run(one, idempotency_key=key))
        return parts.count

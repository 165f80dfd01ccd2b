"""A checkpoint saver for LangGraph.

The state goes over without the values of its channels; of those only the ones with a new
version do. Loci puts a checkpoint together again when it is read.
"""

from __future__ import annotations

import binascii
import json
import random
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS

from loci_memory.aio.client import AsyncLoci
from loci_memory.both import both
from loci_memory.calls import JSON, Call, checkpoints
from loci_memory.errors import LociError
from loci_memory.langgraph.kept import Kept
from loci_memory.replies import Checkpoint as Saved
from loci_memory.replies import FetchedCheckpoint, FetchedTyped, FetchedWrite, Typed, Write
from loci_memory.sync.client import Loci

_PAGE = 100


class LociSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of graphs in Loci.

    `url` and the other settings are those of `Loci`; clients of your own may be given in
    their place. The methods that begin with a are for asyncio.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Loci | None = None,
        async_client: AsyncLoci | None = None,
        serde: SerializerProtocol | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(serde=serde)
        self.client, self.async_client = both(client, async_client, url, settings)
        self._kept = Kept()

    def close(self) -> None:
        """Closes the client that waits."""
        self.client.close()

    async def aclose(self) -> None:
        """Closes both clients."""
        self.client.close()
        await self.async_client.aclose()

    # What goes over.

    def _dump(self, value: Any) -> JSON:
        kind, data = self.serde.dumps_typed(value)
        return {"type": kind, "data": b64encode(data or b"").decode("ascii")}

    def _load(self, value: Typed | FetchedTyped) -> Any:
        data = value["data"]
        try:
            return self.serde.loads_typed((value["type"], data if isinstance(data, bytes) else b64decode(data, validate=True)))
        except (binascii.Error, NotImplementedError) as err:
            raise _foreign(f"it holds a value of the type {value['type']}") from err

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> tuple[Call[None], RunnableConfig]:
        place = _place(config)
        state = cast(JSON, checkpoint.copy())
        values = state.pop("channel_values", None) or {}
        versions = checkpoint["channel_versions"]
        full = get_checkpoint_metadata(config, metadata)
        body: JSON = {
            **place,
            "checkpoint_id": checkpoint["id"],
            "format": checkpoint["v"],
            "checkpoint": self._dump(state),
            "metadata": _filterable(cast(JSON, full)),
            "metadata_typed": self._dump(full),
            "channel_versions": {channel: str(version) for channel, version in versions.items()},
            "channel_values": {
                channel: self._dump(values[channel]) if channel in values else {"type": "empty", "data": ""}
                for channel in new_versions
                if channel in versions
            },
        }
        if parent := get_checkpoint_id(config):
            body["parent_checkpoint_id"] = parent
        return checkpoints.put(body), _config(place, checkpoint["id"])

    def _put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> Call[None]:
        place = _place(config)
        sent = [
            {"task_id": task_id, "task_path": task_path, "idx": WRITES_IDX_MAP.get(channel, idx), "channel": channel, "value": self._dump(value)}
            for idx, (channel, value) in enumerate(writes)
        ]
        return checkpoints.put_writes(place["thread_id"], place["checkpoint_ns"], config["configurable"]["checkpoint_id"], sent)

    # What comes back.

    def _tuple(self, saved: Saved | FetchedCheckpoint, sends: Sequence[Write | FetchedWrite]) -> CheckpointTuple:
        """A checkpoint as LangGraph has it. sends are the writes of the parent, where this one has its pending sends."""
        place = {"thread_id": saved["thread_id"], "checkpoint_ns": saved["checkpoint_ns"]}
        checkpoint = cast(JSON, self._load(saved["checkpoint"]))
        if saved["checkpoint"]["type"] == "json" and self.serde.dumps_typed({})[0] != "json" and _numbered(checkpoint):
            raise _foreign("its versions are those of JavaScript")
        values = {channel: self._load(value) for channel, value in saved["channel_values"].items()}
        pending = [self._load(w["value"]) for w in sends if w["channel"] == TASKS]
        if pending:
            values[TASKS] = pending
            versions = dict(checkpoint["channel_versions"])
            versions[TASKS] = max(versions.values()) if versions else self.get_next_version(None, None)
            checkpoint["channel_versions"] = versions
        typed = saved.get("metadata_typed")
        parent = saved.get("parent_checkpoint_id")
        return CheckpointTuple(
            config=_config(place, saved["checkpoint_id"]),
            checkpoint=cast(Checkpoint, {**checkpoint, "channel_values": values}),
            metadata=cast(CheckpointMetadata, self._load(typed) if typed else saved["metadata"]),
            parent_config=_config(place, parent) if parent else None,
            pending_writes=[(w["task_id"], w["channel"], self._load(w["value"])) for w in saved["pending_writes"]],
        )

    # The interface.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Reads a checkpoint, the latest unless the configuration names one; None: there is none."""
        call, known = self._get(config)
        saved = self.client.run(call)
        if saved is None:
            return None
        self._kept.complete(saved, known)
        return self._tuple(saved, saved["sends"] if "sends" in saved else self._sends(saved))

    def _get(self, config: RunnableConfig) -> tuple[Call[FetchedCheckpoint | None], dict[str, FetchedTyped]]:
        place = _place(config)
        known = self._kept.known(place["thread_id"], place["checkpoint_ns"])
        return checkpoints.fetch(place["thread_id"], place["checkpoint_ns"], get_checkpoint_id(config) or None, tuple(known)), known

    def _sends(self, saved: Saved | FetchedCheckpoint) -> Sequence[Write]:
        call = _get_sends(saved)
        parent = self.client.run(call) if call else None
        return parent["pending_writes"] if parent else []

    def list(
        self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None, before: RunnableConfig | None = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        """Lists checkpoints, of a thread the latest first; without a configuration those of all threads."""
        query = _query(config, filter, before)
        left = limit
        while left is None or left > 0:
            page = self.client.run(checkpoints.page({**query, "limit": min(left or _PAGE, _PAGE)}))
            for saved in page["checkpoints"]:
                yield self._tuple(saved, self._sends(saved))
            if left is not None:
                left -= len(page["checkpoints"])
            if not (cursor := page.get("next_cursor")):
                return
            query["cursor"] = cursor

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint whose parent is the one the configuration names."""
        call, stored = self._put(config, checkpoint, metadata, new_versions)
        self.client.run(call)
        return stored

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Stores what a task wrote after a checkpoint; repeating it changes nothing."""
        self.client.run(self._put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Erases all checkpoints of a thread."""
        self._kept.forget(str(thread_id))
        self._parts(checkpoints.delete_thread(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erases the checkpoints whose metadata name one of the runs."""
        for part in _parts(run_ids, "run_ids"):
            self._parts(checkpoints.delete_for_runs(part))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread to one that has none."""
        self._parts(checkpoints.copy_thread(str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erases old checkpoints: all but what the latest of each namespace needs, or with delete all."""
        for part in _parts(thread_ids, "thread_ids"):
            self._parts(checkpoints.prune(part, strategy))

    def _parts(self, call: Call[Any]) -> None:
        parts = checkpoints.Parts(call)
        while not parts.ended:
            parts.add(self.client.run(parts.next()[0]))

    async def _aparts(self, call: Call[Any]) -> None:
        parts = checkpoints.Parts(call)
        while not parts.ended:
            parts.add(await self.async_client.run(parts.next()[0]))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` for asyncio."""
        call, known = self._get(config)
        saved = await self.async_client.run(call)
        if saved is None:
            return None
        self._kept.complete(saved, known)
        return self._tuple(saved, saved["sends"] if "sends" in saved else await self._asends(saved))

    async def _asends(self, saved: Saved | FetchedCheckpoint) -> Sequence[Write]:
        call = _get_sends(saved)
        parent = await self.async_client.run(call) if call else None
        return parent["pending_writes"] if parent else []

    async def alist(
        self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None, before: RunnableConfig | None = None, limit: int | None = None
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` for asyncio."""
        query = _query(config, filter, before)
        left = limit
        while left is None or left > 0:
            page = await self.async_client.run(checkpoints.page({**query, "limit": min(left or _PAGE, _PAGE)}))
            for saved in page["checkpoints"]:
                yield self._tuple(saved, await self._asends(saved))
            if left is not None:
                left -= len(page["checkpoints"])
            if not (cursor := page.get("next_cursor")):
                return
            query["cursor"] = cursor

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """`put` for asyncio."""
        call, stored = self._put(config, checkpoint, metadata, new_versions)
        await self.async_client.run(call)
        return stored

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """`put_writes` for asyncio."""
        await self.async_client.run(self._put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` for asyncio."""
        self._kept.forget(str(thread_id))
        await self._aparts(checkpoints.delete_thread(str(thread_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` for asyncio."""
        for part in _parts(run_ids, "run_ids"):
            await self._aparts(checkpoints.delete_for_runs(part))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` for asyncio."""
        await self._aparts(checkpoints.copy_thread(str(source_thread_id), str(target_thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` for asyncio."""
        for part in _parts(thread_ids, "thread_ids"):
            await self._aparts(checkpoints.prune(part, strategy))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel: a number, and a random part that keeps branches of a thread apart."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"


def _numbered(checkpoint: Any) -> bool:
    """Whether the versions of channels are numbers, as LangGraph for JavaScript makes them."""
    versions = checkpoint.get("channel_versions") if isinstance(checkpoint, dict) else None
    return isinstance(versions, dict) and any(isinstance(version, (int, float)) for version in versions.values())


def _foreign(why: str) -> LociError:
    return LociError(
        "unsupported",
        f"another language or another serializer wrote this thread: {why}",
        recovery="Read it with the program that wrote it, or take another thread_id.",
    )


def _place(config: RunnableConfig) -> dict[str, str]:
    configurable = config.get("configurable") or {}
    if configurable.get("thread_id") in (None, ""):
        raise LociError("invalid", "configurable has no thread_id", recovery='Call the graph with {"configurable": {"thread_id": …}}.')
    return {"thread_id": str(configurable["thread_id"]), "checkpoint_ns": configurable.get("checkpoint_ns") or ""}


def _config(place: dict[str, str], checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {**place, "checkpoint_id": checkpoint_id}}


def _get_sends(saved: Saved | FetchedCheckpoint) -> Call[Saved | None] | None:
    """Before format 4 what a step sent to tasks is among the writes of the parent."""
    if saved.get("format", 0) >= 4 or not saved.get("parent_checkpoint_id"):
        return None
    return checkpoints.get(saved["thread_id"], saved["checkpoint_ns"], saved["parent_checkpoint_id"])


def _query(config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None) -> JSON:
    configurable = (config or {}).get("configurable") or {}
    query: JSON = {}
    if (thread := configurable.get("thread_id")) is not None:
        query["thread_id"] = str(thread)
    if (namespace := configurable.get("checkpoint_ns")) is not None:
        query["checkpoint_ns"] = namespace
    if configurable and (wanted := configurable.get("checkpoint_id")):
        query["checkpoint_id"] = wanted
    if before and (last := get_checkpoint_id(before)):
        query["before"] = last
    if filter:
        query["filter"] = filter
    return query


def _filterable(metadata: JSON) -> JSON:
    """The metadata that JSON can say: what a list can be filtered by."""
    out = {}
    for key, value in metadata.items():
        try:
            text = json.dumps(value, allow_nan=False).replace("\\u0000", "")
            plain = json.loads(text)
            json.dumps([key, plain], ensure_ascii=False).encode()  # refuses half a surrogate pair
        except (TypeError, ValueError, RecursionError):
            continue
        out[key] = plain
    return out


def _parts(ids: Sequence[str], name: str) -> Iterator[list[str]]:
    """The ids, as many at once as a request takes."""
    if isinstance(ids, str):
        raise TypeError(f"{name} must be a sequence of ids, not one text")
    for start in range(0, len(ids), 1000):
        yield [str(one) for one in ids[start : start + 1000]]

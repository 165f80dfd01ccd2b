"""Values of checkpoints that were read before: what has an id never changes, so it need not be sent again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from loci_memory.errors import LociError
from loci_memory.replies import FetchedCheckpoint, FetchedTyped

LARGEST = 16 << 20  # bytes that are kept in all
SMALLEST = 1 << 10  # bytes of a value; a smaller one is sent as quickly as its id
MOST = 64  # values of a thread


class Kept:
    """The large values of the checkpoint of each thread that was read last."""

    def __init__(self) -> None:
        self._threads: OrderedDict[tuple[str, str], dict[str, FetchedTyped]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def complete(self, found: FetchedCheckpoint, known: dict[str, FetchedTyped]) -> None:
        """Gives a checkpoint the values that were not sent, and keeps its own for the next."""
        values = found["channel_values"]
        for channel, value in values.items():
            if "data" not in value:
                if (have := known.get(value.get("id", ""))) is None:
                    raise LociError("unsupported", f"the server sent no value of the channel {channel}", recovery="See what the url leads to.")
                values[channel] = have
        large = sorted((v for v in values.values() if "id" in v and len(v["data"]) >= SMALLEST), key=lambda v: -len(v["data"]))[:MOST]
        self._keep((found["thread_id"], found["checkpoint_ns"]), {v["id"]: v for v in large})

    def known(self, thread_id: str, checkpoint_ns: str) -> dict[str, FetchedTyped]:
        with self._lock:
            return dict(self._threads.get((thread_id, checkpoint_ns), {}))

    def forget(self, thread_id: str) -> None:
        with self._lock:
            for place in [place for place in self._threads if place[0] == thread_id]:
                self._bytes -= _size(self._threads.pop(place))

    def _keep(self, place: tuple[str, str], values: dict[str, FetchedTyped]) -> None:
        with self._lock:
            self._bytes -= _size(self._threads.pop(place, {}))
            if values and (size := _size(values)) <= LARGEST:
                self._threads[place] = values
                self._bytes += size
            while self._bytes > LARGEST:
                self._bytes -= _size(self._threads.popitem(last=False)[1])


def _size(values: dict[str, FetchedTyped]) -> int:
    return sum(len(v["data"]) for v in values.values())

"""Measures conversations of growing length, and checkpoints beside the savers of LangGraph for SQLite and PostgreSQL, in one run.

Each figure is the median and the 95th percentile of what the client waits, in milliseconds.
"""

import argparse
import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path

from conftest import Server
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from loci_memory import Loci
from loci_memory.langgraph import LociSaver

USER = "bench"


def measured(work, times):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1000)
    taken.sort()
    return f"{statistics.median(taken):8.2f} {taken[int(len(taken) * 0.95)]:8.2f}"


def conversations(url, lengths, times):
    print("messages    append ms (p50, p95)    last 50 ms (p50, p95)")
    with Loci(url, user=USER) as memory:
        there = 0
        for length in lengths:
            while there < length - times:
                some = min(1000, length - times - there)
                memory.sessions.append("long", [{"role": "user", "content": f"message {there + i} of a long conversation"} for i in range(some)])
                there += some
            append = measured(lambda: memory.sessions.append("long", [{"role": "user", "content": "one more message"}]), times)
            there += times
            print(f"{length:8}    {append}      {measured(lambda: memory.sessions.history('long', last=50), times)}", flush=True)


def checkpoints(name, saver, lengths, times):
    """A thread whose state has a channel that changes with each step, and one of 100 kB that does not."""
    config, steps = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}, 0
    where = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
    version = {"changes": None, "stays": saver.get_next_version(None, None)}

    def put():
        nonlocal config, steps
        steps += 1
        version["changes"] = saver.get_next_version(version["changes"], None)
        checkpoint = {**empty_checkpoint(), "channel_values": {"changes": steps, "stays": "x" * 100_000}, "channel_versions": dict(version)}
        new = dict(version) if steps == 1 else {"changes": version["changes"]}
        config = saver.put(config, checkpoint, {"source": "loop", "step": steps, "parents": {}}, new)
        saver.put_writes(config, [("changes", steps)], "task")

    for length in lengths:
        while steps < length - times:
            put()
        writes = measured(put, times)
        print(f"{name:24} {length:8}    {writes}      {measured(lambda: saver.get_tuple(where), times)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--checkpoints", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--times", type=int, default=100, help="how often each is measured")
    parser.add_argument("--postgres", metavar="URL", help="an empty database for langgraph-checkpoint-postgres; absent: it is left out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        try:
            conversations(server.url, given.messages, given.times)
            print("\nsaver               checkpoints    put and writes ms (p50, p95)    get ms (p50, p95)")
            checkpoints("LociSaver", LociSaver(server.url, user=USER), given.checkpoints, given.times)
            with SqliteSaver.from_conn_string(str(Path(directory) / "langgraph.db")) as saver:
                checkpoints("langgraph-checkpoint-sqlite", saver, given.checkpoints, given.times)
            if given.postgres:
                with PostgresSaver.from_conn_string(given.postgres) as saver:
                    saver.setup()
                    checkpoints("langgraph-checkpoint-postgres", saver, given.checkpoints, given.times)
        finally:
            server.stop()


if __name__ == "__main__":
    if "LOCI" not in os.environ:
        raise SystemExit("start it with bench.sh")
    main()

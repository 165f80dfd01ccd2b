"""Taking the newest item: no two callers get the same, whatever happens in between."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import Server

from loci_memory import Loci, LociError
from loci_memory.openai_agents import LociSession

ROUNDS = 100 if os.environ.get("LOCI_LONG") else 5


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_ten_pops_from_two_processes_take_ten_items(tmp_path, user, store):
    servers = [Server(tmp_path, store="memory:")] * 2 if store == "memory" else [Server(tmp_path), Server(tmp_path)]
    children = []
    try:
        for server in servers:
            environment = {**os.environ, "LOCI_URL": server.url, "LOCI_TEST_USER": user}
            command = [sys.executable, str(Path(__file__).parent / "popper.py")]
            children.append(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        with Loci(servers[0].url, user=user) as memory:
            for n in range(ROUNDS):
                memory.sessions.append(f"s{n}", said(*map(str, range(10))))
                for child in children:
                    print(f"s{n}", file=child.stdin, flush=True)
                took = [item for child in children for item in json.loads(child.stdout.readline())]
                assert sorted(took) == [str(i) for i in range(10)], f"round {n}"
                assert memory.sessions.get(f"s{n}")["message_count"] == 0 and memory.sessions.pop(f"s{n}")["message"] is None
    finally:
        for child in children:
            child.kill()
            child.wait(timeout=30)
        for server in servers:
            server.stop()


def test_a_server_that_is_killed_loses_and_doubles_no_pop(server, user):
    items = [f"item {n}" for n in range(120)]
    took, lock = [], threading.Lock()
    with Loci(server.url, user=user) as memory:
        memory.sessions.append("s", said(*items))

    def pops():
        with Loci(server.url, user=user, retries=10) as memory:
            while message := memory.sessions.pop("s")["message"]:
                with lock:
                    took.append(message["data"]["content"])
                    enough = len(took) in (30, 60)
                if enough:
                    killer.set()

    killer = threading.Event()
    threads = [threading.Thread(target=pops, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        assert killer.wait(60)
        killer.clear()
        server.kill()
        server.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sorted(took) == sorted(items)


def test_a_pop_is_repeated_only_under_its_key(memory):
    memory.sessions.append("s", said("a", "b", "c"))
    first, again = (memory.sessions.pop("s", idempotency_key="k") for _ in range(2))
    assert first == again and first["message"]["data"]["content"] == "c" and first["message_count"] == 2
    assert memory.sessions.pop("s")["message"]["data"]["content"] == "b"
    with pytest.raises(LociError) as gone:
        memory.sessions.pop("none")
    assert gone.value.code == "not_found"


def test_what_earlier_releases_popped_stays_so(memory, url, user):
    """They appended a message that names what it removes."""
    memory.sessions.append("s", [{"type": "human", "data": {"id": id, "content": id}} for id in "ab"])
    memory.sessions.append("s", [{"type": "remove", "data": {"id": "b", "content": ""}}])

    async def run():
        session = LociSession("s", url, user=user)
        return await session.get_items(), await session.pop_item(), await session.pop_item()

    assert asyncio.run(run()) == (said("a"), said("a")[0], None)


def test_messages_that_are_no_items_are_passed_over(memory, url, user):
    memory.sessions.append("s", [{"role": "user", "content": "a"}, {"type": "generic", "data": {"content": "x", "role": "critic"}}])
    assert asyncio.run(LociSession("s", url, user=user).pop_item()) == said("a")[0]
    assert asyncio.run(LociSession("none", url, user=user).pop_item()) is None

"""Conversations: the client, many writers, a server that is killed, and messages of both languages."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loci_memory import Loci, LociError
from loci_memory.langchain import from_stored, to_stored

SHARED = Path(__file__).parent.parent / "shared"


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def seqs(messages):
    return [message["seq"] for message in messages]


def test_sessions(memory):
    made = memory.sessions.create(metadata={"topic": "trains"}, max_messages=50)
    id = made["id"]
    assert made["status"] == "active" and made["metadata"] == {"topic": "trains"}
    done = memory.sessions.append(id, [*said("one"), {"type": "ai", "data": {"content": "two"}}])
    assert (done["first_seq"], done["last_seq"], done["count"]) == (1, 2, 2)
    memory.sessions.append(id, said("three", "four", "five", "six", "seven"))
    assert seqs(memory.sessions.history(id, last=2)["messages"]) == [6, 7]
    assert seqs(memory.sessions.history(id, after=1, before=4)["messages"]) == [2, 3]
    assert seqs(memory.sessions.messages(id, page=3)) == list(range(1, 8))
    assert seqs(memory.sessions.messages(id, page=3, order="desc")) == list(range(7, 0, -1))
    assert memory.sessions.history(id, last=1, format="openai")["messages"] == [{"role": "user", "content": "seven"}]
    assert memory.sessions.search("two", id=id)["results"][0]["seq"] == memory.sessions.search("two")["results"][0]["seq"] == 2
    assert memory.sessions.update(id, metadata={}, timeout_seconds=60)["timeout_seconds"] == 60
    assert memory.sessions.retrieve(id, "two", recent=1, token_budget=200)["text"]
    assert memory.sessions.summarise(id, 100, messages=1)["session_id"] == id
    assert memory.sessions.trim(id, 3) == {"erased": 4, "message_count": 3}
    assert [s["id"] for s in memory.sessions.all()] == [id] and memory.sessions.get(id)["message_count"] == 3
    memory.sessions.append("odd/id ü?#%", said("x"))
    assert len(list(memory.sessions.messages("odd/id ü?#%"))) == 1
    assert memory.sessions.clear(id)["messages"] == 3 and memory.sessions.clear_all()["sessions"] == 1
    with pytest.raises(LociError) as gone:
        memory.sessions.get(id)
    assert gone.value.code == "not_found"


def test_documents(memory):
    memory.sessions.append("s", said("a", "b"))
    document = memory.sessions.export("s")
    assert document["format"] == "loci.session" and seqs(document["messages"]) == [1, 2]
    assert memory.sessions.import_document(document, id="copy")["imported"] == 2
    assert memory.sessions.export("copy")["messages"] == document["messages"]
    memory.sessions.import_document(document, id="copy", mode="append")
    assert seqs(memory.sessions.messages("copy")) == [1, 2, 3, 4]
    messages = [{"role": "user", "content": "a"}, {"type": "ai", "data": {"content": "b"}}]
    assert memory.sessions.import_document(messages, id="copy", mode="append")["imported"] == 2
    document["messages"][1]["data"] = 7
    with pytest.raises(LociError) as refused:
        memory.sessions.import_document(document, id="bad")
    assert refused.value.code == "invalid" and "messages[1]" in refused.value.message
    assert [s["id"] for s in memory.sessions.all()] == ["copy", "s"]


def crowd(url, user, clients, messages, meanwhile=lambda: None):
    """So many clients append so many messages together, each its own in order, to one session."""
    shares = [messages // clients + (n < messages % clients) for n in range(clients)]

    def one(n):
        with Loci(url, user=user, retries=10) as memory:
            for i in range(shares[n]):
                memory.sessions.append("crowd", said(f"{n}:{i}"))

    with ThreadPoolExecutor(clients) as pool:
        work = [pool.submit(one, n) for n in range(clients)]
        meanwhile()
        for each in work:
            each.result()
    with Loci(url, user=user) as memory:
        found = list(memory.sessions.messages("crowd"))
    assert seqs(found) == list(range(1, messages + 1))
    for n in range(clients):
        mine = [m["data"]["content"] for m in found if m["data"]["content"].startswith(f"{n}:")]
        assert mine == [f"{n}:{i}" for i in range(shares[n])]


def test_long_messages_are_several_appends(url, user):
    with Loci(url, user=user) as memory:
        done = memory.sessions.append("long", said(*["水" * 100_000] * 8))  # of 2.4 MB, which count twice
        assert (done["first_seq"], done["last_seq"], done["count"]) == (1, 8, 8)
        assert seqs(memory.sessions.messages("long")) == list(range(1, 9))
        with pytest.raises(LociError) as refused:
            memory.sessions.append("long", [])
        assert refused.value.code == "invalid"


def test_sixteen_clients_lose_nothing(url, user):
    crowd(url, user, 16, 1000)


def test_a_killed_server_loses_and_doubles_nothing(server, user):
    def kill_twice():
        with Loci(server.url, user=user, retries=10) as memory:
            for reached in (200, 600):
                while not memory.sessions.page()["sessions"] or memory.sessions.get("crowd")["last_seq"] < reached:
                    time.sleep(0.01)
                server.kill()
                server.start()

    crowd(server.url, user, 16, 1000, kill_twice)


def test_a_repeated_append_is_one(memory):
    first = memory.sessions.append("s", said("once"), idempotency_key="k")
    assert memory.sessions.append("s", said("once"), idempotency_key="k") == first
    with pytest.raises(LociError) as conflict:
        memory.sessions.append("s", said("something else"), idempotency_key="k")
    assert conflict.value.code == "conflict" and seqs(memory.sessions.messages("s")) == [1]


def test_one_client_serves_many_threads(memory):
    threads = [threading.Thread(target=lambda: memory.sessions.append("s", said("x"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seqs(memory.sessions.messages("s")) == list(range(1, 21))


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_messages_of_each_language(memory, language):
    written = json.loads((SHARED / f"{language}.json").read_text())["messages"]
    memory.sessions.append(language, written)
    back = [{"type": m["type"], "data": m["data"]} for m in memory.sessions.messages(language)]
    assert back == written
    here = from_stored(back)
    kinds = ["system", "human", "ai", "tool", "tool", "function", "chat", "ai", "ai", "remove"]
    assert [m.type.replace("AIMessageChunk", "ai") for m in here] == kinds
    for was, now in zip(written, to_stored(here), strict=True):
        assert now["type"] == {"generic": "chat"}.get(was["type"], was["type"])
        for field, value in was["data"].items():
            if value not in (None, [], {}) and field != "type":
                assert now["data"][field] == value, field
    memory.sessions.append(language + " again", to_stored(here))
    assert from_stored(list(memory.sessions.messages(language + " again"))) == here

"""Memories of every kind in one view, and the verbs of their lifecycle."""

import asyncio
import json
import sys

import httpx
import pytest
from conftest import Server

from loci_memory import AsyncLoci, Loci, LociError
from loci_memory.calls import transfer, view


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A server whose agents have every family, and a memory of every kind by its kind."""
    server = Server(tmp_path_factory.mktemp("loci"), flags=("--user", "ann", "--agent", "butler", "--tools", "all"))
    with Loci(server.url) as client:
        call = client.tools.call
        client.notes.save("Prefers window seats.", tags=["travel"])
        call("memory_store_fact", {"subject": "user", "predicate": "favorite_color", "content": "blue *and* [green](x)"})
        call("memory_store_rule", {"content": "Ask before booking."})
        call("memory_store_episode", {"content": "Asked about seats.", "butler": "butler"})
        client.items.put(["docs"], "k1", {"title": "Trip"})
        client.sessions.append("chat", [{"role": "user", "content": "Where do I sit?"}])
        client.files.write("/notes/today", "Call Marta.")
        yield client, server.url
    server.stop()


KINDS = ["note", "fact", "rule", "episode", "item", "session", "file", "message"]


def of(client, kind):
    [one] = client.memories.page(kind=[kind])["memories"]
    return one


def test_lists_know_every_kind(everything):
    client, _ = everything
    assert [m["kind"] for m in client.memories.all()] == ["file", "session", "item", "episode", "rule", "fact", "note"]
    fact = of(client, "fact")
    assert (fact["subject"], fact["predicate"], fact["state"]) == ("user", "favorite_color", "live")
    assert (of(client, "episode")["state"], of(client, "item")["key"], of(client, "file")["key"]) == ("waiting", "k1", "/notes/today")
    assert client.memories.get(of(client, "file")["id"])["content"] == "Call Marta."
    assert [m["id"] for m in client.memories.all(filter={"subject": "user"})] == [fact["id"]]
    assert client.memories.page(kind=["item"], filter={"subject": "user"})["memories"] == []
    assert [m["kind"] for m in client.memories.all(namespace="docs")] == ["item"]
    first = client.memories.page(limit=1)
    assert first["next_cursor"] and client.memories.page(limit=1, cursor=first["next_cursor"])["memories"][0]["kind"] == "session"
    assert client.memories.namespaces()["namespaces"][1]["counts"] == {"item": 1}
    assert client.memories.stats()["counts"]["rule"] == 1
    with pytest.raises(LociError, match="Invalid kind"):
        client.memories.page(kind=["notes"])


def test_searches_messages_and_files(everything):
    client, _ = everything
    [found] = client.search("Marta", types=["file", "message"], mode="keyword")["matches"]
    assert (found["type"], found["id"], found["file"]["key"], found["passage"]) == (
        "file", of(client, "file")["id"], "/notes/today", "Call Marta.",
    )
    [found] = client.search("sit", types=["file", "message"], mode="keyword")["matches"]
    assert (found["type"], found["message"]["details"]["session_id"]) == ("message", "chat")
    assert not any(m["type"] in ("file", "message") for m in client.search("Marta")["matches"])


def test_verbs(everything):
    client, _ = everything
    memories, note, rule = client.memories, of(client, "note")["id"], of(client, "rule")["id"]
    assert memories.confirm(note)["state"] == "live"
    assert memories.forget(note)["state"] == "forgotten" and memories.page(kind=["note"])["memories"] == []
    assert [m["id"] for m in memories.all(state=["forgotten"])] == [note]
    assert memories.restore(note)["content"] == "Prefers window seats."
    newer = memories.supersede(note, "Prefers aisle seats.", tags=["travel"])
    assert newer["supersedes"] == note and [m["state"] for m in memories.history(note)["chain"]] == ["superseded", "live"]
    assert memories.restore(note)["supersedes"] == newer["id"]
    assert memories.provenance(newer["id"])["from"][0]["id"] == note
    assert memories.helpful(rule)["details"]["success_count"] == 1
    assert memories.harmful(rule, "It asked twice.")["details"]["harmful_reasons"] == ["It asked twice."]
    assert [m["kind"] for m in memories.review()["memories"]] == ["episode", "rule"]
    assert memories.link(newer["id"], "supports", rule) and memories.links(rule)[-1]["to"] == rule
    version = client.notes.update(note := of(client, "note")["id"], content="Sits anywhere.")["version"]
    assert memories.restore(note, version=version - 1)["content"] == "Prefers window seats."
    for kind, says in [("item", "Put the item again"), ("session", "Append to the session"), ("file", "Write the file"), ("episode", "Forget or delete it")]:
        with pytest.raises(LociError) as refused:
            memories.confirm(of(client, kind)["id"])
        assert kind in str(refused.value) and says in refused.value.recovery


def test_an_export_comes_back_elsewhere(everything):
    client, _ = everything
    client.items.put(["docs"], "digits", {"n": 12345678901234567890})
    whole = client.memories.export()
    assert whole["left_out"] == 0 and whole["lines"][0].startswith('{"type":"header"') and whole["lines"][-1].startswith('{"type":"end"')
    there = client.with_options(user="carol").memories
    assert (first := there.import_lines(whole["lines"]))["created"] > 7 and first["conflicts"] == 0
    assert there.import_lines(whole["lines"])["created"] == 0
    assert [m["kind"] for m in there.all()] == [m["kind"] for m in client.memories.all()]
    assert client.with_options(user="carol").items.get(["docs"], "digits")["value"] == {"n": 12345678901234567890}
    assert len(client.memories.export(kind=["rule"], state=["live"])["lines"]) == 3
    with pytest.raises(LociError, match="records is"):
        there.import_lines([line for line in whole["lines"] if '"rule"' not in line])
    client.items.delete(["docs"], "digits")


def test_an_export_comes_in_parts(everything, monkeypatch):
    client, _ = everything
    whole = client.memories.export()
    asked = []
    run = client._transport.run
    monkeypatch.setattr(client._transport, "run", lambda call, **more: (asked.append(call.path), run(call, **more))[1])
    monkeypatch.setattr("loci_memory.calls.view.LINES_AT_ONCE", 2)
    parts = client.memories.export()
    assert parts["lines"][1:] == whole["lines"][1:] and parts["left_out"] == whole["left_out"] and "next_cursor" not in parts
    assert len(asked) > len(whole["lines"]) / 4


def test_what_has_no_room_in_a_batch_is_asked_again(memory):
    value = {"text": "x" * 200_000}
    keys = [f"k{i}" for i in range(200)]  # 40 MB
    for outcome in memory.items.batch([{"op": "put", "namespace": ["large"], "key": key, "value": value, "index": []} for key in keys]):
        assert "error" not in outcome
    got = memory.items.batch([{"op": "get", "namespace": ["large"], "key": key} for key in keys])
    assert [one["item"]["key"] for one in got] == keys
    # What reads sees what was there before, however often it is asked.
    ops = [{"op": "delete", "namespace": ["large"], "key": key} for key in keys] + [{"op": "get", "namespace": ["large"], "key": key} for key in keys]
    assert [one["item"]["key"] for one in memory.items.batch(ops)[200:]] == keys
    assert memory.items.batch(ops[-1:]) == [{"op": "get"}]


def test_erase_many(everything):
    client, _ = everything
    memories = client.with_options(user="dora").memories
    notes = client.with_options(user="dora").notes
    for place in ("Rome", "Oslo"):
        notes.save(f"Was in {place}.", tags=["trip"])
    notes.save("Prefers aisle seats.", metadata={"year": 2026})
    assert memories.erase(tags=["trip"]) == {"selected": 2, "erased": 0}
    with pytest.raises(LociError, match="nothing was erased"):
        memories.erase(tags=["trip"], expect=3)
    for _ in range(2):
        assert memories.erase(tags=["trip"], expect=2, idempotency_key="once") == {"selected": 2, "erased": 2}
    assert memories.erase(kinds=["fact"], filter={"year": 2026}) == {"selected": 1, "erased": 0}
    assert memories.erase(all=True, expect=1)["erased"] == 1 and memories.page()["memories"] == []
    assert client.memories.page(kind=["note"])["memories"] != []
    with pytest.raises(LociError, match="say what to erase"):
        memories.erase()


def test_an_erase_of_many_takes_several_requests():
    sent, replies = [], []

    def answer(request):
        body = json.loads(request.content)
        sent.append((body["expect"], body.get("cursor"), request.headers.get("Idempotency-Key")))
        return httpx.Response(200, json=replies[len(sent) - 1])

    with Loci("http://127.0.0.1:1", transport=httpx.MockTransport(answer)) as client:
        replies[:] = [
            {"selected": 9, "erased": 4, "left": 5, "next_cursor": "a"},
            {"selected": 5, "erased": 3, "left": 1, "next_cursor": "b"},
            {"selected": 1, "erased": 1},
        ]
        assert client.memories.erase(tags=["trip"], expect=9, idempotency_key="once") == {"selected": 9, "erased": 8}
        assert sent == [(9, None, "once"), (5, "a", "once:5"), (1, "b", "once:1")]
        sent.clear()
        replies[:] = [{"selected": n, "erased": 0, "left": 5, "next_cursor": "a"} for n in (9, 5)]
        with pytest.raises(LociError, match="does not end"):
            client.memories.erase(tags=["trip"], expect=9)
        sent.clear()
        # A key without room for the keys of later parts is refused before the first one is sent.
        many = [{"role": "user", "content": "x"}] * 10_001
        with pytest.raises(LociError, match="a later part, which ends in :4001"):
            client.memories.erase(all=True, expect=4001, idempotency_key="k" * 255)
        with pytest.raises(LociError, match="idempotency_key is 255 bytes long"):
            client.sessions.append("s", many, idempotency_key="k" * 255)
        with pytest.raises(LociError, match="idempotency_key is 255 bytes long"):
            client.sessions.import_document(many, idempotency_key="k" * 255)
        assert sent == []
        replies[:] = [{"selected": 4000, "erased": 4000}]
        assert client.memories.erase(all=True, expect=4000, idempotency_key="k" * 255)["erased"] == 4000


def test_what_a_large_thread_takes_is_several_requests():
    sent, replies = [], []

    def answer(request):
        body = json.loads(request.content)
        sent.append((body.get("cursor"), request.headers.get("Idempotency-Key"), request.headers.get("Prefer")))
        return httpx.Response(200, json=replies[len(sent) - 1])

    with Loci("http://127.0.0.1:1", transport=httpx.MockTransport(answer)) as client:
        calls = [
            ("erased", 9, lambda **key: client.checkpoints.prune(["t"], **key)),
            ("erased", 9, lambda **key: client.checkpoints.delete_for_runs(["r"], **key)),
            ("copied", 2, lambda **key: client.checkpoints.copy_thread("t", "u", **key)),
        ]
        for count, total, call in calls:
            sent.clear()
            replies[:] = [{count: 4, "next_cursor": "a"}, {count: 3, "next_cursor": "b"}, {count: 2}]
            assert call(idempotency_key="once") == total
            assert sent == [(None, "once", "parts"), ("a", "once:1", "parts"), ("b", "once:2", "parts")]
            sent.clear()
            replies[:] = [{count: 4, "next_cursor": "a"}, {count: 3, "next_cursor": "a"}]
            with pytest.raises(LociError, match="does not end"):
                call()
            # A key without room for the keys of later parts is refused before the first one is sent.
            sent.clear()
            with pytest.raises(LociError, match="idempotency_key is 250 bytes long"):
                call(idempotency_key="k" * 250)
            assert sent == []


def test_a_large_thread(memory):
    checkpoints = memory.checkpoints
    value = {"type": "b", "data": ""}
    for at in range(2):
        checkpoints.put({"thread_id": "t", "checkpoint_id": str(at), "checkpoint": value, "metadata": {"run_id": "r"}})
        for half in range(2):
            writes = [{"task_id": "a", "idx": half * 5000 + i, "channel": "x", "value": value} for i in range(5000)]
            checkpoints.put_writes("t", str(at), writes)
    assert checkpoints.copy_thread("t", "u") == 2
    assert len(checkpoints.get("u")["pending_writes"]) == 10_000
    assert checkpoints.prune(["u"]) == 1 and checkpoints.delete_for_runs(["r"]) == 3
    assert list(checkpoints.all()) == []


def test_runs_of_a_graph_that_weighs_as_much_as_20_000_checkpoints(memory, url, user):
    checkpoints, parts = memory.checkpoints, []

    class Seen(httpx.HTTPTransport):
        def handle_request(self, request):
            parts.append(json.loads(request.content).get("cursor"))
            return super().handle_request(request)

    value = {"type": "b", "data": ""}
    names, count = [f"c{n}" for n in range(10_000)], 42  # a server that looked at all of them at once refused more than 400,000 names
    for at in range(count):
        put = {"thread_id": "t", "checkpoint_id": f"{at:02}", "checkpoint": value, "metadata": {"run_id": f"r{at % 2}"}}
        put["channel_versions"] = dict.fromkeys(names, "1")
        if at == 0:
            put["channel_values"] = dict.fromkeys(names, value)
        else:
            put["parent_checkpoint_id"] = f"{at - 1:02}"
        checkpoints.put(put)
    with Loci(url, user=user, transport=Seen()) as client:
        assert client.checkpoints.delete_for_runs(["r1"]) == count // 2
    assert len(parts) > 1 and len(set(parts)) == len(parts)
    assert [c["checkpoint_id"] for c in checkpoints.all(thread_id="t", values=False)] == [f"{at:02}" for at in range(count - 2, -1, -2)]
    assert len(checkpoints.get("t")["channel_values"]) == len(names)
    assert checkpoints.delete_for_runs(["r0"]) == count // 2
    assert list(checkpoints.all()) == []


def test_waiting_and_not(everything):
    _, url = everything

    async def main():
        async with AsyncLoci(url) as client:
            return [m["kind"] async for m in client.memories.all(kind=["rule", "message"])]

    assert asyncio.run(main()) == ["message", "rule"]


def test_delete_takes_every_id(everything):
    client, _ = everything
    for kind in ("file", "message", "session", "item", "episode", "rule"):
        client.memories.delete(id := of(client, kind)["id"])
        with pytest.raises(LociError, match="no memory"):
            client.memories.get(id)


def test_more_lines_than_one_request_imports(everything, monkeypatch):
    client, _ = everything
    monkeypatch.setattr(transfer, "MOST", 30)
    there = client.with_options(user="dora").memories
    lines = [json.dumps({"type": "entity", "name": f"Ann {i}"}) for i in range(9)]
    assert there.import_lines(lines) == {"format": "mcp-memory", "created": 9, "existing": 0, "conflicts": 0}
    assert there.import_lines(lines)["existing"] == 9
    with pytest.raises(LociError, match="the first 1 of 3 parts of the lines are imported, the others are not: line 7: name of the entity") as refused:
        there.import_lines([*lines[:6], '{"type":"entity"}', *lines[6:]])
    assert "again" in refused.value.recovery
    with pytest.raises(LociError, match=r"lines 2 to 2 belong together \(entity\), .* nothing was imported"):
        there.import_lines([lines[0], json.dumps({"type": "entity", "name": "Bob", "observations": ["x"] * 9})])


# Lines of every weight; the server refuses what they say, and what weighs too much before that.
WEIGHTY = [
    json.dumps({"type": "entity", "name": "Ann" * 99, "entityType": "person", "observations": ["walks", "runs", "é" * 700]}),
    json.dumps({"type": "record", "kind": "note", "text": "x" * 5000}),
    json.dumps({"type": "record", "kind": "note", "text": "ñ" * 800_000}),
    json.dumps({"type": "record", "kind": "note", "text": "first-class a-b-c 1-2 " * 5000}),
    json.dumps({"type": "record", "kind": "checkpoint", "body": {"data": "y" * 90_000}}),
    json.dumps({"type": "revision", "text": "z" * 9000}),
    json.dumps({"type": "relation", "from": "a", "to": "b"}),
    "no JSON",
    "[1]",
]


def test_lines_weigh_what_they_weigh_for_the_server(everything):
    client, _ = everything
    weight = transfer._weight([transfer._read(line) for line in WEIGHTY], WEIGHTY)
    rest = transfer.MOST - weight
    fives, twos = divmod(rest, 5)
    while twos % 2:  # 5s and 2s that come to just what is left
        fives, twos = fives - 1, twos + 5
    lines = [*WEIGHTY, *['{"type":"entity"}'] * fives, *['{"type":"link"}'] * (twos // 2)]
    assert transfer.imports(lines) == [transfer.Part(lines, list(range(1, len(lines) + 1)))]
    for count, code in ((len(lines), "invalid"), (len(lines) + 1, "too_large")):
        with pytest.raises(LociError) as refused:
            client._transport.run(view.import_lines([*lines, '{"type":"link"}'][:count]))
        assert refused.value.code == code, refused.value


def test_parts_cost_as_their_lines_do(monkeypatch):
    def calls(n: int) -> int:
        monkeypatch.setattr(transfer, "MOST", 5 * n - 1)  # a large part, and a small one
        lines, counted = [json.dumps({"type": "entity", "name": f"Ann {i}"}) for i in range(n)], 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            parts = transfer.imports(lines)
        finally:
            sys.setprofile(None)
        assert len(parts) == 2
        return counted

    assert calls(2000) < 5 * calls(500)


def test_headers_alone_are_one_import():
    lines = ['{"type":"header"}'] * 10_000 + ['{"type":"end"}']
    assert [part.lines for part in transfer.imports(lines)] == [lines]


def test_parts_of_an_export_are_exports(everything, monkeypatch):
    client, _ = everything
    one, other, *_ = (m["id"] for m in client.memories.all() if m["kind"] in ("note", "fact", "rule", "episode"))
    client.memories.link(one, "related_to", other)
    lines = client.memories.export()["lines"]
    assert transfer.imports(lines) == [transfer.Part(lines, list(range(1, len(lines) + 1)))]
    monkeypatch.setattr(transfer, "MOST", 40)
    parts = transfer.imports(lines)
    assert len(parts) > 2 and sorted(n for part in parts for n in part.numbers[1:-1]) == list(range(2, len(lines)))
    for part in parts:
        read = [json.loads(line) for line in part.lines]
        assert part.lines[0] == lines[0] and [lines[n - 1] for n in part.numbers[1:-1]] == part.lines[1:-1]
        assert read[-1]["type"] == "end" and read[-1]["records"] == sum(line["type"] == "record" for line in read)
        kinds = [line.get("kind") for line in read]
        assert "message" not in kinds or "session" in kinds  # what belongs together stays together
        assert "block" not in kinds or "file" in kinds
    assert [line["type"] for line in map(json.loads, parts[-1].lines)][1:-1] == ["link"] * (len(parts[-1].lines) - 2)
    # Ids are taken by the memories that were exported, and links would be lost between the parts: that is said.
    with pytest.raises(LociError, match="stand for other memories here") as refused:
        client.with_options(user="emil").memories.import_lines(lines)
    assert "loci import" in refused.value.recovery
    for damaged in (lines[:-1], [*lines[:-2], lines[-1]]):
        with pytest.raises(LociError, match=r"cut short|links is"):
            client.with_options(user="fred").memories.import_lines(damaged)
    assert client.with_options(user="fred").memories.export()["lines"][1:-1] == []

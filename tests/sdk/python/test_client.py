"""The client: every group of routes, errors, attempts."""

import asyncio
import inspect
import json
import math
import ssl
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import loci_memory.aio.client
import loci_memory.sync.client
from loci_memory import AsyncLoci, ConfigurationError, Loci, LociError, aremember, remember

SDK = Path(__file__).parents[3] / "sdk" / "python"


def test_items(memory):
    memory.items.put(("n",), "k", {"text": "walrus"}, ttl=10)
    assert memory.items.get(("n",), "k")["value"] == {"text": "walrus"}
    assert memory.items.get(("n",), "x") is None
    assert memory.items.search((), query="walrus", filter={"text": "walrus"})[0]["key"] == "k"
    assert memory.items.search((), until="2026-01-31T08:00:00Z") == [] and memory.items.search((), query="walrus", min_score=1) == []
    assert memory.items.search((), since="2026-01-31T08:00:00Z")[0]["key"] == "k"
    assert memory.items.namespaces() == [("n",)]
    assert [r["op"] for r in memory.items.batch([{"op": "get", "namespace": ["n"], "key": "k"}])] == ["get"]
    memory.items.delete(("n",), "k")
    assert memory.items.get(("n",), "k") is None


def test_times(memory):
    before = datetime.now(timezone(timedelta(hours=2))) - timedelta(days=1)
    memory.items.put(("n",), "k", {"text": "walrus"}, created_at=before)
    assert memory.items.search((), since=before)[0]["key"] == "k" and memory.items.search((), until=before) == []
    memory.notes.save("Ada likes ferries", created_at=before)
    assert memory.search("ferries", since=before)["matches"] and not memory.search("ferries", until=before)["matches"]
    assert list(memory.memories.all(as_of=before - timedelta(days=1))) == [] and memory.events(until=before)["events"] == []
    assert memory.sessions.search("ferries", since=before)["results"] == []
    assert memory.files.search("ferries", until=before)["matches"] == []
    with pytest.raises(LociError, match="since has no time zone") as caught:
        memory.items.search((), since=datetime(2026, 1, 31))
    assert "astimezone" in caught.value.recovery


def test_memories(memory):
    assert memory.info()["name"] == "loci"
    saved = memory.notes.save("Ada likes night trains", tags=["travel"], metadata={"n": 1})
    assert saved["outcome"] == "created" and memory.notes.save("Ada likes night trains", tags=["travel"], metadata={"n": 1})["outcome"] == "duplicate_of"
    changed = memory.notes.update(saved["id"], content="Ada likes night trains and ferries", if_version=memory.notes.get(saved["id"])["version"])
    assert [note["id"] for note in memory.notes.all(tag=["travel"])] == [changed["id"]] and list(memory.notes.all(tag=["x"])) == []
    assert memory.search("ferries", types=["fact"])["matches"][0]["passage"] == changed["content"]
    assert memory.recall("ferries", touch=True)["memories"][0]["type"] == "fact"
    assert "ferries" in memory.context("How do I travel?", agent="ada", token_budget=500)["text"]
    assert {event["event_type"] for event in memory.events(limit=10, type=["created"])["events"]} == {"created"}
    assert "memory_search" in [tool["name"] for tool in memory.tools.all()]
    assert "ferries" in memory.tools.call("memory_search", {"query": "ferries"})["text"]
    assert memory.tools.call("memory_search", {"no such": 1})["is_error"]
    memory.notes.delete(saved["id"])
    with pytest.raises(LociError) as gone:
        memory.notes.get(saved["id"])
    assert (gone.value.code, gone.value.status) == ("not_found", 404)


def test_checkpoints(memory):
    value = {"type": "json", "data": "e30="}
    for id in ("1", "2", "3"):
        memory.checkpoints.put({"thread_id": "t", "checkpoint_id": id, "checkpoint": value, "metadata": {"run_id": id}})
    memory.checkpoints.put_writes("t", "3", [{"task_id": "k", "idx": 0, "channel": "c", "value": value}])
    assert memory.checkpoints.get("t")["pending_writes"][0]["channel"] == "c" and memory.checkpoints.get("u") is None
    assert [c["checkpoint_id"] for c in memory.checkpoints.all(thread_id="t", limit=1)] == ["3", "2", "1"]
    assert memory.checkpoints.copy_thread("t", "u") == 3 and memory.checkpoints.delete_for_runs(["1"]) == 2
    assert memory.checkpoints.prune(["u"]) == 1 and memory.checkpoints.prune(["t"], strategy="delete") == 2


def test_asyncio_and_several_loops(url, user):
    memory = AsyncLoci(url, user=user)

    async def run():
        await memory.items.put(("n",), "k", {"n": 1})
        await memory.notes.save("walrus")
        notes = [note["content"] async for note in memory.notes.all()]
        return notes, await memory.items.get(("n",), "k"), await memory.items.get(("n",), "x")

    for _ in range(2):  # the connections of the first loop are of no use to the second
        notes, item, missing = asyncio.run(run())
        assert notes == ["walrus"] and item["value"] == {"n": 1} and missing is None


def test_other_options_share_connections(memory, user):
    other = memory.with_options(user="other-" + user, timeout=5, retries=0)
    memory.notes.save("mine")
    assert list(other.notes.all()) == [] and len(list(memory.notes.all())) == 1
    named = memory.with_options(user="Zoë 😀 " + user)
    named.notes.save("hers")
    assert [note["content"] for note in named.notes.all()] == ["hers"]


@pytest.mark.parametrize(
    "make",
    [
        lambda url: Loci("ftp://x"),
        lambda url: Loci("http://user:secret@localhost"),
        lambda url: Loci("http://[::1"),
        lambda url: Loci(url, user=""),
        lambda url: Loci(url, user=" x"),
        lambda url: Loci(url, user="a\nb"),
        lambda url: Loci(url, user="\ud800"),
        lambda url: Loci(url, timeout=0),
        lambda url: Loci(url, timeout="5"),
        lambda url: Loci(url, retries=11),
        lambda url: Loci(url, retries=1.5),
        lambda url: Loci(url, api_key=""),
        lambda url: AsyncLoci(url, api_key=5),
        lambda url: Loci(url).items.put(("n",), "k", {"n": math.nan}),
        lambda url: Loci(url).items.put(("n",), "k", {"n": {1}}),
        lambda url: Loci(url).items.put(("n",), "k", {"n": "\ud800"}),
        lambda url: Loci(url).notes.get(".."),
        lambda url: Loci(url).notes.save("x", idempotency_key=""),
    ],
)
def test_what_cannot_be_sent_is_refused(url, make):
    with pytest.raises(LociError) as refused:
        make(url)
    assert refused.value.code == "invalid" and refused.value.status is None  # it did not go out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.items.put("abc", "k", {}), "namespace must be a list of texts"),
        (lambda m: m.items.delete("abc", "k"), "namespace must be a list of texts"),
        (lambda m: m.items.search("abc"), "namespace_prefix must be a list of texts"),
        (lambda m: m.items.namespaces(prefix="abc"), "prefix must be a list of texts"),
        (lambda m: m.notes.save("Likes tea.", tags="trip"), "tags must be a list of texts"),
        (lambda m: m.notes.page(tag="trip"), "tag must be a list of texts"),
        (lambda m: m.memories.erase(tags="trip", expect=0), "tags must be a list of texts"),
        (lambda m: m.memories.page(kind="note"), "kind must be a list of texts"),
        (lambda m: m.checkpoints.prune("abc", strategy="delete"), "thread_ids must be a list of texts"),
        (lambda m: m.checkpoints.delete_for_runs("abc"), "run_ids must be a list of texts"),
        (lambda m: m.sessions.append("s", {"role": "user", "content": "x"}), "messages must be a list of objects"),
        (lambda m: m.sessions.append("s", "x"), "messages must be a list of objects"),
        (lambda m: m.items.batch({"op": "get"}), "operations must be a list of objects"),
        (lambda m: m.sessions.append("s", ["x"]), r"messages\[0\] must be an object"),
        (lambda m: m.sessions.append("s", [{"role": "user", "content": "x"}, None]), r"messages\[1\] must be an object"),
        (lambda m: m.notes.save("Likes tea.", tags=5), "tags must be a list of texts"),
        (lambda m: m.memories.import_lines(None), "lines must be a list of texts"),
    ],
)
def test_a_text_is_no_list(memory, call, message):
    with pytest.raises(LociError, match=message) as refused:
        call(memory)
    assert refused.value.code == "invalid" and refused.value.recovery


def test_errors_say_what_to_do(memory, down):
    with pytest.raises(LociError) as refused:
        memory.items.search((), limit=0)
    assert refused.value.code == "invalid" and refused.value.status == 400 and refused.value.recovery and refused.value.request_id
    with pytest.raises(LociError) as gone:
        down.info()
    assert gone.value.code == "unavailable" and gone.value.status is None and gone.value.__cause__
    memory.notes.save("a", idempotency_key="key")
    with pytest.raises(LociError) as conflict:
        memory.notes.save("b", idempotency_key="key")
    assert conflict.value.code == "conflict"


def test_a_closed_client_says_so(url):
    """As an error of Loci, so that an agent goes on whose memory was closed first."""
    memory = Loci(url)
    other = memory.with_options(timeout=5)
    memory.close()
    for closed in (memory, other):
        assert remember(closed.info).error.code == "unavailable"
        with pytest.raises(LociError, match="the client is closed"):
            closed.info()


def test_clients_read_certificates_once(url, monkeypatch):
    """Reading them takes longer than a call."""
    Loci(url).close()
    read = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: read.append(1))
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: read.append(1))
    for _ in range(3):
        Loci(url).close()
        asyncio.run(_info(url))
    assert read == []


async def _info(url):
    async with AsyncLoci(url) as memory:
        return await memory.info()


def test_this_machine_is_not_asked_for_through_a_proxy(url, user, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with Loci(url, user=user, retries=0) as memory:
        assert memory.info()["name"] == "loci"


class Flaky:
    """A server that answers what a list says, in turn, and keeps what it was asked."""

    def __init__(self, *answers):
        flaky = self
        self.answers, self.asked = list(answers), []

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                flaky.asked.append((self.command, self.path, self.headers.get("Idempotency-Key"), body))
                status, headers, text = flaky.answers.pop(0)
                if status == 0:
                    return self.connection.close()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


SAVED, FOUND = ((200, {}, json.dumps(reply)) for reply in ({"id": "note-1", "outcome": "created"}, {"matches": [], "keyword_only": False}))
BUSY = (503, {"Retry-After": "0"}, json.dumps({"code": "unavailable", "detail": "busy"}))


def attempt(flaky, work, **settings):
    """What a call comes to with the client that waits and with that of asyncio, which must be the same."""
    answers = list(flaky.answers)
    outcomes, asked = [], []
    for kind in (Loci, AsyncLoci):
        flaky.answers, flaky.asked = list(answers), []
        try:
            if kind is Loci:
                work(Loci(flaky.url, **settings))
            else:

                async def run():
                    await work(AsyncLoci(flaky.url, **settings))

                asyncio.run(run())
            outcomes.append(None)
        except LociError as err:
            outcomes.append(err.code)
        asked.append(flaky.asked)
    assert outcomes[0] == outcomes[1] and len(asked[0]) == len(asked[1])
    return outcomes[0], asked[0]


@pytest.mark.parametrize(
    ("answers", "work", "settings", "outcome", "attempts"),
    [
        ([BUSY, (0, {}, ""), SAVED], lambda m: m.notes.save("x"), {}, None, 3),
        ([BUSY, FOUND], lambda m: m.search("x"), {}, None, 2),
        ([BUSY] * 4, lambda m: m.search("x"), {}, "unavailable", 4),
        ([BUSY], lambda m: m.search("x"), {"retries": 0}, "unavailable", 1),
        ([(503, {"Retry-After": "3600"}, "")], lambda m: m.search("x"), {}, "unavailable", 1),
        ([(0, {}, "")], lambda m: m.recall("x", touch=True), {}, "unavailable", 1),  # it would count twice
        ([(500, {}, "")], lambda m: m.search("x"), {}, "unavailable", 1),
        ([(404, {}, "not here")], lambda m: m.items.get(("n",), "k"), {}, "unsupported", 1),  # not "there is none"
        ([(302, {"Location": "/x"}, "")], lambda m: m.search("x"), {}, "unsupported", 1),
        ([(200, {}, "<html>")], lambda m: m.search("x"), {}, "unsupported", 1),
        ([(401, {}, "")], lambda m: m.search("x"), {}, "unauthenticated", 1),
    ],
)
def test_attempts(answers, work, settings, outcome, attempts):
    with Flaky(*answers) as flaky:
        got, asked = attempt(flaky, work, **settings)
    assert (got, len(asked)) == (outcome, attempts)
    keys = {key for _, _, key, _ in asked}
    assert len(keys) == 1 and len({body for *_, body in asked}) == 1
    assert (keys == {None}) == (asked[0][1] != "/v1/notes")


def appended(n):
    reply = {"session_id": "s", "created": n == 0, "first_seq": 1 + n, "last_seq": 2 + n, "count": 1, "trimmed": 0, "created_at": "", "message_count": n}
    return 200, {}, json.dumps(reply)


def test_long_appends_are_several_with_keys_of_their_own():
    messages = [{"role": "user", "content": str(i)} for i in range(2001)]
    with Flaky(*map(appended, range(3))) as flaky:
        done = Loci(flaky.url).sessions.append("s", messages, idempotency_key="k")
    assert [key for _, _, key, _ in flaky.asked] == ["k", "k:1000", "k:2000"]
    assert [len(json.loads(body)["messages"]) for *_, body in flaky.asked] == [1000, 1000, 1]
    assert (done["created"], done["first_seq"], done["last_seq"], done["count"]) == (True, 1, 4, 3)


def raises(error):
    raise error


def test_a_failing_memory_is_told_and_not_raised(memory, down, caplog):
    assert remember(lambda: memory.notes.save("x")).stored
    outcome = remember(lambda: down.notes.save("a secret"))
    assert not outcome.stored and outcome.error.code == "unavailable"
    assert "unavailable" in caplog.text and "secret" not in caplog.text
    heard = []

    def listen(error):
        heard.append(error.code)
        raise RuntimeError("of the listener")

    async def run():
        return await aremember(AsyncLoci("http://127.0.0.1:9", retries=0).notes.save("x"), listen)

    assert not asyncio.run(run()).stored and heard == ["unavailable"]
    for mistake in (lambda: 1 // 0, lambda: raises(ConfigurationError("user_id"))):
        with pytest.raises((ZeroDivisionError, ConfigurationError)):
            remember(mistake)


def test_both_clients_are_one():
    subprocess.run([sys.executable, str(SDK / "generate.py"), "--check"], check=True)
    one, other = loci_memory.aio.client.AsyncLoci, loci_memory.sync.client.Loci
    assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters)


def test_the_client_needs_no_framework():
    code = "import sys, loci_memory; sys.exit(any(m.split('.')[0] in ('langchain_core', 'langgraph', 'agents', 'pydantic') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)


def imported(n):
    return 200, {}, json.dumps({"session_id": "s", "imported": n, "replaced": 0, "trimmed": 1})


def test_long_imports_are_several_with_keys_of_their_own():
    messages = [{"type": "human", "data": {"content": str(i)}} for i in range(10_001)]
    document = {"format": "loci.session", "version": 1, "session": {"id": "s", "last_seq": 20_000, "metadata": {"a": 1}}, "messages": messages}
    with Flaky(*map(imported, (5000, 5000, 1))) as flaky:
        done = Loci(flaky.url).sessions.import_document(document, mode="replace", idempotency_key="k")
    assert done == {"session_id": "s", "imported": 10_001, "replaced": 0, "trimmed": 3}
    first, second, third = [json.loads(body) for *_, body in flaky.asked]
    assert [key for _, _, key, _ in flaky.asked] == ["k", "k:5000", "k:10000"]
    assert first["mode"] == "replace" and first["document"]["session"] == {"id": "s", "metadata": {"a": 1}} and first["document"]["messages"] == messages[:5000]
    assert (second["mode"], second["id"], second["document"]) == ("append", "s", messages[5000:10_000])
    assert (third["mode"], third["id"], third["document"]) == ("append", "s", messages[10_000:])
    with Flaky(imported(5000), imported(1)) as flaky:
        Loci(flaky.url).sessions.import_document(messages[:5001])
    one, other = [json.loads(body) for *_, body in flaky.asked]
    assert len(one["document"]) == 5000 and one["id"] == other["id"] and len(one["id"]) == 36 and "mode" not in one and other["mode"] == "append"
    large = [{"role": "user", "content": "é" * 500_000}] * 4  # three of them are 3 MB
    with Flaky(imported(3), imported(1)) as flaky:
        assert Loci(flaky.url).sessions.import_document(large, id="s")["imported"] == 4
    assert [len(json.loads(body)["document"]) for *_, body in flaky.asked] == [3, 1]

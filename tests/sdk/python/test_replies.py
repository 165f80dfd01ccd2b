"""Nothing that a server says is believed before it is checked: every method of the client meets every bad reply."""

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import re
import socket
import struct
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from loci_memory import AsyncLoci, Loci, LociError, aremember, remember
from loci_memory.aio import agents, checkpoints, client, files, items, memories, notes, sessions, tools
from loci_memory.langchain import LociChatMessageHistory, create_manage_memory_tool, create_search_memory_tool, from_stored
from loci_memory.langgraph import LociSaver, LociStore
from loci_memory.openai_agents import LociSession

LISTS = "matches memories notes sessions messages items namespaces results checkpoints events tools"
BAD = {
    "a list": b"[1,2]",
    "null": b"null",
    "an empty object": b"{}",
    "nothing": b"",
    "a page": b"<!doctype html><title>Sign in</title>",
    "a text": b'"text"',
    "a number": b"12",
    "half an object": b'{"matches": [',
    "NaN": b'{"matches": NaN}',
    "no UTF-8": b'{"matches": "\xff"}',
    "depth": b"[" * 100_000,
    "lists of the wrong things": json.dumps({name: [7] for name in LISTS.split()}).encode(),
}


class Server:
    """Answers every request the same."""

    def __init__(self, status=200, body=b"", pause=0.0, times=1):
        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(server.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(server.body) * times))
                self.end_headers()
                for _ in range(times):
                    self.wfile.write(server.body)
                    self.wfile.flush()
                    time.sleep(pause)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        server = self
        self.status, self.body = status, body
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # clients that leave are no news
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture(scope="module")
def bad():
    with Server() as server:
        yield server


ARGUMENTS = {
    "namespace": ("n",), "key": "k", "value": {"a": 1}, "id": "x", "content": "text", "messages": [{"role": "user", "content": "x"}],
    "document": {"format": "loci.session", "version": 1, "messages": []}, "max_messages": 5, "query": "q", "lines": ["{}"],
    "topic": "t", "prompt": "p", "name": "tool",
    "context_tokens": 1000, "checkpoint": {"thread_id": "t"}, "thread_id": "t", "checkpoint_id": "c", "writes": [], "target_thread_id": "u",
    "path": "/a", "old_content": "a", "target_path": "/b", "version": 1, "agent": "A", "type": "related_to", "to": "y",
    "thread_ids": ["t"], "run_ids": ["r"], "operations": [{"op": "put", "namespace": ["n"], "key": "k", "value": {}}],
}  # fmt: skip
GROUPS = {
    "": client.AsyncLoci, "sessions": sessions.AsyncSessions, "items": items.AsyncItems, "notes": notes.AsyncNotes,
    "tools": tools.AsyncTools, "checkpoints": checkpoints.AsyncCheckpoints, "files": files.AsyncFiles,
    "agents": agents.AsyncAgents, "connectors": agents.AsyncConnectors, "memories": memories.AsyncMemories,
}  # fmt: skip
NOT_REQUESTS = {"tree", "with_options", "for_call", "run", "aclose", "close"}


def requests():
    """Every method that sends a request, with arguments that the server would take."""
    for group, kind in GROUPS.items():
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_") or name in NOT_REQUESTS:
                continue
            parameters = list(inspect.signature(method).parameters.values())[1:]
            needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
            yield pytest.param(group, name, [ARGUMENTS[p.name] for p in needed], id=f"{group}.{name}".strip("."))


def test_the_walk_meets_every_group_of_the_client():
    made = {name: type(part) for name, part in vars(AsyncLoci("http://127.0.0.1:9")).items() if not name.startswith("_")}
    assert made == {name: kind for name, kind in GROUPS.items() if name} and len(list(requests())) > 40


LATER = {"loop": asyncio.new_event_loop()}  # one client for all: making one takes longer than asking


@pytest.mark.parametrize(("group", "name", "arguments"), list(requests()))
def test_no_bad_reply_is_a_result(bad, group, name, arguments):
    def of(memory):
        return getattr(getattr(memory, group) if group else memory, name)(*arguments)

    async def run():
        work = of(LATER["client"])
        return [one async for one in work] if inspect.isasyncgen(work) else await work

    bad.status = 200
    LATER.setdefault("client", AsyncLoci(bad.url, retries=0))
    with Loci(bad.url, retries=0) as memory:
        for kind, body in BAD.items():
            bad.body = body
            for how in ("waits", "asyncio"):
                with pytest.raises(LociError) as refused:
                    found = LATER["loop"].run_until_complete(run()) if how == "asyncio" else of(memory)
                    found = list(found) if inspect.isgenerator(found) else found
                    pytest.fail(f"{kind} was taken for a result: {found!r}")
                assert refused.value.code == "unsupported" and refused.value.status == 200, kind
                assert "no Loci server" in refused.value.message and refused.value.recovery


# A server in trouble: how much of an answer it sends, and how a call then ends. A server that hangs keeps the connection open.
def whole(status, body):
    return f"HTTP/1.1 {status} X\r\nConnection: close\r\nRetry-After: 7\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


HALF = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{"
TROUBLE = {
    "hangs": (b"", "unavailable"),
    "hangs in the head": (HALF[:20], "unavailable"),
    "hangs in the body": (HALF, "unavailable"),
    "resets": (None, "unavailable"),
    "breaks off": (HALF, "unavailable"),
    "fails half way": (HALF.replace(b"200", b"500"), "unavailable"),
    "fails": (whole(500, '{"code":"internal","detail":"failed"}'), "internal"),
    "is asked too much": (whole(429, '{"code":"unavailable","detail":"busy"}'), "unavailable"),
    "is busy": (whole(503, '{"code":"unavailable","detail":"busy"}'), "unavailable"),
}


class Troubled:
    """Reads each request whole, and remembers it with the call that sent it."""

    def __init__(self):
        self.answer, self.hangs, self.asked, self.left = b"", False, [], []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            first = stream.readline().decode().split()
            lines = iter(lambda: stream.readline().decode(), "\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if first)}
            if not first:
                return
            stream.read(int(headers.get("content-length", 0)))
            self.asked.append((headers["x-call"], *first[:2], headers.get("idempotency-key")))
            if self.answer is None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            connection.sendall(self.answer)
            if self.hangs:
                stream.read(1)  # until the client leaves
                self.left.append(headers["x-call"])

    def begin(self, trouble):
        self.answer, self.hangs, self.asked, self.left = TROUBLE[trouble][0], trouble.startswith("hangs"), [], []

    def close(self):
        self._listener.close()


@pytest.fixture
def troubled():
    server = Troubled()
    yield server
    server.close()


DESCRIBED = json.loads((Path(__file__).parents[3] / "rest/testdata/openapi.json").read_text())["paths"]


def described(method, target):
    """What the server's description says of a request: whether it takes a key, and whether it changes anything."""
    for path, entry in DESCRIBED.items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), target.partition("?")[0]) and method.lower() in entry:
            operation = entry[method.lower()]
            key = any(p.get("$ref", "").endswith("/idempotency_key") for p in operation.get("parameters", []))
            return key, re.search("scope `(write|delete)`", operation.get("description", "")) is not None
    raise KeyError(target)


def every(memory):
    """Each method that sends a request, as a call by a client of its own, by its name."""
    for method in requests():
        group, name, arguments = method.values
        named = memory.with_options(headers={"X-Call": method.id})
        yield method.id, functools.partial(getattr(getattr(named, group) if group else named, name), *arguments)


def outcomes_of(how, url, **settings):
    """What all methods come to at once, by name."""
    if how == "asyncio":

        async def ended(work):
            found = work()
            return [one async for one in found] if inspect.isasyncgen(found) else await found

        async def run():
            async with AsyncLoci(url, **settings) as memory:
                calls = dict(every(memory))
                return dict(zip(calls, await asyncio.gather(*map(ended, calls.values()), return_exceptions=True), strict=True))

        return asyncio.run(run())

    def finished(work):
        try:
            found = work()
            return list(found) if inspect.isgenerator(found) else found
        except LociError as err:
            return err

    with Loci(url, **settings) as memory, ThreadPoolExecutor(100) as pool:
        calls = dict(every(memory))
        return dict(zip(calls, pool.map(finished, calls.values()), strict=True))


@pytest.fixture
def pauses(monkeypatch):
    """Time does not pass between attempts: what would have been waited is kept."""
    waited = []

    async def later(seconds):
        waited.append(seconds)

    monkeypatch.setattr("loci_memory.transport.time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))
    monkeypatch.setattr("loci_memory.transport.asyncio", SimpleNamespace(get_running_loop=asyncio.get_running_loop, sleep=later))
    return waited


PATIENT = 600.0  # seconds, in which every method has been answered on a busy machine, too


@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("how", ["waits", "asyncio"])
def test_every_method_meets_a_server_in_trouble(troubled, pauses, trouble, how):
    """It ends as an error; what is sent again is a read, or has the key of the first attempt."""
    troubled.begin(trouble)
    settings = {"timeout": 1.0, "retries": 0} if troubled.hangs else {"timeout": PATIENT, "retries": 1}
    again = 0
    for call, outcome in outcomes_of(how, troubled.url, **settings).items():
        assert isinstance(outcome, LociError) and outcome.code == TROUBLE[trouble][1], (call, outcome)
        asked = [one[1:] for one in troubled.asked if one[0] == call]
        if troubled.hangs:
            assert "did not answer within 1 seconds" in outcome.message and len(asked) <= 1, call
            continue
        takes_key, changes = described(*asked[0][:2])
        attempts = 1 if trouble == "fails" or (changes and not takes_key) else 2
        assert len(asked) == attempts and len(set(asked)) == 1 and (asked[0][2] is not None) == takes_key, (call, asked)
        again += attempts - 1
    if trouble in ("is asked too much", "is busy"):
        assert pauses == [7] * again


def test_asyncio_cancels_every_method(troubled):
    """The request ends with the task: the server sees that nobody waits for it."""
    troubled.begin("hangs")

    async def until(what):
        last = time.monotonic() + PATIENT / 2
        while not what():
            assert time.monotonic() < last, f"{len(troubled.asked)} were asked, {len(troubled.left)} were left"
            await asyncio.sleep(0.02)

    async def run():
        async with AsyncLoci(troubled.url, timeout=PATIENT, retries=0) as memory:

            async def ended(work):
                found = work()
                return [one async for one in found] if inspect.isasyncgen(found) else await found

            tasks = [asyncio.create_task(ended(work)) for _, work in every(memory)]
            await until(lambda: len(troubled.asked) == len(tasks))
            for task in tasks:
                task.cancel()
            assert all(isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True))
            await until(lambda: len(troubled.left) == len(tasks))

    asyncio.run(run())


def test_a_field_of_another_type_is_no_result(bad):
    bad.status, bad.body = 200, json.dumps({"matches": [{"type": "fact", "id": 5, "passage": "x", "score": 1, "explain": {}}], "keyword_only": False}).encode()
    with Loci(bad.url) as memory, pytest.raises(LociError, match=r"matches\[0\].id is an integer; it must be a text"):
        memory.search("x")
    bad.body = b'{"results":[{"op":"put"}]}'
    with Loci(bad.url) as memory, pytest.raises(LociError, match="not those of the operations"):
        memory.items.batch([{"op": "get", "namespace": ["n"], "key": "k"}])
    bad.body = b'{"results":[]}'
    with Loci(bad.url) as memory, pytest.raises(LociError, match="not those of the operations"):
        LociStore(client=memory).get(("n",), "k")


def test_what_is_there_is_no_answer_of_what_is_not(bad, url):
    bad.status, bad.body = 204, b""
    with Loci(bad.url, retries=0) as memory:
        for work in (lambda: memory.items.get(("n",), "k"), lambda: memory.search("x"), lambda: memory.checkpoints.get("t")):
            with pytest.raises(LociError, match="the reply is empty"):
                work()
    with Loci(url + "/elsewhere") as older, pytest.raises(LociError) as refused:  # the server has no such route
        older.items.get(("n",), "k")
    assert refused.value.code == "unsupported" and "older than this client" in refused.value.message


@pytest.mark.parametrize("path", ["/v1", "/mcp/"])
def test_an_address_with_the_path_of_the_api_says_so(url, path):
    with Loci(url + path) as memory, pytest.raises(LociError, match=r"url ends in /v1 or /mcp") as refused:
        memory.items.get(("n",), "k")
    assert refused.value.code == "invalid" and "without its last part" in (refused.value.recovery or "")


ENDLESS = [lambda m: m.notes.all(), lambda m: m.sessions.all(), lambda m: m.checkpoints.all(), lambda m: m.all_events(), lambda m: m.sessions.messages("s")]


@pytest.mark.parametrize("list_of", ENDLESS)
def test_a_list_that_goes_round_in_circles_ends(bad, list_of):
    page = {**{name: [] for name in LISTS.split()}, "session_id": "s", "next_cursor": "same", "next": 7}
    bad.status, bad.body = 200, json.dumps(page).encode()
    with Loci(bad.url) as memory, pytest.raises(LociError, match="does not end"):
        list(list_of(memory))


def test_a_reply_that_never_ends_is_late():
    with Server(200, b" ", pause=0.1, times=600) as slow:
        for run in (lambda: Loci(slow.url, timeout=0.5, retries=0).info(), lambda: asyncio.run(AsyncLoci(slow.url, timeout=0.5, retries=0).info())):
            begun = time.monotonic()
            with pytest.raises(LociError, match=r"did not answer within 0.5 seconds") as late:
                run()
            assert late.value.code == "unavailable" and time.monotonic() - begun < 30


def test_a_reply_that_breaks_off_is_none():
    with Server(200, b'{"name":"loci"', times=1) as half:
        half._http.RequestHandlerClass.end_headers = lambda self: (self.send_header("Content-Length", "999"), BaseHTTPRequestHandler.end_headers(self))[1]
        with pytest.raises(LociError):
            Loci(half.url, retries=0).info()


def test_asyncio_cancels_a_call():
    async def run():
        with Server(200, b" ", pause=0.1, times=600) as slow:
            task = asyncio.create_task(AsyncLoci(slow.url).info())
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(AsyncLoci(slow.url).info(), 0.3)
            kept = aremember(AsyncLoci(slow.url).notes.save("x"))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(kept, 0.3)

    asyncio.run(run())


# Only a LociError means that the memory is away.


def test_a_bad_reply_costs_no_turn_and_is_told(bad, caplog):
    bad.status, bad.body = 200, b"<html>"
    heard = []
    history = LociChatMessageHistory("s", bad.url, on_error=heard.append)
    assert history.messages == [] and asyncio.run(history.aget_messages()) == []
    history.add_user_message("x")
    assert not history.last.stored

    async def session():
        talk = LociSession("s", bad.url, on_error=heard.append)
        assert await talk.get_items() == []
        await talk.add_items([{"role": "user", "content": "x"}])
        return talk.last.stored

    assert asyncio.run(session()) is False
    gone = "Error: the memory cannot be reached now. Go on without it."
    for place in (None, ("m",)):
        assert create_manage_memory_tool(place, url=bad.url, on_error=heard.append).invoke({"content": "x"}) == gone
        assert create_search_memory_tool(place, url=bad.url, on_error=heard.append).invoke({"query": "x"}) == gone
    assert [error.code for error in heard] == ["unsupported"] * 9
    with caplog.at_level(logging.WARNING):
        assert not remember(lambda: Loci(bad.url).info()).stored
    assert "unsupported" in caplog.text


class Broken:
    """A client with a mistake in it."""

    def __getattr__(self, name):
        raise ZeroDivisionError


def test_a_mistake_of_the_program_is_no_memory_that_is_away(url):
    async def run():
        talk = LociSession("s", client=Broken())
        with pytest.raises(ZeroDivisionError):
            await talk.get_items()
        with pytest.raises(ZeroDivisionError):
            await talk.add_items([{"role": "user", "content": "x"}])
        with pytest.raises(ZeroDivisionError):
            await aremember(LociChatMessageHistory("s", client=Broken(), async_client=Broken()).aget_messages())
        with pytest.raises(AttributeError):
            await LociSession("s", url).add_items(["no item"])

    asyncio.run(run())
    history = LociChatMessageHistory("s", client=Broken(), async_client=Broken())
    for work in (lambda: history.messages, lambda: history.add_user_message("x"), lambda: remember(lambda: 1 // 0)):
        with pytest.raises(ZeroDivisionError):
            work()
    with pytest.raises(NotImplementedError):
        LociChatMessageHistory("s", url).add_messages([object()])


def test_messages_of_other_programs_that_no_framework_reads(memory, url, user):
    call = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}
    memory.sessions.append("s", [{"type": "ai", "data": {"content": "x", "tool_calls": [call]}}])
    heard = []
    assert LociChatMessageHistory("s", url, user=user, on_error=heard.append).messages[0].tool_calls == [call] and heard == []
    for stored in ({"type": "novel", "data": {}}, {"type": "ai", "data": {"content": 5}}, {"type": "tool", "data": {"content": "x"}}):
        with pytest.raises(LociError, match="none that LangChain can read") as refused:
            from_stored([stored])
        assert refused.value.code == "unsupported"


def test_settings_may_be_a_dictionary(url, user):
    async def run():
        talk = LociSession("s", url, user=user, session_settings={"limit": 1})
        await talk.add_items([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
        assert talk.last.stored
        first = await talk.get_items()
        talk.session_settings = {"limit": 2}
        second = await talk.get_items()
        talk.session_settings = None
        return [len(first), len(second), len(await talk.get_items())]

    assert asyncio.run(run()) == [1, 2, 2]


def traced(memory):
    """The traceback of a call, with all variables, as tools that report errors show them."""
    try:
        memory.info()
    except LociError as err:
        return "".join(traceback.TracebackException.from_exception(err, capture_locals=True).format())


def test_nothing_shows_a_secret(bad):
    secret = "sk-very-secret"
    parts = [
        made := Loci(bad.url, api_key=secret, user="someone", headers={"X-Key": secret}),
        made._transport, made._transport.options, made._transport.options.headers, made.sessions, made.with_options(thread="t"),
        AsyncLoci(bad.url, api_key=secret), LociStore(client=made), LociSaver(client=made), LociSession(client=AsyncLoci(bad.url, api_key=secret)),
        create_search_memory_tool(client=made),
    ]  # fmt: skip
    shown = "".join(f"{part!r} {part!s} " for part in parts)
    assert repr(made) == f"Loci('{bad.url}')"
    bad.status, bad.body = 200, b"[]"
    shown += traced(made) + traced(made.with_options(retries=0))
    assert secret not in shown and "someone" not in shown


def test_an_id_that_no_address_holds_is_refused(url):
    for id in ("x" * 70_000, "\ud800", 5):
        with Loci(url) as memory, pytest.raises(LociError) as refused:
            memory.notes.get(id)
        assert refused.value.code == "invalid"

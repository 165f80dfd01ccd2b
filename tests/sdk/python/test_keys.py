"""Clients of a server that asks for keys."""

import asyncio
import contextlib
import json
import time

import httpx
import pytest
from conftest import Server

from loci_memory import AsyncLoci, Loci, LociError


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("keyed"), scopes="admin", flags=("--auth", "keys", "--tools", "notes"))
    yield server
    server.stop()


def key_of(server, *flags):
    made = json.loads(server.run("--json", "key", "create", *flags))
    return made["token"], made["key"]["id"]


def refused(memory, code, *hidden):
    with pytest.raises(LociError) as caught:
        memory.notes.save("I like olives")
    assert caught.value.code == code
    assert not any(secret in f"{caught.value!r} {caught.value} {memory!r}" for secret in hidden)


def test_a_key_says_whose_memory_it_is(keyed, monkeypatch):
    alice, bob = key_of(keyed, "--user", "alice")[0], key_of(keyed, "--user", "bob")[0]
    with Loci(keyed.url, api_key=alice) as memory:
        memory.notes.save("I like olives")
        assert [found["passage"] for found in memory.search("olives")["matches"]] == ["I like olives"]
    with Loci(keyed.url, api_key=bob) as memory:
        assert memory.search("olives")["matches"] == []
    monkeypatch.setenv("LOCI_API_KEY", alice)
    with Loci(keyed.url) as memory:
        assert len(memory.search("olives")["matches"]) == 1
    with Loci(keyed.url, api_key=bob) as memory:  # what the program says counts more than its environment
        assert memory.search("olives")["matches"] == []


def test_a_key_of_an_asyncio_client(keyed):
    token, _ = key_of(keyed, "--user", "carol")

    async def search():
        async with AsyncLoci(keyed.url, api_key=token) as memory:
            await memory.notes.save("I like olives")
            return (await memory.with_options(thread="t").search("olives"))["matches"]

    assert len(asyncio.run(search())) == 1


def test_keys_that_are_no_good(keyed):
    token, id = key_of(keyed, "--user", "dora")
    with Loci(keyed.url) as memory:
        refused(memory, "unauthenticated")
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    with Loci(keyed.url, api_key=wrong) as memory:
        refused(memory, "unauthenticated", wrong)
    with Loci(keyed.url, api_key=token, user="alice") as memory:
        refused(memory, "forbidden", token)
    reading, _ = key_of(keyed, "--user", "dora", "--scope", "read")
    with Loci(keyed.url, api_key=reading) as memory:
        assert memory.search("olives")["matches"] == []
        refused(memory, "forbidden", reading)
    with Loci(keyed.url, api_key=token) as memory:
        memory.notes.save("I like tea")
        keyed.run("key", "revoke", id)
        deadline = time.monotonic() + 20  # it ends within 5 s
        while time.monotonic() < deadline:
            try:
                memory.search("tea")
            except LociError as err:
                assert err.code == "unauthenticated"
                break
            time.sleep(0.2)
        else:
            pytest.fail("a revoked key is still good")


def test_the_token_of_this_machine_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    server = Server(tmp_path, mode="token", flags=("--tools", "notes"))
    try:
        with Loci(server.url) as memory:
            memory.notes.save("I like olives")
        with Loci(server.url, api_key="loci_wrong") as memory:  # what the program says counts more
            refused(memory, "unauthenticated")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
        with Loci(server.url) as memory:
            refused(memory, "unauthenticated")
        monkeypatch.setenv("LOCI_AUTH_TOKEN_FILE", str(tmp_path / "data" / "loci" / "token"))
        with Loci(server.url) as memory:
            assert len(memory.search("olives")["matches"]) == 1
    finally:
        server.stop()


@pytest.mark.parametrize("url", ["http://memory.example.com", "http://127.0.0.1.example.com", "http://10.0.0.1:7437"])
def test_the_token_of_this_machine_stays_here(tmp_path, monkeypatch, url):
    (tmp_path / "token").write_text("loci_local_secret")
    monkeypatch.setenv("LOCI_AUTH_TOKEN_FILE", str(tmp_path / "token"))
    sent = []

    def answer(request):
        sent.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"matches": []})

    for where in (url, "http://localhost:7437"):
        client = Loci(where, transport=httpx.MockTransport(answer), retries=0)
        with client as memory, contextlib.suppress(LociError):  # what is answered is no reply; what was sent counts
            memory.search("olives")
    assert sent == [None, "Bearer loci_local_secret"]

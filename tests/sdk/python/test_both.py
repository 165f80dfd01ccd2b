"""Adapters that wait and adapters that do not are about one memory, whichever client they are given."""

import asyncio

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from loci_memory import AsyncLoci, Loci, LociError
from loci_memory.langchain import LociByteStore, LociChatMessageHistory, LociRetriever, create_manage_memory_tool
from loci_memory.langgraph import LociSaver, LociStore
from loci_memory.openai_agents import LociSession


@pytest.fixture(params=["client", "async_client"])
def given(request, url, user):
    """One client, as an adapter takes it."""
    return {request.param: (Loci if request.param == "client" else AsyncLoci)(url, user=user)}


def test_a_store_is_one(given):
    store = LociStore(**given)
    asyncio.run(store.aput(("a",), "k", {"x": 1}))
    assert store.get(("a",), "k").value == {"x": 1}
    asyncio.run(store.aclose())


def test_a_saver_is_one(given):
    saver, thread = LociSaver(**given), {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    asyncio.run(saver.aput(thread, empty_checkpoint(), {}, {}))
    assert saver.get_tuple(thread) is not None


def test_a_history_is_one(given):
    history = LociChatMessageHistory("trip", strict=True, **given)
    asyncio.run(history.aadd_messages([HumanMessage("My name is Ada.")]))
    assert [message.text for message in history.messages] == ["My name is Ada."]


def test_a_byte_store_and_a_retriever_are_one(given, memory):
    cache = LociByteStore(("cache",), **given)
    asyncio.run(cache.amset([("key", b"value")]))
    assert cache.mget(["key"]) == [b"value"]
    memory.notes.save("Ada drinks green tea in the morning")
    found = LociRetriever(k=1, **given)
    assert [document.page_content for document in asyncio.run(found.ainvoke("tea"))] == [document.page_content for document in found.invoke("tea")] != []


def test_a_tool_is_one(given, memory):
    tool = create_manage_memory_tool(("facts",), **given)
    asyncio.run(tool.ainvoke({"content": "Ada drinks green tea"}))
    tool.invoke({"content": "Ada prefers night trains"})
    assert len(memory.items.search(("facts",))) == 2


def test_what_belongs_to_another_client_is_refused(url):
    """It would be ignored, and the memory be another one."""
    for make in (
        lambda: LociStore(url, client=Loci(url)),
        lambda: LociSaver(client=Loci(url), user="ada"),
        lambda: LociRetriever(async_client=AsyncLoci(url), settings={"user": "ada"}),
    ):
        with pytest.raises(LociError, match="client was given, and"):
            make()
    with pytest.raises(LociError, match="url must be a text"):
        LociSaver(Loci(url))


def test_a_client_of_the_wrong_kind_is_refused(url):
    """Where it is given, and not by the first call that waits for it, or does not."""
    waits, awaits = Loci(url), AsyncLoci(url)
    for make in (
        lambda: LociStore(client=awaits),
        lambda: LociSaver(async_client=waits),
        lambda: LociSaver(client={"client": waits}),
        lambda: LociChatMessageHistory("trip", client=awaits),
        lambda: LociSession("trip", client=waits),
        lambda: LociSession("trip", client=url),
    ):
        with pytest.raises(LociError, match=r"client must be an? (Async)?Loci, not"):
            make()


def test_settings_beside_the_one_client_of_an_adapter_are_refused(url):
    """They would be ignored: the memory would be that of the client's user, and not of the one who is named."""
    for make in (lambda: LociSession("trip", client=AsyncLoci(url), user="ada"), lambda: LociSession("trip", url, client=AsyncLoci(url))):
        with pytest.raises(LociError, match=r"a client was given, and (user|url), which would be ignored"):
            make()


def test_a_transport_of_ones_own_is_not_gone_around(url):
    """It may be what keeps requests apart."""
    store = LociStore(client=Loci(url, transport=httpx.HTTPTransport()))
    with pytest.raises(LociError, match="give async_client, too"):
        asyncio.run(store.aput(("a",), "k", {"x": 1}))
    store = LociStore(async_client=AsyncLoci(url, transport=httpx.AsyncHTTPTransport()))
    with pytest.raises(LociError, match="give client, too"):
        store.put(("a",), "k", {"x": 1})

"""A chat store and a retriever for LlamaIndex, with its own memories and models for tests."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ImageBlock, MockLLM, TextBlock
from llama_index.core.memory import ChatMemoryBuffer

from loci_memory import AsyncLoci, LociError
from loci_memory.llama_index import LociChatStore, LociRetriever


def said(*texts):
    return [ChatMessage(role="user" if n % 2 == 0 else "assistant", content=text) for n, text in enumerate(texts)]


def test_a_chat_engine_goes_on_where_it_ended(url, user):
    def engine():
        memory = ChatMemoryBuffer.from_defaults(chat_store=LociChatStore(url, user=user), chat_store_key="ada", token_limit=3000)
        return SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)

    engine().chat("I like trains")
    later = engine()
    later.chat("And ferries")
    assert [message.content for message in later.chat_history if message.role == "user"] == ["I like trains", "And ferries"]
    assert len(LociChatStore(url, user=user).get_messages("ada")) == 4


def test_messages_are_kept_exactly_and_taken_away(url, user):
    store = LociChatStore(url, user=user)
    assert store.get_messages("k") == [] and store.delete_last_message("k") is None and store.delete_messages("k") is None and store.get_keys() == []
    blocks = ChatMessage(role="user", blocks=[TextBlock(text="look"), ImageBlock(image=b"aGk=", image_mimetype="image/png")], additional_kwargs={"n": 1})
    call = ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [{"id": "c", "type": "function"}]})
    result = ChatMessage(role="tool", content="5", additional_kwargs={"tool_call_id": "c"})
    messages = [ChatMessage(role="system", content="Be brief."), blocks, call, result, *said("a", "b")]
    store.set_messages("k", messages)
    assert store.get_messages("k") == messages and store.get_keys() == ["k"]
    store.add_message("k", ChatMessage(role="user", content="c"))
    assert store.delete_last_message("k").content == "c" and store.delete_message("k", 1) == blocks and store.delete_message("k", 9) is None
    assert store.get_messages("k") == [messages[0], *messages[2:]] and store.delete_message("k", -1) == messages[-1]
    store.set_messages("k", said("only"))
    assert store.get_messages("k") == said("only")
    assert store.delete_messages("k") == said("only") and store.get_messages("k") == []
    assert asyncio.run(store.aget_messages("k")) == []
    store.set_messages("k", [])


def test_ten_who_take_the_last_message_get_ten(url, user):
    store = LociChatStore(url, user=user)
    texts = [str(n) for n in range(10)]
    store.set_messages("k", said(*texts))
    with ThreadPoolExecutor(10) as pool:
        taken = list(pool.map(lambda _: store.delete_last_message("k").content, texts))
    assert sorted(taken) == texts and store.delete_last_message("k") is None


def test_what_other_programs_wrote_is_read(memory, url, user):
    memory.sessions.append("k", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert LociChatStore(url, user=user).get_messages("k") == said("a", "b")


def test_a_retriever(memory, url, user):
    memory.notes.save("Ada drinks green tea")
    memory.notes.save("The cat is called Tom")
    retriever = LociRetriever(url, user=user, similarity_top_k=1)
    [found] = retriever.retrieve("what does Ada drink?")
    assert found.node.get_content() == "Ada drinks green tea" and 0 < found.score <= 1
    assert [n.node.get_content() for n in asyncio.run(retriever.aretrieve("cat"))] == ["The cat is called Tom"]


def test_a_failing_memory_is_raised_not_empty(down):
    store = LociChatStore(client=down)
    for work in (lambda: store.get_messages("k"), lambda: store.add_message("k", said("a")[0]), store.get_keys, lambda: store.delete_messages("k")):
        with pytest.raises(LociError):
            work()
    with pytest.raises(LociError):
        LociRetriever(client=down, async_client=AsyncLoci("http://127.0.0.1:9", retries=0)).retrieve("x")

"""Conversations and tools for Pydantic AI, with its own models for tests."""

import asyncio
import logging

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from loci_memory import AsyncLoci, LociError
from loci_memory.pydantic_ai import LociHistory, memory_toolset


def echo(messages, info):
    return ModelResponse(parts=[TextPart(f"I saw {len(messages)} messages")])


def adds(messages, info):
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"It is {last.content}")])
    return ModelResponse(parts=[ToolCallPart("add", {"a": 2, "b": 3})])


def test_a_run_goes_on_where_the_last_one_ended(url, user):
    async def run():
        agent = Agent(FunctionModel(adds))

        @agent.tool_plain
        def add(a: int, b: int) -> int:
            return a + b

        first = await agent.run("2 + 3?", message_history=await LociHistory("s", url, user=user).load())
        saved = await LociHistory("s", url, user=user).save(first.new_messages())
        history = LociHistory("s", url, user=user)
        before = await history.load()
        second = await Agent(FunctionModel(echo)).run("And?", message_history=before)
        await history.save(second.new_messages())
        shown = [(m["type"], m["data"]["content"]) async for m in AsyncLoci(url, user=user).sessions.messages("s")]
        newest = await LociHistory("s", url, user=user, limit=1).load()
        await history.clear()
        await history.clear()
        return first, saved, before, second, shown, newest, await history.load(), await history.save([])

    first, saved, before, second, shown, newest, cleared, nothing = asyncio.run(run())
    assert saved.stored and before == first.new_messages() and second.output == "I saw 5 messages"
    assert shown == [("human", "2 + 3?"), ("ai", ""), ("tool", "5"), ("ai", "It is 5"), ("human", "And?"), ("ai", "I saw 5 messages")]
    assert newest == second.new_messages()[-1:] and cleared == [] and nothing is None


def test_what_other_programs_wrote_is_read(memory, url, user):
    memory.sessions.append("s", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    found = asyncio.run(LociHistory("s", url, user=user).load())
    assert isinstance(found[0], ModelRequest) and isinstance(found[0].parts[0], UserPromptPart) and found[1].parts[0].content == "b"
    memory.sessions.append("bad", [{"type": "human", "data": {"content": "x", "additional_kwargs": {"pydantic_ai_message": {"kind": "?"}}}}])
    with pytest.raises(LociError, match="none that Pydantic AI can read"):
        asyncio.run(LociHistory("bad", url, user=user, strict=True).load())


def test_the_servers_tools(url, user):
    async def run():
        client = AsyncLoci(url, user=user)
        tools = await memory_toolset(client, families=["notes"])

        def saves(messages, info):
            last = messages[-1].parts[-1]
            if isinstance(last, ToolReturnPart):
                return ModelResponse(parts=[TextPart(str(last.content))])
            assert "memory_save" in [tool.name for tool in info.function_tools] and "manage_memory" not in [tool.name for tool in info.function_tools]
            return ModelResponse(parts=[ToolCallPart("memory_save", {"content": "The cat is called Tom"})])

        result = await Agent(FunctionModel(saves), toolsets=[tools]).run("Remember")
        return result.output, [note["content"] async for note in client.notes.all()]

    reply, notes = asyncio.run(run())
    assert "Note saved successfully." in reply and notes == ["The cat is called Tom"]


def test_an_agent_goes_on_when_the_memory_fails(caplog):
    async def run():
        history = LociHistory(url="http://127.0.0.1:9", retries=0)
        result = await Agent(FunctionModel(echo)).run("Hello", message_history=await history.load())
        outcome = await history.save(result.new_messages())
        strict = LociHistory(url="http://127.0.0.1:9", retries=0, strict=True)
        for work in (strict.load(), strict.save(result.new_messages()), history.clear()):
            with pytest.raises(LociError):
                await work
        return result.output, outcome.stored

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(run()) == ("I saw 1 messages", False)
    assert "unavailable" in caplog.text and "Hello" not in caplog.text

"""Sessions of the OpenAI Agents SDK: only the model is scripted."""

import asyncio
import json

import pytest
from agents import Agent, ModelResponse, Runner, SessionSettings, Usage, function_tool, set_tracing_disabled
from agents.memory import Session
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from loci_memory import AsyncLoci, LociError
from loci_memory.openai_agents import LociSession

set_tracing_disabled(True)


class ScriptedModel(Model):
    def __init__(self, reply):
        self.reply = reply
        self.shown = []

    async def get_response(self, system_instructions, input, *_, **__):
        self.shown.append(input)
        said = self.reply(input)
        if isinstance(said, str):
            text = ResponseOutputText(text=said, type="output_text", annotations=[])
            output = ResponseOutputMessage(id=f"m{len(self.shown)}", content=[text], role="assistant", status="completed", type="message")
        else:
            output = ResponseFunctionToolCall(arguments=json.dumps(said), call_id=f"c{len(self.shown)}", name="add", type="function_call")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


@function_tool
def add(a: int, b: int) -> str:
    """Adds."""
    return str(a + b)


def reply(items):
    last = items[-1]
    if last.get("type") == "function_call_output":
        return f"It is {last['output']}"
    return {"a": 2, "b": 3} if "2 + 3" in last["content"] else f"I saw {len(items)} items"


def test_a_run_goes_on_where_the_last_one_ended(url, user):
    async def run():
        model = ScriptedModel(reply)
        agent = Agent(name="a", model=model, tools=[add])
        first = await Runner.run(agent, "2 + 3?", session=LociSession("s", url, user=user))
        session = LociSession("s", url, user=user)
        second = await Runner.run(agent, "And?", session=session)
        assert isinstance(session, Session) and session.last.stored
        memory = AsyncLoci(url, user=user)
        messages = [(m["type"], m["data"]["content"], m["data"].get("tool_calls")) async for m in memory.sessions.messages("s")]
        return first.final_output, second.final_output, model.shown[-1], await session.get_items(), messages

    first, second, shown, items, messages = asyncio.run(run())
    assert (first, second) == ("It is 5", "I saw 5 items")
    assert items[:5] == shown and [item.get("type", item.get("role")) for item in items][:4] == ["user", "function_call", "function_call_output", "message"]
    call = {"name": "add", "args": {"a": 2, "b": 3}, "id": "c1", "type": "tool_call"}
    assert [m[:2] for m in messages] == [("human", "2 + 3?"), ("ai", ""), ("tool", "5"), ("ai", "It is 5"), ("human", "And?"), ("ai", "I saw 5 items")]
    assert messages[1][2] == [call]


def test_items_are_limited_popped_and_cleared(url, user):
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:,", "detail": "low"}]},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "no JSON"},
        {"role": "developer", "content": "be brief"},
    ]

    async def run():
        session = LociSession("s", url, user=user)
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.add_items(items)
        await session.add_items([])
        assert await session.get_items() == items
        assert await session.get_items(2) == items[-2:] and await session.get_items(0) == []
        assert await LociSession("s", url, user=user, session_settings=SessionSettings(limit=3)).get_items() == items[-3:]
        assert await session.pop_item() == items[-1]
        assert await session.pop_item() == items[-2]
        assert await session.get_items() == items[:3]
        await session.clear_session()
        await session.clear_session()
        return await session.get_items()

    assert asyncio.run(run()) == []


def test_what_other_programs_wrote_is_read(url, user):
    async def run():
        memory = AsyncLoci(url, user=user)
        call = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
        await memory.sessions.append(
            "s",
            [
                {"type": "system", "data": {"content": "s"}},
                {"type": "human", "data": {"content": [{"type": "text", "text": "u"}]}},
                {"type": "ai", "data": {"content": "a", "tool_calls": [call]}},
                {"type": "tool", "data": {"content": "r", "tool_call_id": "c"}},
                {"type": "generic", "data": {"content": "x", "role": "critic"}},
            ],
        )
        await memory.sessions.append("several", [{"type": "ai", "data": {"content": "a", "tool_calls": [call]}}])
        assert [item["type"] for item in await LociSession("several", client=memory).get_items(1)] == ["function_call"]
        session = LociSession("s", client=memory)
        found, last = await session.get_items(), await session.get_items(1)
        return found, last, [await session.pop_item() for _ in range(2)]

    found, last, popped = asyncio.run(run())
    assert found == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
    ]
    assert last == [] and popped == [found[4], found[3]]


def test_a_run_goes_on_when_the_memory_fails(caplog):
    async def run():
        session = LociSession(url="http://127.0.0.1:9", retries=0)
        result = await Runner.run(Agent(name="a", model=ScriptedModel(reply)), "Hello", session=session)
        assert session.session_id and not session.last.stored and session.last.error.code == "unavailable"
        strict = LociSession(url="http://127.0.0.1:9", retries=0, strict=True)
        with pytest.raises(LociError):
            await strict.get_items()
        with pytest.raises(LociError):
            await strict.add_items([{"role": "user", "content": "x"}])
        with pytest.raises(LociError):
            await session.pop_item()
        return result.final_output

    assert asyncio.run(run()) == "I saw 1 items"
    assert "the memory failed: unavailable" in caplog.text and "Hello" not in caplog.text

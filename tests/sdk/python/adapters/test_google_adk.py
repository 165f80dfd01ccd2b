"""The memory service of Google's ADK: only the model is scripted."""

import asyncio
import uuid

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory
from google.genai.types import Content, FunctionCall, Part

from loci_memory import LociError
from loci_memory.google_adk import LociMemoryService


def said(role, text):
    return Content(role=role, parts=[Part(text=text)])


class ScriptedModel(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            found = last.function_response.response
            yield LlmResponse(content=said("model", f"I found {found}"))
        elif "?" in (last.text or ""):
            call = FunctionCall(name="load_memory", args={"query": last.text})
            yield LlmResponse(content=Content(role="model", parts=[Part(function_call=call)]))
        else:
            yield LlmResponse(content=said("model", "Noted."))


async def turn(runner, user, session, text):
    events = [event async for event in runner.run_async(user_id=user, session_id=session.id, new_message=said("user", text))]
    return "".join(part.text or "" for part in events[-1].content.parts)


def test_an_agent_remembers_from_session_to_session(url):
    async def run():
        memory = LociMemoryService(url)
        assert isinstance(memory, BaseMemoryService)
        agent = LlmAgent(name="guide", model=ScriptedModel(model="scripted"), tools=[load_memory])
        sessions = InMemorySessionService()
        runner = Runner(app_name="trips.app", agent=agent, session_service=sessions, memory_service=memory)
        ada, bob = uuid.uuid4().hex, uuid.uuid4().hex
        first = await sessions.create_session(app_name="trips.app", user_id=ada)
        assert await turn(runner, ada, first, "I like night trains to Lisbon") == "Noted."
        first = await sessions.get_session(app_name="trips.app", user_id=ada, session_id=first.id)
        await memory.add_session_to_memory(first)
        await memory.add_session_to_memory(first)  # again, as ADK may
        answers = []
        for user in (ada, bob):
            later = await sessions.create_session(app_name="trips.app", user_id=user)
            answers.append(await turn(runner, user, later, "Which trains do I like?"))
        found = (await memory.search_memory(app_name="trips.app", user_id=ada, query="trains")).memories
        elsewhere = [await memory.search_memory(app_name=app, user_id=ada, query="trains") for app in ("trips%2Eapp", "other")]
        for entry in found:
            await memory.delete_memory(app_name="trips.app", user_id=ada, memory_id=entry.id)
        await memory.add_session_to_memory(first)  # what was deleted does not come back
        left = (await memory.search_memory(app_name="trips.app", user_id=ada, query="trains")).memories
        await memory.delete_memory(app_name="trips.app", user_id=ada)
        await memory.close()
        return answers, found, elsewhere, left

    answers, found, elsewhere, left = asyncio.run(run())
    assert "night trains to Lisbon" in answers[0] and "Lisbon" not in answers[1]
    assert [entry.content.parts[0].text for entry in found if entry.author == "user"] == ["I like night trains to Lisbon"]
    assert all(entry.id and entry.timestamp for entry in found) and len({entry.id for entry in found}) == len(found)
    assert all(not one.memories for one in elsewhere) and left == []


def test_memories_are_added_and_deleted_one_by_one(url):
    async def run():
        memory = LociMemoryService(url)
        of = {"app_name": "app", "user_id": uuid.uuid4().hex}
        entry = MemoryEntry(content=said("user", "likes tea"), author="ada", custom_metadata={"n": 1})
        await memory.add_memory(**of, memories=[entry], custom_metadata={"m": 2})
        await memory.add_events_to_memory(**of, events=[Event(author="user", content=said("user", "likes trains")), Event(author="agent")], session_id="s")
        both = {entry.content.parts[0].text: entry for entry in (await memory.search_memory(**of, query="what is liked?")).memories}
        await memory.delete_memory(**of, memory_id=both["likes tea"].id)
        await memory.delete_memory(**of, memory_id="none")
        left = [entry.content.parts[0].text for entry in (await memory.search_memory(**of, query="likes")).memories]
        return both, left

    both, left = asyncio.run(run())
    assert set(both) == {"likes tea", "likes trains"} and both["likes tea"].author == "ada" and both["likes tea"].custom_metadata == {"n": 1, "m": 2}
    assert left == ["likes trains"]


def test_a_failing_memory_and_a_bad_user_are_raised(url):
    async def run():
        for memory, user in ((LociMemoryService("http://127.0.0.1:9", retries=0), "u"), (LociMemoryService(url), "")):
            with pytest.raises(LociError):
                await memory.search_memory(app_name="app", user_id=user, query="x")
            with pytest.raises(LociError):
                await memory.add_memory(app_name="app", user_id=user, memories=[MemoryEntry(content=said("user", "x"))])
            with pytest.raises(LociError):
                await memory.delete_memory(app_name="app", user_id=user, memory_id="x")

    asyncio.run(run())

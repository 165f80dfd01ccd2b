"""LangChain's histories and tools, beside those of LangMem."""

import asyncio
import json
import math
import uuid
from dataclasses import dataclass

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool as langmem_manage
from langmem import create_search_memory_tool as langmem_search
from model import ScriptedModel
from pydantic import BaseModel

from loci_memory import Loci, LociError
from loci_memory.langchain import LociChatMessageHistory, create_manage_memory_tool, create_search_memory_tool
from loci_memory.langgraph import LociStore

CALL = AIMessage("", id="a", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}])
TURN = [SystemMessage("Be brief."), HumanMessage("hello"), CALL, ToolMessage("r", tool_call_id="c", artifact={"n": [1]}), AIMessage("done")]


def test_a_history_keeps_messages_and_forgets_them(url, user):
    history = LociChatMessageHistory("s", url, user=user)
    assert isinstance(history, BaseChatMessageHistory) and history.messages == []
    history.add_messages(TURN)
    assert history.last.stored and history.last.value["last_seq"] == 5
    assert history.messages == TURN
    history.add_user_message("and?")
    history.add_ai_message("that is all")
    assert [m.content for m in LociChatMessageHistory("s", url, user=user, limit=2).messages] == ["and?", "that is all"]
    history.add_message(RemoveMessage("a"))
    assert [m.type for m in history.messages] == ["system", "human", "tool", "ai", "human", "ai"]
    history.add_messages([RemoveMessage("__remove_all__"), HumanMessage("new")])
    assert history.messages == [HumanMessage("new")]
    history.clear()
    history.clear()
    assert history.messages == []
    assert LociChatMessageHistory(url=url, user=user).session_id != LociChatMessageHistory(url=url, user=user).session_id


def test_a_history_of_asyncio(url, user):
    async def run():
        history = LociChatMessageHistory("s", url, user=user)
        await history.aadd_messages(TURN)
        found = await history.aget_messages()
        await history.aclear()
        return found, await history.aget_messages()

    assert asyncio.run(run()) == (TURN, [])


def test_a_runnable_with_its_history(url, user):
    model = ScriptedModel(reply=lambda messages: f"I saw {len(messages)}")
    chain = ChatPromptTemplate([("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")]) | model
    talk = RunnableWithMessageHistory(
        chain, lambda session_id: LociChatMessageHistory(session_id, url, user=user), input_messages_key="input", history_messages_key="history"
    )
    config = {"configurable": {"session_id": "s"}}
    assert [talk.invoke({"input": text}, config).text for text in ("a", "b")] == ["I saw 2", "I saw 4"]
    assert [talk.invoke({"input": "c"}, {"configurable": {"session_id": "new"}}).text] == ["I saw 2"]


def test_a_query_goes_on_when_the_memory_fails(down):
    heard = []
    history = LociChatMessageHistory("s", client=down, on_error=lambda error: heard.append(error.code))
    assert history.messages == []
    history.add_user_message("hello")
    assert not history.last.stored and history.last.error.code == "unavailable" and heard == ["unavailable", "unavailable"]
    strict = LociChatMessageHistory("s", client=down, strict=True)
    for work in (lambda: strict.messages, lambda: strict.add_user_message("x"), strict.clear, history.clear):
        with pytest.raises(LociError):
            work()


def test_artifacts_that_json_cannot_say_cost_no_turn(url, user):
    @dataclass
    class Table:
        rows: list

    class Odd:
        pass

    history = LociChatMessageHistory("s", url, user=user)
    artifact = {"table": Table([1]), "bytes": b"\xff", "nan": math.nan, "odd": Odd(), "set": {1}}
    history.add_messages([ToolMessage("r", tool_call_id="c", artifact=artifact)])
    assert history.last.stored
    back = history.messages[0].artifact
    assert back["table"] == {"rows": [1]} and back["bytes"] == "_w==" and back["set"] == [1] and "NaN" in str(back["nan"]) and "Odd" in back["odd"]


@pytest.fixture(params=["facts of the server", "a namespace"])
def tools(request, url, user):
    place = None if request.param == "facts of the server" else ("memories", "{user_id}")
    manage = create_manage_memory_tool(place, url=url, user=user)
    return manage, create_search_memory_tool(place, url=url, user=user, response_format="content_and_artifact")


CONFIG = {"configurable": {"user_id": "u"}}


@pytest.fixture(autouse=True)
def calls_are_about(user, monkeypatch):
    monkeypatch.setitem(CONFIG["configurable"], "user_id", user)


def call(tool, **args):
    return tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": args}, CONFIG)


def test_tools_reply_as_langmems_do(tools):
    manage, search = tools
    theirs = InMemoryStore()
    their_manage, their_search = langmem_manage(("m",), store=theirs), langmem_search(("m",), store=theirs, response_format="content_and_artifact")
    replies = []
    for one, other in ((manage, search), (their_manage, their_search)):
        created = call(one, content="likes tea").content
        id = created.removeprefix("created memory ")
        updated = call(one, content="likes green tea", action="update", id=id).content
        found = call(other, query="tea", limit=5)
        items = json.loads(found.content)
        deleted = call(one, action="delete", id=id).content
        replies.append([text.replace(id, "ID") for text in (created, updated, deleted)] + [sorted(items[0]), items[0]["value"], len(found.artifact)])
        assert uuid.UUID(id) and json.loads(call(other, query="tea").content) == []
    assert replies[0] == replies[1]
    for ours, his in ((manage, their_manage), (search, their_search)):
        assert ours.name == his.name and set(his.args) <= set(ours.args)
        defaults = {name: argument.get("default") for name, argument in his.args.items()}
        assert {name: ours.args[name].get("default") for name in his.args} == defaults
    shown = convert_to_openai_tool(manage)["function"]["parameters"]["properties"]
    assert shown["action"]["enum"] == ["create", "update", "delete"] and set(shown) == {"content", "action", "id", "metadata"}


def test_metadata_filters(tools):
    manage, search = tools
    call(manage, content="likes tea", metadata={"category": "drink"})
    call(manage, content={"name": "Turing", "species": "cat"}, metadata={"category": "pet"})
    found = call(search, query="what does she like?", filter={"category": "drink"}).artifact
    assert [item["value"] for item in found] == [{"content": "likes tea", "category": "drink"}]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"content": "x", "id": str(uuid.uuid4())}, "You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument."),
        ({"action": "update", "content": "x"}, "You must provide a MEMORY ID when deleting or updating a MEMORY."),
        ({"action": "delete"}, "You must provide a MEMORY ID when deleting or updating a MEMORY."),
        ({"action": "forget"}, "Invalid action forget. Must be one of ('create', 'update', 'delete')."),
        ({"action": "delete", "id": str(uuid.uuid4())}, "no "),
        ({"action": "update", "id": str(uuid.uuid4()), "content": "x"}, "no "),
        ({"content": ""}, "content"),
        ({"id": "no uuid"}, "id: "),
        ({"unknown": 1}, "unknown: "),
    ],
)
def test_a_model_is_told_what_it_did_wrong(tools, args, text):
    reply = call(tools[0], **args)
    assert reply.status == "error" and reply.content.startswith("Error: ") and text in reply.content
    assert json.loads(call(tools[1], query="x").content) == []  # and nothing was done


def test_settings_of_tools(url, user):
    class Profile(BaseModel):
        name: str
        age: int | None = None

    words = {"name": "profile", "instructions": "Now.", "actions_permitted": ("update", "create")}
    manage = create_manage_memory_tool("profiles", schema=Profile, url=url, user=user, **words)
    assert manage.name == "profile" and manage.description.endswith("Now.") and manage.description.startswith("Update or create a memory")
    call(manage, content={"name": "Ada", "age": 36})
    assert [item.value for item in LociStore(url, user=user).search(("profiles",))] == [{"content": {"name": "Ada", "age": 36}}]
    assert call(manage, content={"age": 36}).status == "error"
    with pytest.raises(ValueError, match="actions_permitted cannot be empty"):
        create_manage_memory_tool(actions_permitted=())
    with pytest.raises(LociError, match="Missing key in 'configurable' field: org"):
        call(create_search_memory_tool(("{org}",), url=url, user=user), query="x")


def test_tools_of_asyncio(url, user):
    async def run():
        manage = create_manage_memory_tool(("m",), url=url, user=user)
        search = create_search_memory_tool(("m",), url=url, user=user)
        await manage.ainvoke({"content": "likes tea"})
        return json.loads(await search.ainvoke({"query": "tea"}))

    assert asyncio.run(run())[0]["value"] == {"content": "likes tea"}


def test_a_model_goes_on_when_the_memory_fails(down):
    heard = []
    search = create_search_memory_tool(client=down, on_error=lambda error: heard.append(error.code))
    assert call(search, query="x").content == "Error: the memory cannot be reached now. Go on without it." and heard == ["unavailable"]


def test_langmem_itself_works_on_the_store(url, user):
    with Loci(url, user=user) as memory:
        store = LociStore(client=memory)
        reply = langmem_manage(("memories", "{user_id}"), store=store).invoke({"content": "likes tea"}, CONFIG)
        assert reply.startswith("created memory ")
        assert "likes tea" in langmem_search(("memories", "{user_id}"), store=store).invoke({"query": "drinks"}, CONFIG)

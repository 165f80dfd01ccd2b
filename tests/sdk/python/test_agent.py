"""Real LangGraph agents on LociSaver and LociStore: only their model is scripted."""

import re
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from model import ScriptedModel

from loci_memory.langchain import create_manage_memory_tool, create_search_memory_tool
from loci_memory.langgraph import LociSaver, LociStore


@tool
def add(a: int, b: int) -> str:
    """Adds."""
    return str(a + b)


def texts(state):
    return [f"{m.type}:{m.text}" for m in state["messages"]]


def said(text):
    return {"messages": [{"role": "user", "content": text}]}


def thread(id, **rest):
    return {"configurable": {"thread_id": id, **rest}}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_conversation_goes_on_after_the_server_ended(server, user, end):
    def reply(messages):
        last = messages[-1]
        if last.type == "tool":
            return f"It is {last.text}"
        return [("add", {"a": 2, "b": 3})] if re.search(r"\d", last.text) else f"You asked {len(messages) - 1} messages ago"

    saver = LociSaver(server.url, user=user)
    agent = create_agent(ScriptedModel(reply=reply), [add], checkpointer=saver)
    assert texts(agent.invoke(said("2 + 3?"), thread("t"))) == ["human:2 + 3?", "ai:", "tool:5", "ai:It is 5"]
    getattr(server, end)()
    server.start()
    other = create_agent(ScriptedModel(reply=reply), [add], checkpointer=LociSaver(server.url, user=user))
    for again in (agent, other):  # the old connections, and new ones
        assert texts(again.get_state(thread("t")).values)[-1] == "ai:It is 5"
    after = other.invoke(said("What did I ask?"), thread("t"))
    assert texts(after)[-2:] == ["human:What did I ask?", "ai:You asked 4 messages ago"]
    assert after["messages"][1].tool_calls == [{"name": "add", "args": {"a": 2, "b": 3}, "id": "call-1", "type": "tool_call"}]
    assert after["messages"][3].usage_metadata["total_tokens"] == 4


def test_the_state_at_a_limit_of_tool_calls_is_kept(url, user):
    model = ScriptedModel(reply=lambda _: [("add", {"a": 1, "b": 1})])
    agent = create_agent(model, [add], checkpointer=LociSaver(url, user=user))
    with pytest.raises(GraphRecursionError):
        agent.invoke(said("Go on for ever"), {**thread("t"), "recursion_limit": 5})
    state = agent.get_state(thread("t"))
    assert state.next == ("tools",)  # the last call was not made yet
    assert texts(state.values)[0] == "human:Go on for ever" and state.values["messages"][-1].tool_calls
    model.reply = lambda _: "Enough."
    assert texts(agent.invoke(None, thread("t")))[-2:] == ["tool:2", "ai:Enough."]


def test_interrupts_are_answered_in_another_process(server, user):
    @tool
    def pay(sum: int) -> str:
        """Pays."""
        return interrupt({"question": f"Pay {sum}?"})

    def agent():
        def reply(messages):
            return f"They said {messages[-1].text}" if messages[-1].type == "tool" else [("pay", {"sum": 7})]

        return create_agent(ScriptedModel(reply=reply), [pay], checkpointer=LociSaver(server.url, user=user))

    assert agent().invoke(said("Pay the bill"), thread("t"))["__interrupt__"][0].value == {"question": "Pay 7?"}
    server.stop()
    server.start()
    assert agent().get_state(thread("t")).tasks[0].interrupts[0].value == {"question": "Pay 7?"}
    assert texts(agent().invoke(Command(resume="yes"), thread("t")))[-2:] == ["tool:yes", "ai:They said yes"]


def test_the_past_is_listed_and_branches(url, user):
    class State(TypedDict):
        messages: Annotated[list, add_messages]
        big: dict

    graph = StateGraph(State)
    for name in ("one", "two"):
        graph.add_node(name, lambda _, name=name: {"messages": [("ai", name)]})
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph = graph.compile(checkpointer=LociSaver(url, user=user))
    big = {"bytes": b"\x00\xff", "set": {1, 2}}
    graph.invoke({**said("go"), "big": big}, thread("t"))
    past = list(graph.get_state_history(thread("t")))
    assert [state.next for state in past] == [(), ("two",), ("one",), ("__start__",)]
    assert past[1].values["big"] == big and texts(past[1].values) == ["human:go", "ai:one"]
    fork = graph.update_state(past[1].config, {"messages": [("human", "changed")]})
    assert texts(graph.invoke(None, fork)) == ["human:go", "ai:one", "human:changed", "ai:two"]
    assert texts(graph.get_state(past[0].config).values) == ["human:go", "ai:one", "ai:two"]  # the first history is as it was


def test_tools_and_the_store_remember_across_threads(url, user):
    def reply(messages):
        last = messages[-1]
        if last.type == "tool":
            return f"Reply: {last.text}"
        if last.text == "peek":
            return [("peek", {})]
        if last.text.startswith("Remember "):
            return [("manage_memory", {"content": last.text.removeprefix("Remember "), "metadata": {"category": "food"}})]
        return [("search_memory", {"query": last.text})]

    store = LociStore(url, user=user)
    one, other = user + "-1", user + "-2"

    @tool
    def peek(config: RunnableConfig) -> str:
        """Looks into the store."""
        assert store.search(("memories",)) == []  # that is the client's own: the tools keep what they store with the user of the call
        of_the_call = LociStore(client=store.client.for_call(config["configurable"]))
        return str([item.value for item in of_the_call.search(("memories",))])

    place = ("memories", "{user_id}")
    tools = [create_manage_memory_tool(place, url=url, user=user), create_search_memory_tool(place, url=url, user=user), peek]
    agent = create_agent(ScriptedModel(reply=reply), tools, checkpointer=LociSaver(url, user=user), store=store)
    assert re.search(r"^ai:Reply: created memory [0-9a-f-]{36}$", texts(agent.invoke(said("Remember I like olives"), thread("1", user_id=one)))[-1])
    assert "I like olives" in texts(agent.invoke(said("What food do I like?"), thread("2", user_id=one)))[-1]
    assert texts(agent.invoke(said("What food do I like?"), thread("3", user_id=other)))[-1] == "ai:Reply: []"
    assert "I like olives" in texts(agent.invoke(said("peek"), thread("4", user_id=one)))[-1]

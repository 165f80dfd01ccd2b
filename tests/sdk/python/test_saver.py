"""Real graphs with a LociSaver, and what the conformance suite leaves out."""

import asyncio
import base64
import json
import operator
from typing import Annotated, TypedDict

import httpx
import pytest
from langgraph.checkpoint.base import WRITES_IDX_MAP, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import INTERRUPT, TASKS
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from loci_memory import Loci, LociError
from loci_memory.langgraph import LociSaver


@pytest.fixture
def saver(url, user):
    with LociSaverOf(url, user) as saver:
        yield saver


class LociSaverOf:
    def __init__(self, url, user):
        self.saver = LociSaver(url, user=user)

    def __enter__(self):
        return self.saver

    def __exit__(self, *_):
        self.saver.close()


class State(TypedDict):
    log: Annotated[list[str], operator.add]
    blob: bytes


def asking():
    """A graph that stops for an answer in a subgraph."""

    def ask(state):
        return {"log": ["answer " + interrupt("which?")]}

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    graph = StateGraph(State)
    graph.add_node("first", lambda state: {"log": ["first"], "blob": b"\x00\xff" * 10})
    graph.add_node("inner", inner.compile())
    graph.add_node("last", lambda state: {"log": ["last"]})
    graph.add_edge(START, "first")
    graph.add_edge("first", "inner")
    graph.add_edge("inner", "last")
    graph.add_edge("last", END)
    return graph


THREAD = {"configurable": {"thread_id": "t/1"}}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_graph_stops_and_goes_on_in_another_process(saver, url, user, durability):
    graph = asking().compile(checkpointer=saver)
    stopped = graph.invoke({"log": ["in"]}, THREAD, durability=durability)
    assert stopped["__interrupt__"][0].value == "which?"
    with LociSaverOf(url, user) as other:
        again = asking().compile(checkpointer=other)
        assert again.get_state(THREAD).next == ("inner",)
        done = again.invoke(Command(resume="this"), THREAD, durability=durability)
    reference = asking().compile(checkpointer=InMemorySaver())
    reference.invoke({"log": ["in"]}, THREAD, durability=durability)
    assert done == reference.invoke(Command(resume="this"), THREAD, durability=durability)
    history, wanted = list(graph.get_state_history(THREAD)), list(reference.get_state_history(THREAD))
    assert [(s.values, s.next, s.metadata) for s in history] == [(s.values, s.next, s.metadata) for s in wanted]
    ids = [s.config["configurable"]["checkpoint_id"] for s in history]
    assert ids == sorted(ids, reverse=True)


def test_branches_of_a_thread_keep_their_values(saver):
    graph = StateGraph(State)
    graph.add_node("one", lambda state: {"log": ["one"]})
    graph.add_edge(START, "one")
    graph = graph.compile(checkpointer=saver)
    graph.invoke({"log": ["a"]}, THREAD)
    start = list(graph.get_state_history(THREAD))[1]
    forked = graph.update_state(start.config, {"log": ["forked"]})
    assert graph.invoke(None, forked)["log"][:2] == ["a", "forked"]
    copied = graph.update_state(start.config, None, as_node="__copy__")
    assert graph.get_state(copied).values["log"] == ["a"]
    logs = [s.values.get("log") for s in graph.get_state_history(THREAD)]
    assert ["a", "one"] in logs and ["a"] in logs


def test_delta_channel_survives_pruning(saver):
    channels = pytest.importorskip("langgraph.channels.delta")

    def extend(old, new):
        return [*old, *(x for part in new for x in part)]

    class Log(TypedDict):
        log: Annotated[list, channels.DeltaChannel(extend)]

    graph = StateGraph(Log)
    graph.add_node("one", lambda state: {"log": [f"seen {len(state['log'])}"]})
    graph.add_edge(START, "one")
    graph = graph.compile(checkpointer=saver)
    for i in range(4):
        want = graph.invoke({"log": [f"in {i}"]}, THREAD)["log"]
    assert len(want) == 8
    assert graph.get_state(THREAD).values["log"] == want
    saver.prune(["t/1"])
    assert graph.get_state(THREAD).values["log"] == want


def test_waiting_and_asyncio_see_the_same(saver):
    graph = asking().compile(checkpointer=saver)

    async def run():
        await graph.ainvoke({"log": ["in"]}, THREAD)
        await graph.ainvoke(Command(resume="x"), THREAD)
        listed = [t async for t in saver.alist(THREAD)]
        latest = await saver.aget_tuple(THREAD)
        await saver.acopy_thread("t/1", "copy")
        await saver.async_client.aclose()
        return listed, latest

    listed, latest = asyncio.run(run())
    assert listed == list(saver.list(THREAD)) and latest == saver.get_tuple(THREAD)
    copies = list(saver.list({"configurable": {"thread_id": "copy"}}))
    assert [t.checkpoint for t in copies] == [t.checkpoint for t in listed]
    saver.prune(["t/1"], strategy="delete")
    assert saver.get_tuple(THREAD) is None and list(saver.list(None)) != []
    saver.delete_thread("copy")
    assert list(saver.list(None)) == []


def test_long_lists_come_in_pages(saver):
    config = {"configurable": {"thread_id": "long", "checkpoint_ns": ""}}
    for step in range(120):
        config = saver.put(config, empty_checkpoint(), {"source": "loop", "step": step, "parents": {}}, {})
    where = {"configurable": {"thread_id": "long"}}
    assert [t.metadata["step"] for t in saver.list(where)] == list(range(119, -1, -1))
    assert [t.metadata["step"] for t in saver.list(where, limit=101)][-1] == 19
    assert list(saver.list(where, limit=0)) == []


def test_writes_of_older_formats_are_the_sends_of_the_next(saver):
    start = saver.put({"configurable": {"thread_id": "old", "checkpoint_ns": ""}}, {**empty_checkpoint(), "v": 1}, {"step": 0}, {})
    saver.put_writes(start, [(TASKS, "a"), (TASKS, "b")], "task")
    saver.put(start, {**empty_checkpoint(), "v": 1}, {"step": 1}, {})
    latest = saver.get_tuple({"configurable": {"thread_id": "old"}})
    assert latest.checkpoint["channel_values"] == {TASKS: ["a", "b"]}
    assert TASKS in latest.checkpoint["channel_versions"]


def test_special_writes_are_written_again(saver):
    config = saver.put({"configurable": {"thread_id": "w", "checkpoint_ns": ""}}, empty_checkpoint(), {"step": 0}, {})
    assert INTERRUPT in WRITES_IDX_MAP
    for value in ("old", "new"):
        saver.put_writes(config, [(INTERRUPT, value), ("ch", value)], "task")
    assert saver.get_tuple(config).pending_writes == [("task", INTERRUPT, "new"), ("task", "ch", "old")]


def test_metadata_that_json_cannot_say_comes_back(saver):
    metadata = {"source": "loop", "step": 1, "parents": {}, "odd": {1, 2}, "nul": "a\x00b", "nan": float("nan"), "half": ["\ud800"]}
    config = saver.put({"configurable": {"thread_id": "m", "checkpoint_ns": ""}}, empty_checkpoint(), metadata, {})
    found = next(iter(saver.list(None, filter={"source": "loop", "nul": "ab"})))
    assert found.metadata["odd"] == {1, 2} and found.config == config


def test_users_do_not_meet(saver, url):
    saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty_checkpoint(), {"step": 0}, {})
    with LociSaverOf(url, "somebody-else") as other:
        assert other.get_tuple({"configurable": {"thread_id": "t"}}) is None and list(other.list(None)) == []


def test_errors_say_what_to_do(saver):
    with pytest.raises(LociError) as refused:
        saver.prune(["t"], strategy="most")
    assert refused.value.code == "invalid" and refused.value.recovery
    with pytest.raises(LociError) as missing:
        saver.copy_thread("none", "other")
    assert missing.value.code == "not_found" and missing.value.status == 404
    with pytest.raises(TypeError):
        saver.prune("one")
    with Loci("http://127.0.0.1:9") as nobody, pytest.raises(LociError) as down:
        nobody.info()
    assert down.value.code == "unavailable"


def test_a_thread_of_another_language_is_refused_with_a_sentence(memory):
    """As LangGraph for JavaScript writes one."""
    text = {"v": 4, "id": "1", "ts": "2026-01-01T00:00:00Z", "channel_versions": {"messages": 2}, "versions_seen": {}, "channel_values": {}}
    blob = {"type": "json", "data": base64.b64encode(json.dumps(text).encode()).decode()}
    memory.checkpoints.put({"thread_id": "js", "checkpoint_id": "1", "format": 4, "checkpoint": blob})
    strange = {"thread_id": "odd", "checkpoint_id": "1", "format": 4, "checkpoint": {"type": "nobody knows", "data": "e30="}}
    memory.checkpoints.put(strange)
    saver = LociSaver(client=memory)
    for thread in ("js", "odd"):
        with pytest.raises(LociError, match="another language or another serializer wrote this thread") as refused:
            saver.get_tuple({"configurable": {"thread_id": thread}})
        assert refused.value.code == "unsupported" and refused.value.recovery


class Watching(httpx.HTTPTransport):
    """Notes the length and the media type of each checkpoint that comes; an old server knows JSON alone."""

    def __init__(self, old=False):
        super().__init__()
        self.old, self.came = old, []

    def handle_request(self, request):
        if self.old:
            request.headers["Accept"] = "application/json"
        response = super().handle_request(request)
        if request.url.path.endswith("/get"):
            response.read()
            self.came.append((response.headers["Content-Type"], len(response.content)))
        return response


@pytest.mark.parametrize("old", [False, True])
def test_what_did_not_change_is_not_sent_again(url, user, old):
    """A large value comes once, as bytes; a server that does not know how sends JSON, which means the same."""
    watching = Watching(old)
    saver = LociSaver(client=Loci(url, user=user, transport=watching))
    plain = LociSaver(url, user=user)
    config, version = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, saver.get_next_version(None, None)
    for step in range(3):
        versions = {"large": version, "step": saver.get_next_version(str(step), None)}
        values = {"large": "x" * 100_000, "step": step}
        new = versions if step == 0 else {"step": versions["step"]}
        config = saver.put(config, {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}, {"step": step}, new)
        saver.put_writes(config, [(TASKS, f"sent {step}"), ("step", step)], "task")
        for _ in range(2):
            found = saver.get_tuple({"configurable": {"thread_id": "t"}})
            assert found == plain.get_tuple({"configurable": {"thread_id": "t"}}) == next(iter(plain.list({"configurable": {"thread_id": "t"}})))
            assert found.checkpoint["channel_values"]["large"] == values["large"]
            assert found.checkpoint["channel_values"].get(TASKS) == ([f"sent {step - 1}"] if step else None)
    if old:
        assert {kind for kind, _ in watching.came} == {"application/json"}
    else:
        assert {kind for kind, _ in watching.came} == {"application/vnd.loci.parts"} and len(watching.came) == 6
        assert watching.came[0][1] < 102_000 and max(length for _, length in watching.came[1:]) < 3_000
    saver.delete_thread("t")
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None and saver._kept.known("t", "") == {}


@pytest.mark.parametrize("body", [b"", b"\0\0", b"\0\0\0\x02{}", b"\0\0\0\x63{}", b"\0\0\0\x02[]", b"\0\0\0\x02{x", b"\0\0\0\x01\xff"])
def test_half_a_reply_in_parts_is_an_error(body):
    def answer(_):
        return httpx.Response(200, content=body, headers={"Content-Type": "application/vnd.loci.parts"})

    saver = LociSaver(client=Loci("http://127.0.0.1:1", transport=httpx.MockTransport(answer)))
    with pytest.raises(LociError) as refused:
        saver.get_tuple({"configurable": {"thread_id": "t"}})
    assert refused.value.code == "unsupported"

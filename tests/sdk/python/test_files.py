"""Files, connectors and the agents of a graph."""

import asyncio
import json

import pytest
from conftest import Server

from loci_memory import AsyncLoci, Loci, LociError

# A graph with an agent that has a tool that only reads and one that writes, and an agent without tools.
TOOLS = [("T1", {"name": "memory_readonly", "description": "Read-only memory tool", "title": "Mem Read", "commands": ["read", "list"]}),
         ("T2", {"name": "memory_write", "description": "Write memory tool", "title": "Mem Write"})]  # fmt: skip
GRAPH = {
    "nodes": [
        {"id": "M", "data": {"template": "memory", "config": {"scope": "global"}}},
        {"id": "A", "data": {"template": "agent", "config": {}}},
        {"id": "B", "data": {"template": "agent"}},
        *({"id": id, "data": {"template": "memoryTool", "config": config}} for id, config in TOOLS),
        {"id": "C", "data": {"template": "memoryConnector", "config": {"content": "full"}}},
    ],
    "edges": [
        {"source": "A", "sourceHandle": "tools", "target": "T1", "targetHandle": "$self"},
        {"source": "A", "sourceHandle": "tools", "target": "T2", "targetHandle": "$self"},
        *({"source": "M", "sourceHandle": "$self", "target": to, "targetHandle": "$memory"} for to in ("T1", "T2", "C")),
        {"source": "C", "sourceHandle": "$self", "target": "A", "targetHandle": "setMemoryConnector"},
    ],
}


def test_files(memory):
    files = memory.files
    made = files.write("/notes/today", "Met Ann.")
    assert (made["version"], made["kind"], files.write("/notes/today", "Met Ann.")["unchanged"]) == (1, "file", True)
    assert files.append("/notes/today", "Met Bob.")["lines"] == 2 and files.update("/notes/today", "Met", "Saw") == 2
    assert files.read("/notes/today")["content"] == "Saw Ann.\nSaw Bob." and files.read("/none") is None
    assert files.read("/notes/today", version=1)["content"] == "Met Ann."
    assert files.read("/notes/today", first_line=2, last_line=2)["content"].strip() == "Saw Bob."
    assert [v["current"] for v in files.versions("/notes/today")] == [True, False, False]
    assert files.search("Bob", path="/notes", limit=1)["matches"][0]["file"]["path"] == "/notes/today"
    files.move("/notes", "/diary")
    restored = files.restore("/diary/today", 1)
    assert restored["version"] > 3 and files.read("/diary/today")["content"] == "Met Ann."
    assert [f["path"] for f in files.all()] == ["/diary"] and files.page(limit=1)["files"][0]["kind"] == "dir"
    assert [f["path"] for f in files.all(recursive=True) if f["kind"] == "file"] == ["/diary/today"]
    for refused in (lambda: files.write("/diary/today", "x", create=True), lambda: files.write("/diary/today", "x", if_version=1)):
        with pytest.raises(LociError) as there:
            refused()
        assert there.value.code == "conflict"
    other = files.tree("plans", scope="perThread")
    with pytest.raises(LociError, match="threadId is required"):
        other.write("/a", "b")
    memory.with_options(thread="t").files.tree("plans", scope="perThread").write("/a", "b")
    assert list(files.tree("plans").all()) == [] and files.delete("/") == {"files": 1, "dirs": 1}


def test_files_for_asyncio(url, user):
    async def work():
        async with AsyncLoci(url, user=user) as memory:
            await memory.files.write("/a", "b")
            assert [f["path"] async for f in memory.files.all()] == ["/a"] and (await memory.files.read("/a"))["content"] == "b"
            assert await memory.agents.all() == []

    asyncio.run(work())


@pytest.fixture(scope="module")
def graphed(tmp_path_factory):
    """A server with agents."""
    directory = tmp_path_factory.mktemp("graph")
    (directory / "graph.json").write_text(json.dumps(GRAPH))
    server = Server(directory, flags=("--user", "nobody", "--graph", str(directory / "graph.json")))
    yield server.url
    server.stop()


def test_agents(graphed, user):
    memory = Loci(graphed, user=user)
    has = {agent["id"]: agent for agent in memory.agents.all()}
    assert has["A"] == {"id": "A", "tools": ["memory_readonly", "memory_write"], "connector": True} and not has["B"]["connector"]
    reads, writes = memory.agents.tools("A")
    assert reads["input_schema"]["properties"]["command"]["enum"] == ["read", "list"] and reads["annotations"]["readOnlyHint"]
    assert "delete" in writes["input_schema"]["properties"]["command"]["enum"]
    assert not memory.agents.call("A", "memory_write", {"path": "/notes", "command": "append", "content": "Met Ann."})["is_error"]
    refused = memory.agents.call("A", "memory_readonly", {"path": "/notes", "command": "delete"})
    assert refused["is_error"] and refused["structured"]["error"] == {"message": "unknown command: delete", "code": "EINVAL"}
    assert memory.agents.call("A", "memory_readonly", {"path": "/notes", "command": "read"})["structured"]["result"] == {"content": "Met Ann."}
    assert memory.files.tree("M").read("/notes")["content"] == "Met Ann."
    messages = memory.connectors.inject("A", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}])
    assert messages[1] == {"role": "system", "content": 'Memory\n/notes: "Met Ann."'} and len(messages) == 3
    other = Loci(graphed, user=user + "x")
    assert other.connectors.inject("A", [{"role": "user", "content": "Hi."}]) == [{"role": "user", "content": "Hi."}]
    for wrong in (lambda: memory.agents.tools("Z"), lambda: memory.agents.call("A", "none"), lambda: memory.connectors.inject("B", [])):
        with pytest.raises(LociError) as missing:
            wrong()
        assert missing.value.code == "not_found"

"""Whose memory the tools of a model are about: each call says, for itself."""

import asyncio
import json
import re
import subprocess
import sys
import textwrap
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Server
from langchain_core.tools import ToolException
from langgraph.prebuilt import create_react_agent
from model import ScriptedModel

from loci_memory import AsyncLoci, ConfigurationError, Loci, LociError
from loci_memory.langchain import create_manage_memory_tool, create_search_memory_tool
from loci_memory.langgraph import LociStore

NAMESPACES = [None, ("memories",), ("memories", "{user_id}"), ("memories", "{langgraph_user_id}")]


def config(user, **more):
    return {"configurable": {"user_id": user, "langgraph_user_id": user, **more}}


def texts(reply):
    return sorted(found["value"]["content"] for found in json.loads(reply))


@pytest.fixture
def two():
    return "ada-" + uuid.uuid4().hex, "bob-" + uuid.uuid4().hex


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_two_users_of_one_tool_never_meet(url, two, namespace):
    manage, search = create_manage_memory_tool(namespace, url=url), create_search_memory_tool(namespace, url=url)
    made = {user: manage.invoke({"content": f"likes what {user} likes"}, config(user)).removeprefix("created memory ") for user in two}
    for user, other in (two, two[::-1]):
        assert texts(search.invoke({"query": "likes"}, config(user))) == [f"likes what {user} likes"]
        reply = manage.invoke({"content": "stolen", "action": "update", "id": made[other]}, config(user))
        assert reply.startswith("Error: ")
        assert manage.invoke({"action": "delete", "id": made[other]}, config(user)).startswith("Error: ")
        assert texts(search.invoke({"query": "likes"}, config(other))) == [f"likes what {other} likes"]
    with Loci(url) as nobody:
        assert not [match for match in nobody.search("likes", limit=1000)["matches"] if any(user in match["passage"] for user in two)]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_calls_at_the_same_time_keep_their_users(url, namespace):
    users = [f"u{n}-{uuid.uuid4().hex}" for n in range(8)]
    manage, search = create_manage_memory_tool(namespace, url=url), create_search_memory_tool(namespace, url=url)

    def turn(user):
        manage.invoke({"content": f"of {user}"}, config(user))
        return texts(search.invoke({"query": "of"}, config(user)))

    async def aturn(user):
        await manage.ainvoke({"content": f"later of {user}"}, config(user))
        return texts(await search.ainvoke({"query": "of"}, config(user)))

    async def all_of_them():
        return await asyncio.gather(*(aturn(user) for user in users))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(turn, users)) == [[f"of {user}"] for user in users]
    assert asyncio.run(all_of_them()) == [[f"later of {user}", f"of {user}"] for user in users]


def test_an_organisation_and_its_agent(url):
    org = "org-" + uuid.uuid4().hex
    manage, search = create_manage_memory_tool(url=url, user="of-the-client"), create_search_memory_tool(url=url, user="of-the-client")
    asked = [{"org_id": org}, {"org_id": org, "agent_id": "a"}, {"org_id": org, "agent_id": "b"}, {"org_id": org, "user_id": "u-" + org}]
    for n, configurable in enumerate(asked):
        manage.invoke({"content": f"number {n}"}, {"configurable": configurable})
    for n, configurable in enumerate(asked):
        found = texts(search.invoke({"query": "number"}, {"configurable": configurable}))
        assert f"number {n}" in found and len(found) == (3 if n == 0 else 1)  # an organisation has its agents' memories below it
    with Loci(url, user="of-the-client") as own:
        assert list(own.notes.all()) == []


def test_what_a_call_names_replaces_what_the_client_has(url):
    memory = Loci(url, org="o", agent="a", user="u", thread="t", session="s")

    def names(client):
        return {name.removeprefix("Loci-"): bytes(value).decode() for name, value in client._transport.options.headers.items() if name.startswith("Loci-")}

    whole = {"Org": "o", "Agent": "a", "User": "u", "Thread": "t", "Session": "s"}
    assert names(memory.for_call({"other": 1})) == whole
    assert names(memory.for_call({"thread_id": "x"})) == {**whole, "Thread": "x"}
    assert names(memory.for_call({"user_id": "x"})) == {"Org": "o", "Agent": "a", "User": "x"}
    assert names(memory.for_call({"user_id": 7, "thread_id": "x"})) == {"Org": "o", "Agent": "a", "User": "7", "Thread": "x"}
    assert names(memory.for_call({"agent_id": "x"})) == {"Org": "o", "Agent": "x"}
    assert names(memory.for_call({"org_id": "x", "user_id": "y"})) == {"Org": "x", "User": "y"}
    assert names(memory) == whole
    assert names(AsyncLoci(url, user="u").for_call({"user_id": "x"})) == {"User": "x"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A server that lets nobody choose whose memory it is."""
    server = Server(tmp_path_factory.mktemp("alone"), scopes="read,write,delete")
    yield server.url
    server.stop()


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_what_the_server_refuses_is_an_error_of_the_program(alone, two, namespace):
    heard = []
    given = {"url": alone, "on_error": heard.append}
    for tool, args in (
        (create_manage_memory_tool(namespace, **given), {"content": "for ada"}),
        (create_search_memory_tool(namespace, **given), {"query": "ada"}),
    ):
        for identity in ({"user_id": two[0]}, {"org_id": "o"}, {"agent_id": "a"}):
            configurable = {"user_id": "nobody", "langgraph_user_id": "x", **identity}
            with pytest.raises(LociError) as refused:
                tool.invoke(args, {"configurable": configurable})
            assert refused.value.code == "forbidden" and refused.value.recovery
            with pytest.raises(LociError):
                asyncio.run(tool.ainvoke(args, {"configurable": configurable}))
    with Loci(alone) as own:
        assert heard == [] and own.search("ada")["matches"] == []


def test_a_credential_that_may_not_write_is_an_error_of_the_program(tmp_path):
    server = Server(tmp_path, scopes="read")
    try:
        for namespace in (None, ("m",)):
            with pytest.raises(LociError) as refused:
                create_manage_memory_tool(namespace, url=server.url).invoke({"content": "x"})
            assert refused.value.code == "forbidden"
    finally:
        server.stop()


@pytest.mark.parametrize("tool", [create_manage_memory_tool, create_search_memory_tool])
@pytest.mark.parametrize("namespace", [("memories", "{user_id}"), ("{user_id}",)])
@pytest.mark.parametrize("configurable", [{}, {"thread_id": "t"}, {"thread_id": "t", "user_id": None}, {"thread_id": "t", "user_id": ""}])
def test_a_missing_key_aborts_the_call(url, tool, namespace, configurable):
    with pytest.raises(ConfigurationError) as missing:
        tool(namespace, url=url).invoke({"content": "x"} if tool is create_manage_memory_tool else {"query": "x"}, {"configurable": configurable})
    assert str(missing.value) == f"Missing key in 'configurable' field: user_id. Available keys: {list(configurable)}"
    assert isinstance(missing.value, LociError) and not isinstance(missing.value, ToolException) and missing.value.key == "user_id"


NONE = [{"user_id": ""}, {"user_id": None}, {"org_id": ""}, {"user_id": " x"}, {"user_id": "a\nb"}, {"user_id": {}}, {"user_id": True}]


@pytest.mark.parametrize("configurable", NONE)
@pytest.mark.parametrize("namespace", [None, ("memories",)])
def test_a_bad_identity_never_means_someone_else(url, configurable, namespace):
    for tool, args in ((create_manage_memory_tool(namespace, url=url), {"content": "x"}), (create_search_memory_tool(namespace, url=url), {"query": "x"})):
        with pytest.raises(LociError) as refused:
            tool.invoke(args, {"configurable": configurable})
        assert refused.value.code == "invalid"


def test_a_bad_label_is_an_error_of_the_program(url):
    for namespace, user in ((("m", "{user_id}"), "ada@example.com"), (("{user_id}",), "langgraph"), (("m", ""), "a"), ((), "a")):
        with pytest.raises(LociError, match="is no namespace"):
            create_manage_memory_tool(namespace, url=url).invoke({"content": "x"}, config(user))


def test_the_servers_own_configuration_error_is_one_here(url):
    with pytest.raises(ConfigurationError) as missing:
        create_search_memory_tool(url=url).invoke({"query": "x"}, {"configurable": {"agent_id": "a"}})
    assert str(missing.value).startswith("Missing key in 'configurable' field: user_id. Available keys: [") and missing.value.key == "user_id"


def test_a_mistake_of_the_program_is_no_empty_memory(url, monkeypatch):
    search = create_search_memory_tool(url=url)
    monkeypatch.setattr("loci_memory.langchain.tools._list", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        search.invoke({"query": "x"}, config("u"))


# How LangMem's guides use its tools, with two users; only the model is another.
PUBLISHED = """
store = InMemoryStore()
agent = create_react_agent(
    "anthropic:claude-3-5-sonnet-latest",
    tools=[
        create_manage_memory_tool(namespace=("memories", "{user_id}")),
        create_search_memory_tool(namespace=("memories", "{user_id}")),
    ],
    store=store,
)
response_a = agent.invoke(
    {"messages": [{"role": "user", "content": "Remember my favorite color is blue"}]},
    config={"configurable": {"user_id": "user-a"}},
)
response_b = agent.invoke(
    {"messages": [{"role": "user", "content": "Remember I prefer dark mode"}]},
    config={"configurable": {"user_id": "user-b"}},
)
config = {"configurable": {"user_id": "user-a"}}
response = agent.invoke(
    {"messages": [{"role": "user", "content": "What are my preferences?"}]},
    config=config,
)
"""


def remembers(messages):
    """A model that stores what it is told to remember, and looks up anything else."""
    last = messages[-1]
    if last.type == "tool":
        return str(last.content)
    text = last.content
    return [("manage_memory", {"content": text})] if text.startswith("Remember") else [("search_memory", {"query": text})]


@pytest.mark.parametrize("namespace", ['("memories", "{user_id}")', '("memories",)', '("memories", "{langgraph_user_id}")', "None"])
def test_langmems_published_usage(server, monkeypatch, namespace):
    monkeypatch.setenv("LOCI_URL", server.url)
    usage = PUBLISHED.replace('("memories", "{user_id}")', namespace).replace('"anthropic:claude-3-5-sonnet-latest"', "model")
    usage = re.sub(r'"user_id": ("user-\w")', r'"user_id": \1, "langgraph_user_id": \1', usage)
    given = {
        "create_react_agent": create_react_agent,
        "InMemoryStore": LociStore,
        "create_manage_memory_tool": create_manage_memory_tool,
        "create_search_memory_tool": create_search_memory_tool,
        "model": ScriptedModel(reply=remembers),
    }
    exec(usage, given)
    assert "created memory " in given["response_a"]["messages"][-1].content and "created memory " in given["response_b"]["messages"][-1].content
    assert texts(given["response"]["messages"][-1].content) == ["Remember my favorite color is blue"]
    with Loci(server.url) as nobody:
        assert nobody.search("remember")["matches"] == [] and list(nobody.notes.all()) == []


def test_an_agent_stops_at_a_missing_key(url):
    tool = create_manage_memory_tool(namespace=("memories", "{user_id}"), url=url)
    agent = create_react_agent(ScriptedModel(reply=remembers), tools=[tool])
    with pytest.raises(ConfigurationError):
        agent.invoke({"messages": [("human", "Remember I like olives")]}, {"configurable": {"thread_id": "t"}})


def test_the_errors_need_no_framework():
    code = "import loci_memory; raise SystemExit(not issubclass(loci_memory.ConfigurationError, loci_memory.LociError))"
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)

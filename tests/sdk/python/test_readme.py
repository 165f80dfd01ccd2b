"""The programs of the client's README run as they are printed, each where there is nothing but what its extra installs."""

import json
import re
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from agents import Agent
from conftest import Server
from model import ScriptedModel
from readme import FRAGMENTS, PROGRAMS, README, alone, imports
from test_openai_agents import ScriptedModel as OpenAIModel

from loci_memory import Loci

EXTRAS = {"The client": "", "A chat": "", "LangGraph": "langgraph", "LangChain": "langchain", "OpenAI Agents SDK": "openai-agents"}
OTHERS = {"LlamaIndex", "Pydantic AI", "Google ADK"}  # adapters/test_readme_adapters.py
PRINTED = [
    "Ada prefers night trains to planes\n",
    "stored\n1 human When is the train?\n2 ai At nine.\n",
    "I noted it.\nYour notes say: likes olives\n",
    "This thread took 2 steps.\n",
    "['My name is Ada.', 'Hello Ada.']\n",
    "Ada drinks green tea in the morning\n[b'value', None]\n",
]
OURS = [(section, text) for section, text in PROGRAMS if section in EXTRAS]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for all programs, as the README starts it."""
    scopes, command = re.search(r"^    LOCI_SCOPES=(\S+) loci serve (.*)$", README, re.MULTILINE).groups()
    server = Server(tmp_path_factory.mktemp("readme"), scopes=scopes, flags=shlex.split(command))
    yield server.url
    server.stop()


def test_each_block_is_a_program_or_a_marked_fragment():
    assert {section for section, _ in PROGRAMS + FRAGMENTS} == {*EXTRAS, *OTHERS} and len(OURS) == len(PRINTED)
    assert not re.search(r'thread_id": "|LociSession\("|LociChatMessageHistory\("', README)  # no two share a name


def spoken(asked):
    """What a model says that notes what it hears, and looks at its notes when it is asked."""
    last, told = asked["messages"][-1], json.dumps(asked["messages"][1])
    calls = {"I like olives": {"path": "/likes", "command": "append", "content": "likes olives"}, "What do I like?": {"path": "/likes", "command": "read"}}
    if last["role"] == "user":
        if last["content"] == "What do I like?":
            assert "[F] likes" in told and [m["role"] for m in asked["messages"]] == ["system", "system", "user", "assistant", "tool", "assistant", "user"]
        call = {"name": asked["tools"][0]["function"]["name"], "arguments": json.dumps(calls[last["content"]])}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": call}]}
    done = json.loads(last["content"])
    return {"role": "assistant", "content": "I noted it." if done["command"] == "append" else "Your notes say: " + done["result"]["content"]}


@pytest.fixture(scope="module")
def model():
    """A server that speaks OpenAI's chat completions."""

    class Completions(BaseHTTPRequestHandler):
        def do_POST(self):
            message = spoken(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = json.dumps({"choices": [{"message": message}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


@pytest.mark.parametrize("round", [0, 1])
def test_programs(served, model, tmp_path, round):
    """In any order, and again, against one server."""
    Loci(served, user="alice").files.tree("M").delete("/")
    for (section, program), printed in list(zip(OURS, PRINTED, strict=True))[:: -1 if round else 1]:
        chat = {"said": "I like olives\nWhat do I like?\n\n", "OPENAI_BASE_URL": model, "OPENAI_API_KEY": "k", "MODEL": "m"} if section == "A chat" else {}
        ran = alone(program, EXTRAS[section], tmp_path, served, **chat)
        assert (ran.stdout, ran.returncode) == (printed, 0), f"{section}\n{ran.stderr}"


@pytest.mark.parametrize(("section", "fragment"), [(section, text) for section, text in FRAGMENTS if section in EXTRAS])
def test_an_extra_installs_what_its_fragment_imports(tmp_path, section, fragment):
    assert (ran := alone(imports(fragment), EXTRAS[section], tmp_path)).returncode == 0, ran.stderr


def test_what_no_extra_installs_is_not_there(tmp_path):
    assert "No module named 'langchain'" in alone("import langchain", "openai-agents", tmp_path).stderr
    assert "No module named 'pydantic'" in alone("import pydantic", "", tmp_path).stderr


def calls_once(messages):
    return "Done." if messages[-1].type == "tool" else [("manage_memory", {"content": "likes olives"})]


@pytest.mark.parametrize(("fragment", "printed"), zip([text for section, text in FRAGMENTS if section in EXTRAS], ["", "Hello to you\n"], strict=True))
def test_fragments(served, monkeypatch, capsys, fragment, printed):
    monkeypatch.setenv("LOCI_URL", served)
    model = ScriptedModel(reply=calls_once)
    given = {"__name__": "__main__", "model": model, "agent": Agent(name="greeter", model=OpenAIModel(lambda _: "Hello to you"))}
    exec(compile(fragment, "README.md", "exec"), given)
    assert capsys.readouterr().out == printed

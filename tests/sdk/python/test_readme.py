"""The programs in the client's README run as they are printed."""

import os
import re
from pathlib import Path

import pytest
from agents import Agent
from model import ScriptedModel
from test_openai_agents import ScriptedModel as OpenAIModel

README = Path(__file__).parents[3] / "sdk" / "python" / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
PRINTED = [
    "Ada prefers night trains to planes\n",
    "stored\n1 human When is the train?\n2 ai At nine.\n",
    "This thread took 2 steps.\n",
    "['My name is Ada.', 'Hello Ada.']\n",
    "",
    "Hello to you\n",
]


def calls_once(messages):
    return "Done." if messages[-1].type == "tool" else [("manage_memory", {"content": "likes olives"})]


@pytest.mark.parametrize(("program", "printed"), zip(PROGRAMS, PRINTED, strict=True))
def test_program(server, monkeypatch, capsys, program, printed):
    monkeypatch.setitem(os.environ, "LOCI_URL", server.url)
    given = {
        "__name__": "__main__",
        "model": ScriptedModel(reply=calls_once),
        "agent": Agent(name="greeter", model=OpenAIModel(lambda _: "Hello to you")),
    }
    exec(compile(program, str(README), "exec"), given)
    assert capsys.readouterr().out == printed

"""The programs of the client's README run as they are printed, each where nothing but its extra is installed."""

import hashlib
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from agents import Agent
from conftest import Server
from model import ScriptedModel
from test_openai_agents import ScriptedModel as OpenAIModel

HERE = Path(__file__).parent
SDK = HERE.parents[2] / "sdk" / "python"
README = (SDK / "README.md").read_text()
SECTIONS = re.split(r"^## ", README, flags=re.MULTILINE)
BLOCKS = [(section.partition("\n")[0], text) for section in SECTIONS for text in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)]
EXTRAS = {"The client": "", "LangGraph": "langgraph", "LangChain": "langchain", "OpenAI Agents SDK": "openai-agents"}
ADAPTERS = {"LlamaIndex": "llama-index", "Pydantic AI": "pydantic-ai", "Google ADK": "google-adk"}  # which have pins of their own
PROGRAMS = [(section, text) for section, text in BLOCKS if not text.startswith("# Fragment: ")]
FRAGMENTS = [(section, text) for section, text in BLOCKS if text.startswith("# Fragment: ")]
PRINTED = [
    "Ada prefers night trains to planes\n",
    "stored\n1 human When is the train?\n2 ai At nine.\n",
    "This thread took 2 steps.\n",
    "['My name is Ada.', 'Hello Ada.']\n",
    "Ada drinks green tea in the morning\n[b'value', None]\n",
    "['My name is Ada.']\n",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for all programs, as the README starts it."""
    scopes, command = re.search(r"^    LOCI_SCOPES=(\S+) loci serve (.*)$", README, re.MULTILINE).groups()
    server = Server(tmp_path_factory.mktemp("readme"), scopes=scopes, flags=shlex.split(command))
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package as it is published."""
    directory = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(SDK)]
    subprocess.run([sys.executable, *build], check=True)
    return next(directory.glob("*.whl"))


def fresh(extra, wheel):
    """A Python with the package and one extra, made once for what it pins."""
    root = Path(os.environ.get("LOCI_TEST_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loci-tests")
    pins = HERE / ("requirements-adapters.txt" if extra in ADAPTERS.values() else "requirements.txt")
    state = hashlib.sha256(pins.read_bytes() + (SDK / "pyproject.toml").read_bytes()).hexdigest()[:16]
    place = root / f"readme-{extra or 'client'}-{state}"
    install = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not (place / "whole").exists():
        venv.create(place, with_pip=True, clear=True)
        named = f"{wheel}[{extra}]" if extra else str(wheel)
        subprocess.run([*install, "--constraint", str(pins), named], check=True)
        (place / "whole").touch()
    subprocess.run([*install, "--no-deps", "--force-reinstall", str(wheel)], check=True)
    return str(place / "bin" / "python")


def test_each_block_is_a_program_or_a_marked_fragment():
    assert len(PROGRAMS) == len(PRINTED) and len(FRAGMENTS) == 4
    assert not re.search(r'thread_id": "|LociSession\("|LociChatMessageHistory\("', README)  # no two share a name


@pytest.mark.parametrize("round", [0, 1])
def test_programs(served, wheel, round):
    """In any order, and again, against one server."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH",) and not name.startswith("LOCI")} | {"LOCI_URL": served}
    for (section, program), printed in list(zip(PROGRAMS, PRINTED, strict=True))[:: -1 if round else 1]:
        python = fresh({**EXTRAS, **ADAPTERS}[section], wheel)
        ran = subprocess.run([python, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
        assert (ran.stdout, ran.returncode) == (printed, 0), f"{section}\n{ran.stderr}"


@pytest.mark.parametrize(("section", "fragment"), FRAGMENTS)
def test_an_extra_installs_what_its_fragment_imports(wheel, section, fragment):
    imports = "\n".join(line for line in fragment.splitlines() if re.match(r"from |import ", line))
    subprocess.run([fresh({**EXTRAS, **ADAPTERS}[section], wheel), "-c", imports], check=True, timeout=120)


def calls_once(messages):
    return "Done." if messages[-1].type == "tool" else [("manage_memory", {"content": "likes olives"})]


@pytest.mark.parametrize(("fragment", "printed"), zip([text for section, text in FRAGMENTS if section in EXTRAS], ["", "Hello to you\n"], strict=True))
def test_fragments(served, monkeypatch, capsys, fragment, printed):
    monkeypatch.setenv("LOCI_URL", served)
    model = ScriptedModel(reply=calls_once)
    given = {"__name__": "__main__", "model": model, "agent": Agent(name="greeter", model=OpenAIModel(lambda _: "Hello to you"))}
    exec(compile(fragment, "README.md", "exec"), given)
    assert capsys.readouterr().out == printed

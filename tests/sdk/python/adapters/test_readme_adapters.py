"""The programs and fragments of the README for the adapters that are tested here."""

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from readme import FRAGMENTS, PROGRAMS, alone, imports

EXTRAS = {"LlamaIndex": "llama-index", "Pydantic AI": "pydantic-ai", "Google ADK": "google-adk"}


def test_the_program_runs_as_it_is_printed(tmp_path, server):
    [(section, program)] = [(section, text) for section, text in PROGRAMS if section in EXTRAS]
    for _ in range(2):
        ran = alone(program, EXTRAS[section], tmp_path, server.url)
        assert (ran.stdout, ran.returncode) == ("['My name is Ada.']\n", 0), ran.stderr


@pytest.mark.parametrize(("section", "fragment"), [(section, text) for section, text in FRAGMENTS if section in EXTRAS])
def test_an_extra_installs_what_its_fragment_imports(tmp_path, section, fragment):
    assert (ran := alone(imports(fragment), EXTRAS[section], tmp_path)).returncode == 0, ran.stderr


def test_the_fragment_of_pydantic_ai(server, monkeypatch):
    monkeypatch.setenv("LOCI_URL", server.url)
    [fragment] = [text for section, text in FRAGMENTS if section == "Pydantic AI"]
    given = {"agent": Agent(TestModel(custom_output_text="Hi"))}
    code = "async def main():\n" + "".join(f"    {line}\n" for line in fragment.splitlines() if line) + "    return await history.load()\n"
    exec(compile(code, "README.md", "exec"), given)
    assert len(asyncio.run(given["main"]())) == 2

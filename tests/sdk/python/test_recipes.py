"""The programs of the recipes run as they are printed, each where there is nothing but what its extra installs."""

import re
import shlex
from pathlib import Path

import pytest
from conftest import Server
from readme import alone

RECIPES = Path(__file__).parents[3] / "docs" / "recipes"
EXTRAS = {"chat-bot": "", "langgraph": "langgraph"}


def programs(name):
    """Each program of a recipe with the output that stands below it."""
    text = (RECIPES / f"{name}.md").read_text()
    return re.findall(r"^```python\n(.*?)^```\n(?:(?!```).)*?^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_program_is_run():
    for path in RECIPES.glob("*.md"):
        blocks = re.findall(r"^```python\n", path.read_text(), re.MULTILINE)
        assert len(blocks) == (len(programs(path.stem)) if path.stem in EXTRAS else 0), path.name


@pytest.mark.parametrize("name", EXTRAS)
def test_recipes(name, tmp_path):
    scopes, flags = re.search(r"^\$ (?:LOCI_SCOPES=(\S+) )?loci serve ?(.*)&$", (RECIPES / f"{name}.md").read_text(), re.MULTILINE).groups()
    server = Server(tmp_path, scopes=scopes or "read,write,delete", flags=shlex.split(flags))
    try:
        for program, printed in programs(name):
            ran = alone(program, EXTRAS[name], tmp_path, server.url)
            assert (ran.stdout, ran.returncode) == (printed, 0), ran.stderr
    finally:
        server.stop()

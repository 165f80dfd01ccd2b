"""LangGraph's own test files of stores, as it publishes them, run against LociStore; what fails has an excuse that is still true."""

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PUBLISHED = ["langgraph-checkpoint==4.3.2", "langgraph-checkpoint-sqlite==3.1.2"]
FILES = ["langgraph_checkpoint-4.3.2/tests/test_store.py", "langgraph_checkpoint_sqlite-3.1.2/tests/test_store.py"]

# A part of the name of a test, and why it cannot hold for a store behind a server.
EMBEDS = "the server embeds with its own model, not with the test's, which counts characters"
SQL = "it is about the SQL of the other store"
PERIOD = "a key of a filter with a period is refused: this test wants a field inside an object, the store in memory a key"
EXCUSES = {
    FILES[0]: {
        "vector_search_with_filters": EMBEDS,
        "test_embed_with_path": EMBEDS,
    },
    FILES[1]: {
        "test_vector_store_initialization": EMBEDS,
        "test_vector_search_with_filters": EMBEDS,
        "test_embed_with_path": EMBEDS,
        "test_scores": EMBEDS,
        "test_nonnull_migrations": SQL,
        "test_sql_injection_vulnerability": SQL + ": its key has a period, and the error must be a ValueError",
        "test_escape_glob_literal": SQL,
        "test_namespace_match_pattern": SQL,
        "test_list_namespaces_prefix_uses_indexable_condition": SQL,
        "test_filter_keys_with_hyphens_and_digits": PERIOD,
    },
}


@pytest.fixture(scope="module")
def published():
    """The source distributions, which have the tests."""
    root = Path(os.environ.get("LOCI_TEST_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loci-tests")
    place = root / ("langgraph-stores-" + "-".join(one.rpartition("=")[2] for one in PUBLISHED))
    if not (place / "whole").exists():
        place.mkdir(parents=True, exist_ok=True)
        command = ["download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(place), *PUBLISHED]
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *command], check=True)
        for archive in place.glob("*.tar.gz"):
            with tarfile.open(archive) as packed:
                packed.extractall(place, **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
        (place / "whole").touch()
    return place


@pytest.mark.parametrize("file", FILES)
def test_langgraphs_own_tests(published, url, tmp_path, file):
    report = tmp_path / "report.xml"
    options = ["-q", "-p", "langgraph_store", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-W", "ignore", f"--junitxml={report}"]
    environment = {**os.environ, "LOCI_URL": url, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    directory = (published / file).parents[1]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(directory), "tests/test_store.py"]
    ran = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=400)
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert len(cases) > 30, ran.stdout[-2000:]
    outcomes = {case.get("name"): any(case.find(kind) is not None for kind in ("failure", "error", "skipped")) for case in cases}
    excused = {name for name in outcomes if any(part in name for part in EXCUSES.get(file, ()))}
    unexcused = {name for name, bad in outcomes.items() if bad} - excused
    assert not unexcused, "\n".join(sorted(unexcused)) + ran.stdout[-6000:]
    stale = [part for part in EXCUSES.get(file, ()) if not any(part in name and outcomes[name] for name in outcomes)]
    assert not stale, f"these hold now: take them out of EXCUSES: {stale}"

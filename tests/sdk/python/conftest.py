"""A server for the tests: the real program on a free port, with a store of its own."""

import os
import subprocess
import uuid

import pytest


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    store = "sqlite:" + str(tmp_path_factory.mktemp("loci") / "memory.db")
    environment = {**os.environ, "LOCI_SCOPES": "read,write,delete,delegate", "LOCI_LISTEN": "127.0.0.1:0"}
    command = [os.environ["LOCI"], "serve", "--store", store, "--user", "nobody"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    yield server.stdout.readline().strip()
    server.terminate()
    assert server.wait(timeout=30) == 0


@pytest.fixture
def user():
    """A memory of its own for each test."""
    return "user-" + uuid.uuid4().hex

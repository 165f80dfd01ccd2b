"""A server for the tests: the real program on a free port, with a store of its own."""

import os
import subprocess
import uuid
from pathlib import Path

import pytest

from loci_memory import Loci

ROOT = Path(__file__).parents[3]  # where the README says that a server is started


class Server:
    """`start` after a stop or a kill opens the same store at the same address."""

    def __init__(self, directory, scopes="read,write,delete,delegate", mode="none", store=None, flags=("--user", "nobody", "--tools", "notes,facts")):
        self._flags = flags
        self._store = store or "sqlite:" + str(directory / "memory.db")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCI")}
        self._environment |= {"LOCI_SCOPES": scopes, "XDG_CONFIG_HOME": str(directory), "LOCI_AUTH_MODE": mode}
        self._listen = "127.0.0.1:0"
        self.start()

    def start(self):
        command = [os.environ["LOCI"], "serve", "--listen", self._listen, "--store", self._store, *self._flags]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self._environment, text=True, cwd=ROOT)
        self.url = self._process.stdout.readline().strip()
        assert self.url, "loci serve did not start"
        self._listen = self.url.removeprefix("http://")

    def run(self, *arguments):
        """What another command says about the same store."""
        command = [os.environ["LOCI"], "--store", self._store, *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=self._environment, text=True, timeout=60).stdout.strip()

    def stop(self):
        if self._process.poll() is None:
            self._process.terminate()
            assert self._process.wait(timeout=30) == 0

    def kill(self):
        """As kill -9 does: nothing is tidied up before the end."""
        self._process.kill()
        self._process.wait(timeout=30)


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """A server that stays up."""
    server = Server(tmp_path_factory.mktemp("loci"))
    yield server.url
    server.stop()


@pytest.fixture
def server(tmp_path):
    """A server of the test's own, to stop and kill."""
    server = Server(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def user():
    """A memory of its own for each test."""
    return "user-" + uuid.uuid4().hex


@pytest.fixture
def memory(url, user):
    with Loci(url, user=user) as memory:
        yield memory


@pytest.fixture
def down():
    """A client whose server is not there."""
    with Loci("http://127.0.0.1:9", retries=0) as memory:
        yield memory

"""Processes that the suites share, and where they record."""

import os
import subprocess
from pathlib import Path

import pytest
from mcp.client import stdio

from harness.command import CLIENT_BIN, E2E, FIXTURE, FORK_SERVER, wrapped
from harness.peer import Peer


LONG = (
    "scenarios_rentals stopping published_same pushdown request_timeout sdk_clients catalogue conformance scenarios_config "
    "v5_telemetry scenarios_education slow_clients auth shared_store canaries clocks"
).split()
"""Files that take longest. They begin first, so that none of them runs alone at the end."""


def pytest_collection_modifyitems(items):
    def place(item):
        name = item.path.stem.removeprefix("test_")
        return LONG.index(name) if name in LONG else len(LONG)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def records_of_its_own(tmp_path_factory):
    """Sends the records of every test to a scratch directory, and checks at the end that the user's file is as it was."""
    before = users_records()
    scratch = tmp_path_factory.mktemp("records")
    scratched = {
        "PORTION_TELEMETRY": scratch / "telemetry.db",
        "XDG_DATA_HOME": scratch / "data",
        "XDG_STATE_HOME": scratch / "state",
    }
    for name, path in scratched.items():
        os.environ[name] = str(path)
        stdio.DEFAULT_INHERITED_ENV_VARS.append(name)
    yield
    assert users_records() == before, "a test wrote to the telemetry of the user who runs it"


def users_records(data=Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")):
    """The user's telemetry files with their sizes and times."""
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in (data / "portion").glob("telemetry.db*")}


@pytest.fixture(scope="session", autouse=True)
def fork_server(records_of_its_own):
    """Forks servers that import the SDK, as long as the tests run. Until it listens, they start alone."""
    command = [str(CLIENT_BIN / "python"), str(E2E / "harness/fork_server.py"), FORK_SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE):
        yield
    Path(FORK_SERVER).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def peer():
    """The fixture server behind Portion, one process a module."""
    with Peer(wrapped(FIXTURE)) as peer:
        yield peer


@pytest.fixture(scope="module")
def direct():
    """The fixture server as it is: what the payloads were."""
    with Peer(FIXTURE) as peer:
        yield peer

"""Processes that the suites share, and where they record."""

import os

import pytest
from mcp.client import stdio

from harness.command import FIXTURE, wrapped
from harness.peer import Peer


@pytest.fixture(scope="session", autouse=True)
def records_of_its_own(tmp_path_factory):
    """No test writes to the records of whoever runs it."""
    os.environ["PORTION_TELEMETRY"] = str(tmp_path_factory.mktemp("records") / "telemetry.db")
    stdio.DEFAULT_INHERITED_ENV_VARS.append("PORTION_TELEMETRY")


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

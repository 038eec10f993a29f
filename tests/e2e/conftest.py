"""Processes that the suites share."""

import pytest

from harness.command import FIXTURE, wrapped
from harness.peer import Peer


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

"""The clock of the machine jumps by an hour, forth and back, and no cursor ends early or late."""

import os
import shutil
import subprocess

import pytest

from harness.command import FIXTURE, wrapped
from harness.listening import Listening, served
from harness.load import Load
from harness.peer import Peer
from harness.redis import RedisServer
from harness.reply import Reply, items, lawful
from harness.waiting import until
from test_shared_store import Caller, make_key, redis  # noqa: F401

HOUR = 3_600
REQUESTS = int(os.environ.get("CLOCK_REQUESTS", "300"))

pytestmark = pytest.mark.skipif(not shutil.which("faketime"), reason="needs faketime")


class Clock:
    """A clock for processes with `environment`, which can be set to other times while they run."""

    def __init__(self, directory):
        self._file = directory / "clock"
        self.set(0)
        told = subprocess.run(["faketime", "-f", "+0", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True)
        self.environment = {
            "LD_PRELOAD": told.stdout.strip(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            # The time since the start of the machine is never set.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            # Times of files do not change with the clock.
            "NO_FAKE_STAT": "1",
        }

    def set(self, seconds):
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+}\n")
        new.replace(self._file)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture(params=["memory", "file", "redis"])
def environment(request, clock, tmp_path):
    """Variables with which Portion has this clock and this store."""
    environment = {**os.environ, **clock.environment, "XDG_STATE_HOME": str(tmp_path / "state"), "PORTION_STORE": request.param}
    if request.param == "redis":
        environment |= {"PORTION_STORE": request.getfixturevalue("redis").url(), "PORTION_CURSOR_KEYS": make_key()}
    return environment


@pytest.fixture
def wrapping(environment):
    """A function that starts Portion with this store, with more options."""
    return lambda *options: Peer(wrapped(FIXTURE, *options), env=environment)


def seconds_told(clock):
    told = subprocess.run(["date", "+%s"], capture_output=True, text=True, env=os.environ | clock.environment, check=True)
    return int(told.stdout)


def test_the_clock_of_these_tests_jumps(clock):
    before = seconds_told(clock)
    clock.set(HOUR)
    assert seconds_told(clock) >= before + HOUR
    clock.set(-HOUR)
    assert seconds_told(clock) < before - HOUR + 600


def test_no_cursor_ends_early(wrapping, clock):
    with wrapping("--snapshot-ttl", "10m") as peer:
        reply = lawful(peer.call("list_bookings"))
        seen, jump = items(reply), HOUR
        while reply.next:
            clock.set(jump)
            jump = -jump
            reply = lawful(peer.call("portion_read", cursor=reply.next))
            seen += items(reply)
        assert len(seen) == 500
        assert Reply(peer.call("count_calls", tool="list_bookings")).text == "1"


def test_a_walk_goes_on_after_a_jump_and_a_restart(wrapping, clock, request):
    if "memory" in request.node.callspec.id:
        pytest.skip("nothing is kept across a restart")
    with wrapping("--snapshot-ttl", "10m") as peer:
        first = lawful(peer.call("list_bookings"))
    for jump in (HOUR, -HOUR, 0):
        clock.set(jump)
        with wrapping("--snapshot-ttl", "10m") as peer:
            assert len(items(lawful(peer.call("portion_read", cursor=first.next)))) == 50


def test_no_cursor_ends_late(wrapping, clock):
    for jump in (-HOUR, HOUR):
        clock.set(0)
        with wrapping("--snapshot-ttl", "1s") as peer:
            first = lawful(peer.call("list_bookings"))
            clock.set(jump)

            def ended(cursor=first.next):
                result = peer.call("portion_read", cursor=cursor)
                return result.get("isError") and Reply(result).error["code"]

            # Each look restarts the time, so that the next one is after its end.
            assert until(ended, "the cursor ends", seconds=60, pause=3) == "cursor_expired"


def test_no_walk_fails_while_the_clock_jumps(environment, clock):
    with Listening(served("--admin", "off", "--", *FIXTURE), env=environment) as front:
        call_of = lambda number: Caller(front, credentials={"Authorization": f"Bearer {number}"}).call
        with Load(call_of) as load:
            while load.pace.count < REQUESTS:
                for jump in (HOUR, 0, -HOUR, 0):
                    clock.set(jump)
                    load.keeps_on(0.5)
            load.goes_on()
    print(load)

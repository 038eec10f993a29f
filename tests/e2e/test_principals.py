"""Callers who differ in a credential share nothing: each tries what each other was served, for every kind of credential."""

import base64
import json
import os
from itertools import product

import pytest

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.reply import Reply, items, lawful
from test_shared_store import Caller, calls

CALLERS = int(os.environ.get("PRINCIPALS", "8"))
SCHEMES = {
    "bearer": lambda name: {"Authorization": f"Bearer {name}"},
    "basic": lambda name: {"Authorization": f"Basic {base64.b64encode(f'{name}:x'.encode()).decode()}"},
    "no scheme": lambda name: {"Authorization": name},
    "proxy": lambda name: {"Proxy-Authorization": f"Bearer {name}"},
    "cookie": lambda name: {"Cookie": f"session={name}"},
    "X-API-Key": lambda name: {"X-API-Key": name},
    "Api-Key": lambda name: {"Api-Key": name},
    "X-Auth-Token": lambda name: {"X-Auth-Token": name},
    "session": lambda name: {},
}


@pytest.fixture(scope="module")
def front():
    with Listening(served("--admin", "off", "--", *FIXTURE)) as front:
        yield front


def callers_of(front, scheme, name):
    era = "2025-11-25" if scheme == "session" else "2026-07-28"
    return [Caller(front, era, SCHEMES[scheme](f"{name}-{number}")) for number in range(CALLERS)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nobody_reads_what_another_was_served(front, scheme):
    callers = callers_of(front, scheme, "reader")
    cursors = [lawful(caller.call("list_bookings")).next for caller in callers]
    errors = set()
    for (one, caller), (other, cursor) in product(enumerate(callers), enumerate(cursors)):
        result = caller.call("portion_read", cursor=cursor)
        if one == other:
            assert items(lawful(result))
        else:
            errors.add(json.dumps(result))
    assert len(errors) == 1 and "cursor_invalid" in errors.pop()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nobody_reads_without_a_cursor_what_another_was_served(front, scheme):
    """A page by number comes from a result that is kept, of the same caller only."""
    for caller in callers_of(front, scheme, "caller"):
        # With a session each caller has a server process of its own.
        before = calls(caller, "list_bookings")
        lawful(caller.call("list_bookings", page=2))
        assert calls(caller, "list_bookings") == before + 1, "the server is asked"
        lawful(caller.call("list_bookings", page=3))
        assert calls(caller, "list_bookings") == before + 1, "now it is kept"


def test_without_a_credential_nothing_is_kept_for_a_later_call(front):
    caller = Caller(front, credentials={})
    before = calls(caller, "list_bookings")
    for page in (1, 2, 2):
        lawful(caller.call("list_bookings", page=page))
    assert calls(caller, "list_bookings") == before + 3


def test_no_flipped_bit_of_a_cursor_is_accepted(front):
    caller, stranger = (Caller(front, credentials=SCHEMES["bearer"](name)) for name in ("owner", "stranger"))
    cursor = lawful(caller.call("list_bookings")).next
    foreign = set()
    for at, bit in product(range(len(cursor)), range(7)):
        forged = cursor[:at] + chr(ord(cursor[at]) ^ 1 << bit) + cursor[at + 1 :]
        assert Reply(caller.call("portion_read", cursor=forged)).error["code"] == "cursor_invalid", (at, bit)
        foreign.add(json.dumps(stranger.call("portion_read", cursor=forged)))
    foreign.add(json.dumps(stranger.call("portion_read", cursor=cursor)))
    assert len(foreign) == 1, "one error, whatever is near to a cursor of another caller"

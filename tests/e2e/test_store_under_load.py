"""The shared store is killed or hangs while callers walk lists: no request fails, and none waits long."""

import os

import pytest

from harness.figures import at_most
from harness.load import Load
from test_shared_store import Caller, Instance, keys, killed, redis, stopped  # noqa: F401

SECONDS = float(os.environ.get("LOAD_SECONDS", "3"))
"""With the store, without it, and with it again."""


@pytest.mark.parametrize("loss", [killed, stopped])
def test_no_request_fails_without_the_store(redis, keys, loss):  # noqa: F811
    with Instance(redis.url(), keys) as one, Instance(redis.url(), keys) as other:

        def call_of(number):
            return Caller((one, other)[number % 2], credentials={"Authorization": f"Bearer {number}"}).call

        with Load(call_of) as load:
            load.goes_on()
            with_store = load.keeps_on(SECONDS)
            ends = loss(redis)
            without = load.keeps_on(SECONDS)
            ends()
            again = load.keeps_on(SECONDS)
            load.goes_on()
    usual, *others = (load.pace.p99(*moments) for moments in (with_store, without, again))
    print(f"{load}; with the store {usual * 1000:.0f} ms, without and again {[round(other * 1000) for other in others]}")
    assert max(others) < usual + at_most(0.5)

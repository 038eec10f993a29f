"""The memory for results is filled several times over: none is lost before its time, and nobody loses one to another caller."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.reply import Reply, lawful
from test_shared_store import Caller

MEMORY_MIB = int(os.environ.get("FULL_MEMORY_MIB", "4"))
CALLERS = 8
NOISE_BYTES = 450_000
"""Of a result of `get_noise`, which hardly compresses: its base64 shrinks to three quarters."""


def results_for(times):
    """Results of each caller that together fill the memory so many times."""
    return -(-times * (MEMORY_MIB << 20) * 4 // 3 // NOISE_BYTES // CALLERS)


def callers_of(front):
    return [Caller(front, credentials={"X-API-Key": f"caller-{number}"}) for number in range(CALLERS)]


def kept(caller, count):
    """Cursors to `count` results of a caller, and the second page of each; results without a cursor are told."""
    replies = [Reply(caller.call("get_noise")) for _ in range(count)]
    for reply in replies:
        assert reply.next or "store_unavailable" in reply.meta, reply.meta
    return [reply.next for reply in replies if reply.next]


@pytest.mark.parametrize("times", [2, 10])
def test_with_the_disk_nothing_is_lost(times):
    with Listening(served("--snapshot-memory", f"{MEMORY_MIB}MiB", "--admin", "off", "--", *FIXTURE)) as front:
        callers, count = callers_of(front), results_for(times)
        with ThreadPoolExecutor(CALLERS) as pool:
            cursors = list(pool.map(lambda caller: kept(caller, count), callers))
            assert all(of_one for of_one in cursors)

            def read(caller, of_one):
                for cursor in of_one:
                    assert lawful(caller.call("portion_read", cursor=cursor)).text
                return len(of_one)

            read_again = sum(pool.map(read, callers, cursors))
    print(f"{read_again} of {count * CALLERS} results kept, {MEMORY_MIB} MiB filled {times} times")
    assert read_again == count * CALLERS or times * MEMORY_MIB > 2_048, "there was room for all"


def test_without_the_disk_a_caller_loses_its_own_only():
    options = ("--snapshot-memory", f"{MEMORY_MIB}MiB", "--snapshot-disk", "off", "--admin", "off")
    with Listening(served(*options, "--", *FIXTURE)) as front:
        *modest, greedy = callers_of(front)
        cursors = [lawful(caller.call("list_bookings")).next for caller in modest]
        expected = [caller.call("portion_read", cursor=cursor) for caller, cursor in zip(modest, cursors, strict=True)]
        kept(greedy, results_for(10) * CALLERS)
        again = [caller.call("portion_read", cursor=cursor) for caller, cursor in zip(modest, cursors, strict=True)]
        assert again == expected

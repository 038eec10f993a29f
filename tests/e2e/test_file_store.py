"""Results in a file that the processes of a user share: what is wrong with the disk is told, and damage is lost results."""

import sqlite3
from contextlib import closing

import pytest

from harness.reply import items, lawful
from harness.waiting import until
from test_shared_store import Caller, Instance, code, keys  # noqa: F401

DAMAGES = {
    "empty": lambda whole: b"",
    "short": lambda whole: whole[: len(whole) // 2],
    "without its last page": lambda whole: whole[:-4_096],
    "of another kind": lambda whole: b"X" + whole[1:],
    "of other bytes": lambda whole: whole[:4_096] + bytes(len(whole) - 4_096),
}
FULL = "CREATE TRIGGER full BEFORE INSERT ON fields BEGIN SELECT raise(ABORT, 'no space'); END"


@pytest.fixture
def snapshots(tmp_path):
    return tmp_path / "state/portion/snapshots"


@pytest.fixture
def instance(keys, tmp_path):  # noqa: F811
    """A function that starts an instance on the same file."""
    return lambda: Instance("file", keys, env={"XDG_STATE_HOME": str(tmp_path / "state")})


def change(snapshots, statement):
    """The rows of a statement in the file, which Portion has open as well."""
    with closing(sqlite3.connect(snapshots / "results.db", timeout=10, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def is_stored(snapshots):
    try:
        return (snapshots / "results.db").exists() and bool(change(snapshots, "SELECT 1 FROM fields"))
    except sqlite3.OperationalError:
        return False  # its tables are being made


def test_a_file_that_cannot_be_written_is_told_until_it_can(instance, snapshots):
    with instance() as one:
        caller = Caller(one)
        lawful(caller.call("list_bookings"))
        until(lambda: is_stored(snapshots), "it is stored")
        assert one.health()["store"]["backend"] == {"available": True, "problem": None, "failures": 0}
        change(snapshots, FULL)
        first = lawful(caller.call("list_bookings"))
        until(lambda: not one.is_connected(), "the store is lost")
        health = one.health()
        backend = health["store"]["backend"]
        assert health["status"] == "degraded" and any("snapshot store" in reason for reason in health["reasons"]), health
        assert backend["problem"] and backend["failures"] > 0, backend
        assert "portion_store_available 0" in one.admin("/metrics")
        assert items(lawful(caller.call("portion_read", cursor=first.next))), "it is in memory"
        change(snapshots, "DROP TRIGGER full")
        until(one.is_connected, "the store is found again")
        assert "portion_store_available 1" in one.admin("/metrics")


def test_a_directory_that_cannot_be_used_is_told(instance, snapshots):
    snapshots.parent.mkdir(parents=True)
    snapshots.write_text("")
    with instance() as one:
        caller = Caller(one)
        first = lawful(caller.call("list_bookings"))
        assert items(lawful(caller.call("portion_read", cursor=first.next))), "it is in memory"
        health = one.health()
        assert health["status"] == "degraded" and not health["store"]["backend"]["available"], health


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_emptied_and_its_results_have_expired(instance, snapshots, damage):
    with instance() as one:
        first = lawful(Caller(one).call("list_bookings"))
        until(lambda: is_stored(snapshots), "it is stored")
    file = snapshots / "results.db"
    change(snapshots, "PRAGMA wal_checkpoint(TRUNCATE)")
    file.write_bytes(damage(file.read_bytes()))
    with instance() as other:
        for _ in range(2):
            assert code(Caller(other).call("portion_read", cursor=first.next)) == "cursor_expired"
        assert other.is_connected(), "the store itself is not lost"
        again = lawful(Caller(other).call("list_bookings"))
    with instance() as third:
        assert items(lawful(Caller(third).call("portion_read", cursor=again.next))), "it was written"


def test_a_selection_is_read_elsewhere_at_once(instance):
    """A process writes after its reply: another waits for what is being written."""
    with instance() as one, instance() as other:
        callers = [Caller(one), Caller(other)]
        for number in range(10):
            first = lawful(callers[0].call("list_bookings"))
            # Another limit makes a view of its own.
            selected = lawful(callers[0].call("portion_read", cursor=first.next, fields="id,status", limit=5 + number))
            assert items(lawful(callers[1].call("portion_read", cursor=selected.next)))

"""V6: bad input gets an error that tells the way on; odd data get through; data that change do not mix."""

import json

import pytest

from fixture import corpus
from harness.command import FIXTURE, wrapped
from harness.peer import Peer
from harness.recorded import Recorded
from harness.reply import HARD_CAP, WIRE_BYTES, Reply, items, lawful, raw_joined, walk
from harness.wire import Wire


@pytest.fixture(scope="module")
def first(peer):
    return lawful(peer.call("list_bookings"))


def check_refused(result, code, *says):
    """Portion's error `code`, whose message or advice says each of `says`."""
    error = Reply(result).error
    assert error["code"] == code, error
    told = f"{error['message']} {error['advice']}"
    assert all(word in told for word in says), error
    assert "structuredContent" not in result


def crowd_out(peer):
    """Fills a store of 1 MiB with other snapshots, each of other bytes that no compression shortens by much."""
    for _ in range(8):
        lawful(peer.call("get_noise"))


# A small store that evicts.
EVICTING = {"PORTION_SNAPSHOT_MEMORY": "1MiB", "PORTION_SNAPSHOT_DISK": "off"}


def test_v6_1_a_cursor_whose_data_are_gone_advises_to_ask_anew():
    with Peer(wrapped(FIXTURE), env=EVICTING) as peer:
        gone = lawful(peer.call("list_bookings", count=400))
        crowd_out(peer)
        result = peer.call("portion_read", cursor=gone.next)
        check_refused(result, "cursor_expired", 'list_bookings again with {"count":400}', "without a cursor")


def test_v6_1_what_the_memory_has_no_room_for_is_kept_on_disk():
    with Peer(wrapped(FIXTURE), env={"PORTION_SNAPSHOT_MEMORY": "1MiB"}) as peer:
        first = lawful(peer.call("list_bookings"))
        expected = lawful(peer.call("portion_read", cursor=first.next))
        noise = [lawful(peer.call("get_noise")).meta["cursor"] for _ in range(8)]
        assert lawful(peer.call("portion_read", cursor=first.next)).result == expected.result
        assert all(lawful(peer.call("portion_read", cursor=cursor)) for cursor in noise)
        assert not list(walk(peer, first))[-1].next


def test_v6_1_where_there_is_no_room_no_cursor_is_issued():
    env = {"PORTION_SNAPSHOT_MEMORY": "1MiB", "PORTION_SNAPSHOT_DISK": "64KiB"}
    with Peer(wrapped(FIXTURE), env=env) as peer:
        first = lawful(peer.call("list_bookings"))
        replies = [Reply(peer.call("get_noise")) for _ in range(8)]
        refused = [reply for reply in replies if not reply.next]
        assert refused and all("ask for less" in reply.meta["store_unavailable"] for reply in refused)
        for reply in [first, *(reply for reply in replies if reply.next)]:
            lawful(peer.call("portion_read", cursor=reply.next))


def test_v6_1_nobody_is_told_to_repeat_a_call_that_may_have_acted():
    with Peer(wrapped(FIXTURE), env=EVICTING) as peer:
        gone = lawful(peer.call("import_bookings"))
        crowd_out(peer)
        result = peer.call("portion_read", cursor=gone.next)
        check_refused(result, "cursor_expired")
        assert "call import_bookings again" not in Reply(result).error["advice"]


def test_v6_1_a_cursor_of_another_process_is_invalid(peer, first):
    with Peer(wrapped(FIXTURE)) as other:
        check_refused(other.call("portion_read", cursor=first.next), "cursor_invalid")


def test_v6_1_a_walk_goes_on_after_a_restart(tmp_path):
    env = {"PORTION_STORE": "file", "XDG_STATE_HOME": str(tmp_path)}
    with Peer(wrapped(FIXTURE), env=env) as peer:
        first = lawful(peer.call("list_bookings"))
        expected = lawful(peer.call("portion_read", cursor=first.next))
    with Peer(wrapped(FIXTURE), env=env) as peer:
        page = lawful(peer.call("portion_read", cursor=first.next))
        assert page.result == expected.result
        assert not list(walk(peer, page))[-1].next
    with Peer(wrapped(FIXTURE, "--redact"), env=env) as peer:
        check_refused(peer.call("portion_read", cursor=first.next), "cursor_expired")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o77 == 0 for path in files), files


def test_v6_1_no_flipped_character_is_accepted(peer, first):
    good = first.next
    for at, was in enumerate(good):
        forged = good[:at] + ("A" if was != "A" else "B") + good[at + 1 :]
        check_refused(peer.call("portion_read", cursor=forged), "cursor_invalid")


@pytest.mark.parametrize("cursor", ["", "x", "A" * 48, "A" * 100_000, "é\u0000", "null"])
def test_v6_1_what_is_no_cursor_is_invalid(peer, cursor):
    check_refused(peer.call("portion_read", cursor=cursor), "cursor_invalid")


REFUSALS = [
    ({"limit": 500}, "limit_too_large", ["limit", "500", "maximum of 200"]),
    ({"limit": 0}, "limit_invalid", ["limit", "0"]),
    ({"limit": -3}, "limit_invalid", ["limit", "-3"]),
    ({"limit": "many"}, "limit_invalid", ["limit", "many"]),
    ({"page": 0}, "page_invalid", ["page", "0"]),
    ({"offset": -1}, "offset_invalid", ["offset", "-1"]),
    ({"fields": "id,statsu"}, "field_unknown", ["statsu", "status", "guest"]),
    ({"path": "/nowhere"}, "path_unknown", ["/nowhere"]),
    ({"section": "nowhere"}, "section_unknown", ["nowhere"]),
    ({"startLine": 9, "endLine": 3}, "range_invalid", ["9", "3"]),
    ({"sort": "id sideways"}, "sort_invalid", ["sideways"]),
    ({"maxTokens": 299}, "max_tokens_invalid", ["maxTokens", "299", "300"]),
    ({"maxTokens": 10**9}, "max_tokens_invalid", ["maxTokens", "12000"]),
    ({"page": 2, "offset": 50}, "controls_conflict", ["page", "offset"]),
]


@pytest.mark.parametrize(
    ("meant", "exact"),
    [
        ({"max_tokens": 900, "page_size": 10}, {"maxTokens": 900, "limit": 10}),
        ({"fields": "ID,Guest_Name"}, {"fields": "id,guest.name"}),
        ({"order_by": "ID desc"}, {"sort": "id desc"}),
    ],
    ids=str,
)
def test_v6_2_what_was_meant_is_done(peer, first, meant, exact):
    cursor = first.meta["cursor"]
    done = lawful(peer.call("portion_read", cursor=cursor, **meant), HARD_CAP)
    assert done.result == lawful(peer.call("portion_read", cursor=cursor, **exact), HARD_CAP).result


def test_v6_2_unknown_arguments_are_answered_with_the_right_one(peer, first):
    cursor = first.meta["cursor"]
    check_refused(peer.call("portion_read", cursor=cursor, filter="x"), "argument_unknown", "query", "SELECT")
    check_refused(peer.call("portion_read", cursor=cursor, sectoin="x"), "argument_unknown", "section")
    check_refused(peer.call("portion_query", cursor=cursor, where="x"), "argument_unknown", "SELECT")


def named(value):
    """In a test's name: the code alone."""
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("controls", "code", "says"), REFUSALS, ids=named)
def test_v6_2_malformed_controls_are_refused_with_what_is_allowed(peer, first, controls, code, says):
    check_refused(peer.call("portion_read", cursor=first.meta["cursor"], **controls), code, *says)


@pytest.mark.parametrize(("controls", "code", "says"), REFUSALS[:6], ids=named)
def test_v6_2_the_upstream_is_not_called_with_them(peer, controls, code, says):
    before = peer.call("count_calls", tool="list_bookings")
    check_refused(peer.call("list_bookings", **controls), code, *says)
    assert peer.call("count_calls", tool="list_bookings") == before


def test_v6_2_a_late_error_keeps_the_snapshot(peer):
    """Which fields there are is known after the call only: the error carries the cursor, nobody calls twice."""
    result = peer.call("list_bookings", fields="statsu")
    check_refused(result, "field_unknown", "status")
    cursor = Reply(result).error.get("cursor") or Reply(result).meta["cursor"]
    before = peer.call("count_calls", tool="list_bookings")
    again = lawful(peer.call("portion_read", cursor=cursor, fields="status"), HARD_CAP)
    assert items(again)[0].names() == ["status"]
    assert peer.call("count_calls", tool="list_bookings") == before


@pytest.mark.parametrize("counter", ["auto", "o200k", "chars4"])
def test_v6_3_the_byte_limit_holds_whatever_the_estimate(counter):
    with Wire(wrapped(FIXTURE), env={"PORTION_TOKENIZER": counter}) as wire:
        wire.open()
        line = wire.call(1, "read_text", name="padding")
        text = ""
        for number in range(2, 1000):
            assert len(line) <= WIRE_BYTES
            reply = Reply(json.loads(line)["result"])
            text += reply.text
            if not reply.next:
                break
            line = wire.call(number, "portion_read", cursor=reply.next)
    assert text == corpus.padding()


def test_v6_3_a_badly_wrong_estimate_is_noticed_logged_recorded_and_bounded_by_bytes(tmp_path):
    recorded = Recorded(tmp_path / "telemetry.db")
    options = ["--tokenizer", "len4", "--telemetry", str(recorded.path)]
    with Peer(wrapped(FIXTURE, *options)) as peer:
        for _ in range(2):
            result = peer.call("get_noise")
            Reply(result)
            assert len(json.dumps(result).encode()) <= 10 * 1024, "fallbackByteLimit"
        peer.call("list_bookings", count=40)
    noise = recorded.requests(2, "--endpoint", "get_noise")
    assert [record["outcome"] for record in noise] == ["capped", "capped"]
    assert all(record["actualTokens"] for record in recorded.requests(3)), "of a rule of thumb each reply is counted"
    assert recorded.one("--endpoint", "list_bookings")["outcome"] != "capped", "each endpoint stands for itself"
    warnings = [line for line in peer.said().splitlines() if "WARN" in line and "get_noise" in line]
    assert len(warnings) == 1 and "far too low" in warnings[0] and "portion calibrate" in warnings[0], peer.said()


def test_v6_4_deeply_nested_data_are_described_and_not_lost(peer):
    reply = lawful(peer.call("read_text", name="deep"))
    assert '"T-1"' in reply.text and '"tree"' in reply.text
    assert raw_joined(peer, reply) == corpus.deep()


def test_v6_4_an_image_passes_untouched(peer, direct):
    assert peer.call("get_image", kibibytes=100) == direct.call("get_image", kibibytes=100)


def test_v6_4_an_image_over_the_limit_is_described(peer):
    reply = lawful(peer.call("get_image", kibibytes=6 * 1024))
    assert not any(block["type"] == "image" for block in reply.result["content"])
    assert "image/png" in json.dumps(reply.result)


def test_v6_4_base64_is_not_served_as_if_it_were_prose(peer):
    reply = lawful(peer.call("read_text", name="photo"))
    assert reply.json["name"] == "Terrace" and reply.json["mime"] == "image/png"
    assert len(reply.json["bytes"]) < 2000


def test_v6_5_pages_are_of_one_moment_while_the_data_change(peer):
    first = lawful(peer.call("list_live"))
    rows = []
    for page in walk(peer, first):
        lawful(peer.call("list_live"))
        rows += [(row["id"], row["status"]) for row in items(page)]
    assert len(rows) == 500
    shifts = {(corpus.STATUSES.index(status) - int(name[3:])) % 5 for name, status in rows}
    assert len(shifts) == 1, "every row is of the same revision"

"""`portion_query`: questions are answered from what is kept, exactly, within the budget, and nothing they say does harm."""

import json
from statistics import median

import pytest

from fixture import corpus
from harness.command import FIXTURE, wrapped
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, lawful, walk
from harness.wire import Wire, request

BOOKINGS = json.loads(corpus.bookings())


def handle(peer, tool="list_bookings", **arguments):
    return lawful(peer.call(tool, **arguments)).meta["cursor"]


def asked(peer, cursor, budget=HARD_CAP, **question):
    """The answer, found to keep the laws."""
    reply = lawful(peer.call("portion_query", cursor=cursor, **question), budget)
    assert reply.meta["kind"] == "query" and reply.meta["matches"] >= 0
    return reply


def rows(reply):
    return json.loads(reply.text)


def refused(peer, cursor, **question):
    return Reply(peer.call("portion_query", cursor=cursor, **question)).error


def test_a_count_costs_next_to_nothing(peer):
    reply = asked(peer, handle(peer), sql="SELECT status, count(*) AS n FROM items GROUP BY status ORDER BY status")
    counted = {status: sum(b["status"] == status for b in BOOKINGS) for status in sorted(corpus.STATUSES)}
    assert {row["status"]: row["n"] for row in rows(reply)} == counted
    assert reply.meta["returned"] == reply.meta["matches"] == 5 and not reply.next
    assert reply.meta["estimatedTokens"] < 400


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*) AS n FROM items WHERE nights > 8", [{"n": sum(b["nights"] > 8 for b in BOOKINGS)}]),
        ('SELECT max("price.total") AS most FROM items', [{"most": 945.5}]),
        ("SELECT id FROM items WHERE \"guest.name\" = 'Ana Sousa' ORDER BY id LIMIT 2", [{"id": "BK-0007"}, {"id": "BK-0014"}]),
        ("SELECT item ->> '$.guest.email' AS mail FROM items WHERE id = 'BK-0042'", [{"mail": "guest42@example.org"}]),
        ("SELECT id FROM items WHERE 0", []),
    ],
)
def test_answers_are_exact(peer, sql, expected):
    assert rows(asked(peer, handle(peer), sql=sql)) == expected


def test_records_come_as_they_are(peer):
    reply = asked(peer, handle(peer), sql="SELECT item FROM items WHERE id = 'BK-0100'")
    assert reply.text == corpus.compact([corpus.booking(100)])


def test_an_answer_is_paged_like_any_list(peer):
    first = asked(peer, handle(peer), 4000, sql="SELECT id, nights FROM items")
    assert first.notice["totalCount"] == first.meta["matches"] == 500 and first.meta["returned"] <= 50
    walked = [row["id"] for reply in walk(peer, first) for row in rows(reply)]
    assert walked == [b["id"] for b in BOOKINGS]
    again = asked(peer, first.meta["cursor"], sql="SELECT sum(nights) AS n FROM items")
    assert rows(again) == [{"n": sum(b["nights"] for b in BOOKINGS)}], "an answer can be asked about, too"
    limited = asked(peer, handle(peer), sql="SELECT id FROM items", limit=3)
    assert [len(rows(limited)), limited.meta["matches"]] == [3, 500] and limited.next


def test_fields_of_found_records_and_bound_values(peer):
    cursor = handle(peer)
    found = asked(peer, cursor, sql="SELECT item FROM items WHERE id = :id", params={"id": "BK-0003"}, fields="id,price.total")
    assert rows(found) == [{"id": "BK-0003", "price": {"total": 420.5}}]


def test_text_is_found_with_its_lines(peer):
    log = corpus.traced_log()
    lines = log.split("\n")
    cursor = handle(peer, "read_text", name="traced_log")
    word = next(word for word in ("ERROR", "WARN") if word in log)
    reply = asked(peer, cursor, find=word)
    assert reply.meta["matches"] == sum(word in line for line in lines)
    for match in rows(reply):
        assert word in lines[match["line"] - 1] and lines[match["line"] - 1][:40] in match["text"]
        read = lawful(peer.call("portion_read", cursor=cursor, startLine=match["line"], endLine=match["line"]), HARD_CAP)
        assert word in read.text
    counted = asked(peer, cursor, sql=f"SELECT count(*) AS n FROM lines WHERE instr(text, '{word}')")
    assert rows(counted) == [{"n": reply.meta["matches"]}]


def test_a_regex_finds_records(peer):
    reply = asked(peer, handle(peer), find="/guest4[12]@/", fields="id")
    assert [match["item"]["id"] for match in rows(reply)] == ["BK-0041", "BK-0042"]
    path = rows(reply)[0]["path"]
    whole = lawful(peer.call("portion_read", cursor=handle(peer), path=path), HARD_CAP)
    assert json.loads(whole.text)["id"] == "BK-0041"


def test_nothing_is_found_and_said(peer):
    reply = asked(peer, handle(peer), find="no booking says this 7f3a")
    assert rows(reply) == [] and reply.meta["matches"] == 0


@pytest.mark.parametrize(
    ("question", "code", "named"),
    [
        ({"sql": "SELECT nightss FROM items"}, "query_invalid", "nights"),
        ({"sql": "SELEC 1"}, "query_invalid", "SELEC"),
        ({"sql": "SELECT id FROM booking"}, "query_invalid", "items"),
        ({"sql": "DELETE FROM items"}, "query_invalid", ""),
        ({"sql": "ATTACH '/tmp/x.db' AS x"}, "query_invalid", ""),
        ({"sql": "PRAGMA database_list"}, "query_invalid", ""),
        ({"sql": "SELECT 1; SELECT 2"}, "query_invalid", ""),
        ({"find": "/(/"}, "query_invalid", ""),
        ({}, "query_invalid", "sql"),
        ({"sql": "SELECT 1", "find": "x"}, "query_invalid", ""),
        ({"sql": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"}, "query_too_costly", ""),
        ({"sql": "SELECT 1", "limit": 100_000}, "limit_too_large", "200"),
        ({"sql": "SELECT 1", "colour": "red"}, "argument_unknown", "colour"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_on(peer, question, code, named):
    error = refused(peer, handle(peer), **question)
    assert error["code"] == code and named in error["message"] + error["advice"], error


def test_questions_without_end_hold_nobody_up():
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with Wire(wrapped(FIXTURE)) as wire:
        wire.open()
        wire.ask(request(1, "tools/list", {}))
        cursor = lawful(json.loads(wire.call(2, "list_bookings"))["result"]).meta["cursor"]
        for number in range(100, 108):
            arguments = {"cursor": cursor, "sql": endless}
            wire.send(request(number, "tools/call", {"name": "portion_query", "arguments": arguments}))
        wire.send(request(3, "ping", {}))
        before = wire.until(lambda message: message.get("id") == 3)
        assert len(before) == 1, "the ping is answered first"
        lawful(json.loads(wire.call(4, "portion_read", cursor=cursor))["result"])
        wire.close()
        answers = [json.loads(line) for line in iter(wire.line, b"")]
    assert sorted(answer["id"] for answer in answers) == list(range(100, 108)), "all are answered, although the client has left"
    assert {Reply(answer["result"]).error["code"] for answer in answers} == {"query_too_costly"}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT MEDIAN(nights) AS m FROM items WHERE guest.name ILIKE 'ANA%'", [{"m": float(median(b["nights"] for b in BOOKINGS if b["guest"]["name"].startswith("Ana")))}]),
        ("SELECT EXTRACT(month FROM checkIn::date) AS m, COUNT(*) AS n FROM items GROUP BY m ORDER BY m LIMIT 1", [{"m": 1, "n": sum("-01-" in b["checkIn"] for b in BOOKINGS)}]),
        ("SELECT TOP 1 id FROM items WHERE id ~ '^BK-00[12]' ORDER BY id DESC", [{"id": "BK-0029"}]),
        ("SELECT value FROM leaves WHERE path = '/6/property/city'", [{"value": "Lisboa"}]),
    ],
)
def test_other_dialects_are_understood(peer, sql, expected):
    assert rows(asked(peer, handle(peer), sql=sql)) == expected


def test_an_empty_answer_says_why(peer):
    reply = asked(peer, handle(peer), sql="SELECT id FROM items WHERE status = 'Confirmed' AND nights > 3")
    assert rows(reply) == [] and reply.meta["matchedAlone"]["status = 'Confirmed'"] == 0
    assert reply.meta["matchedAlone"]["nights > 3"] == sum(b["nights"] > 3 for b in BOOKINGS)
    assert "status has 'confirmed'" in reply.meta["hint"]


def test_two_results_are_joined(peer):
    cursor = handle(peer)
    cities = asked(peer, cursor, sql="SELECT property.id AS pid, MAX(property.city) AS city FROM items GROUP BY 1")
    sql = "SELECT b.city, COUNT(*) AS n FROM items JOIN b ON items.property.id = b.pid GROUP BY 1 ORDER BY n DESC, 1"
    joined = asked(peer, cursor, sql=sql, **{"with": {"b": cities.meta["cursor"]}})
    by_property = {row["pid"]: row["city"] for row in rows(asked(peer, cities.meta["cursor"], sql="SELECT * FROM items", fields="all"))}
    counted = {}
    for booking in BOOKINGS:
        city = by_property[booking["property"]["id"]]
        counted[city] = counted.get(city, 0) + 1
    assert {row["city"]: row["n"] for row in rows(joined)} == counted
    assert refused(peer, cursor, sql=sql, **{"with": {"b": "A" * 48}})["code"] == "cursor_invalid"
    assert refused(peer, cursor, sql=sql, **{"with": {"b c": cursor}})["code"] == "query_invalid"


def test_names_and_paths_in_a_search(peer):
    cursor = handle(peer)
    found = asked(peer, cursor, find="city", keys=True)
    assert found.meta["in"] == "keys" and found.meta["matches"] > 0
    assert "WHERE \"status\" = 'nowhere'" in asked(peer, cursor, find='"status":"nowhere"').meta["hint"]


def test_a_cursor_that_leads_nowhere(peer):
    assert refused(peer, "A" * 48, sql="SELECT 1")["code"] == "cursor_invalid"


def test_the_tool_can_be_renamed_and_left_out():
    def names(*options):
        with Peer(wrapped(FIXTURE, *options)) as peer:
            return [tool["name"] for tool in peer.tools()["tools"] if tool["name"].endswith(("_query", "_read"))]

    assert names() == ["portion_read", "portion_query"]
    assert names("--query-tool", "my_query") == ["portion_read", "my_query"]
    assert names("--query-tool", "none") == ["portion_read"]

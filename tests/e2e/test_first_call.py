"""Queries in the first call: the reply is the answer, and the same as that of the call followed by a query on its result."""

import json
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fixture import corpus
from harness import tokens
from harness.command import FIXTURE, PORTION, wrapped
from harness.corpus_api import OPENAPI, CorpusApi
from harness.fronts import opened
from harness.listening import Listening, served
from harness.peer import Peer
from harness.recorded import Recorded
from harness.reply import HARD_CAP, Reply, lawful

BOOKINGS = json.loads(corpus.bookings())
MCP_FRONTS = [(front, mode) for front in ("wrap", "serve") for mode in ("legacy", "2026-07-28")]
# The fixture is of the first era, and tools of a REST API are of both.
IN_BOTH_ERAS = {"list_bookings", "search_bookings", "get_booking", "get_small_booking", "get_noise", "read_text"}
# Results of the fixture: empty, small, huge, an object, a log, a document, texts in structured results, and many blocks.
RESULTS = [
    ("list_bookings", {"count": 0}),
    ("list_bookings", {"count": 3}),
    ("list_bookings", {}),
    ("search_bookings", {}),
    ("get_all_structured", {"count": 3}),
    ("get_all_structured", {}),
    ("get_all_result", {}),
    ("get_booking", {}),
    ("get_small_booking", {}),
    ("get_log_result", {}),
    ("get_blocks", {}),
    ("get_noise", {}),
    *(("read_text", {"name": name}) for name in ("short_log", "traced_log", "short_text", "manual", "oddities", "deep")),
]
QUERIES = [
    "SELECT count(*) AS n FROM items",
    "SELECT * FROM items LIMIT 3",
    "select id, status from items where status = 'pending' limit 60",
    "SELECT * FROM entries ORDER BY time DESC LIMIT 2",
    "DESCRIBE items",
    "SELECT nothing FROM nowhere",
    "pending",
    "/BK-00\\d7/",
    "no such text anywhere",
]


@contextmanager
def mcp(front, mode, *options):
    """A client of one era, on the fixture, or on the same results from a REST API."""
    with ExitStack() as stack:
        server = ["--", *FIXTURE]
        if mode != "legacy":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            (folder / "openapi.json").write_text(json.dumps(OPENAPI))
            server = ["--openapi", str(folder / "openapi.json"), "--upstream", stack.enter_context(CorpusApi()).url]
        if front == "wrap":
            target = [PORTION, "wrap", *options, *server]
        else:
            target = stack.enter_context(Listening(served("--admin", "off", *options, *server))).url
        yield stack.enter_context(Peer(target, mode=mode))


def library(folder):
    """The command of a server with the files of a folder."""
    return [FIXTURE[0], str(Path(FIXTURE[1]).with_name("library.py")), str(folder)]


def without_cursors(value):
    """A reply without what differs between equal ones: cursors, and counts that include them."""
    names = {"cursor", "nextCursor", "originalCursor", "estimatedTokens", "budgetUsed", "budgetRemaining", "next"}
    if isinstance(value, dict):
        return {name: without_cursors(inner) for name, inner in value.items() if name not in names}
    return value


def told(result):
    """What a reply says: its texts, and its notice."""
    reply = Reply(result)
    if result.get("isError"):
        return without_cursors(reply.error)
    return reply.texts, without_cursors(reply.notice)


@pytest.mark.parametrize(("front", "mode"), MCP_FRONTS)
def test_a_query_in_the_first_call_is_a_query_on_its_result(front, mode):
    with mcp(front, mode) as peer:
        for tool, arguments in RESULTS:
            if mode != "legacy" and tool not in IN_BOTH_ERAS:
                continue
            for query in QUERIES:
                where = f"{tool} {arguments} {query}"
                asked = peer.call(tool, **arguments, query=query)
                reply = Reply(asked)
                cursor = reply.error["cursor"] if asked.get("isError") else reply.meta["originalCursor"]
                # The noise differs at each call.
                if tool != "get_noise":
                    plain = Reply(peer.call(tool, **arguments))
                    cursor = plain.meta.get("cursor", cursor)
                after = peer.call("portion_query", cursor=cursor, query=query)
                assert told(asked) == told(after), where
                if not asked.get("isError"):
                    lawful(asked, HARD_CAP)


@pytest.mark.parametrize("front", ["wrap", "serve"])
def test_an_error_of_the_server_is_shown_whatever_the_query(front):
    with mcp(front, "legacy") as peer:
        for tool in ("fail", "fail_briefly", "fail_structured"):
            plain, asked = peer.call(tool), peer.call(tool, query="SELECT count(*) FROM items")
            assert plain["isError"] is asked["isError"] is True
            assert Reply(asked).texts == Reply(plain).texts, tool


@pytest.mark.parametrize("name", ["wrapped", "REST through serve", "portion http"])
def test_all_fronts_give_the_same_answer(name):
    wanted = {status: sum(b["status"] == status for b in BOOKINGS) for status in corpus.STATUSES}
    statement = "SELECT status, count(*) AS n FROM items GROUP BY status"
    with opened(name) as front:
        asked = front.call("list_bookings", query=statement)
        assert {row["status"]: row["n"] for row in json.loads(asked.text)} == wanted
        assert asked.cost < 250 and asked.kind == "query"
        original = asked.meta["originalCursor"]
        again = front.at(asked, original, query=statement)
        assert again.text == asked.text
        empty = front.call("list_bookings", count=0, query="SELECT count(*) AS n FROM items")
        assert json.loads(empty.text) == [{"n": 0}]
        missing = front.call("list_bookings", query="SELECT state FROM items").error
        assert missing["code"] == "query_invalid" and "status," in missing["advice"] and missing["cursor"]
        other = front.call("list_bookings", count=100, query="SELECT 1").meta["originalCursor"]
        joined = f"SELECT count(*) AS n FROM items a JOIN b.items b ON a.id = b.id"
        both = {"b": other} if name != "portion http" else f"b:{other}"
        assert json.loads(front.call("list_bookings", query=joined, **{"with": both}).text) == [{"n": 100}]


def test_wrong_names_cost_one_call():
    with Peer(wrapped(FIXTURE)) as peer:
        for query in ("SELECT guest_mail FROM items", "SELECT id FROM bookings", "SELECT state FROM items WHERE nigths > 2"):
            result = peer.call("list_bookings", query=query)
            error = Reply(result).error
            assert sum(map(tokens.count, Reply(result).all_texts)) <= 250, error
            assert "items(" in error["advice"] and error["advice"].count("items(") == 1, error
            answer = peer.call("portion_query", cursor=error["cursor"], query='SELECT "guest.email" FROM items LIMIT 1')
            assert json.loads(Reply(answer).text) == [{"guest.email": BOOKINGS[0]["guest"]["email"]}]
        near = Reply(peer.call("list_bookings", query="SELECT guest_mail FROM items")).error["advice"]
        assert near.index("guest.email") < near.index("nights"), near


@pytest.mark.parametrize(
    "empty",
    [
        [],
        {"items": [], "total": 0},
        {"result": []},
        {"ok": True, "data": {"rows": []}},
        {"results": [], "facets": [{"state": "CA"}]},
        {"data": [], "included": [{"id": 1}, {"id": 2}]},
        {"schema": {"fields": [{"name": "id"}]}, "rows": [], "totalRows": "0"},
        {"items": [], "errors": []},
        {"items": None, "total": 0},
    ],
)
def test_an_empty_list_has_no_rows(tmp_path, empty):
    (tmp_path / "rows.json").write_text(json.dumps(empty))
    with Peer(wrapped(library(tmp_path))) as peer:
        for more in ({}, {"limit": 1}):
            counted = Reply(peer.call("get_document", name="rows.json", query="SELECT count(*) AS n FROM items", **more))
            assert json.loads(counted.text) == [{"n": 0}]
        cursor = counted.meta["originalCursor"]
        for query in ("SELECT * FROM items", "SELECT id FROM items WHERE state = 'CA'"):
            assert json.loads(Reply(peer.call("portion_query", cursor=cursor, query=query)).text) == []


def test_null_columns_of_a_star_are_left_out(tmp_path):
    rows = [{"id": n, "name": None, "note": None, "size": n or None} for n in range(60)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    with Peer(wrapped(library(tmp_path))) as peer:
        star = Reply(peer.call("get_document", name="rows.json", query="SELECT * FROM items WHERE id < 2"))
        assert json.loads(star.text) == [{"id": 0, "size": None}, {"id": 1, "size": 1}]
        assert star.meta["nullColumns"] == "2 left out: name, note"
        named = Reply(peer.call("get_document", name="rows.json", query="SELECT id, name FROM items WHERE id < 1"))
        assert json.loads(named.text) == [{"id": 0, "name": None}]


def test_fields_of_records_take_no_column_of_an_answer():
    with Peer(wrapped(FIXTURE)) as peer:
        for query, columns in [("SELECT status, count(*) AS n FROM items GROUP BY 1", {"status", "n"}), ("SELECT max(nights) AS most FROM items", {"most"})]:
            reply = Reply(peer.call("list_bookings", fields="id,status", query=query))
            assert {*json.loads(reply.text)[0]} == columns
        asked = Reply(peer.call("list_bookings", fields="id", query="SELECT id, nights FROM items LIMIT 1"))
        assert {*json.loads(asked.text)[0]} == {"id"}


def test_a_summary_is_listed_with_the_share_that_it_shows():
    with Peer(wrapped(FIXTURE)) as peer:
        peer.call("get_booking")
        [kept] = json.loads(Reply(peer.call("portion_read")).text)["kept"]
        assert int(kept["read"].removesuffix(" %")) < 50, kept


def recorded(folder, query):
    """The record of a first call with a query, whose size is that of the result."""
    record = Recorded(folder / "records.db")
    with Peer(wrapped(FIXTURE, "--telemetry", str(record.path))) as peer:
        peer.call("list_bookings", query=query)
    row = record.one()
    assert row["originalBytes"] == len(corpus.bookings().encode())
    return row


def test_the_record_is_that_of_the_call(tmp_path):
    row = recorded(tmp_path, "SELECT count(*) FROM items")
    assert row["outcome"] == "queried" and not row["followUp"] and row["queryUsed"]


def test_the_record_of_a_wrong_name_has_the_size_of_the_result(tmp_path):
    assert recorded(tmp_path, "SELECT nightss FROM items")["outcome"] == "refused"


def test_redaction_applies_to_queries_in_the_first_call():
    with Peer(wrapped(FIXTURE, "--redact", "email")) as peer:
        for query in ('SELECT "guest.email" FROM items LIMIT 2', "guest7@example.org", "/guest\\d+@/"):
            assert "@example.org" not in json.dumps(peer.call("list_bookings", query=query)).replace(query, "")


def test_an_argument_of_the_tool_itself_stays_its_own(tmp_path):
    with Peer(wrapped(FIXTURE, "--query-argument", "ask")) as peer:
        listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in peer.tools()["tools"]}
        assert "ask" in listed["list_bookings"] and "query" not in listed["list_bookings"]
        assert json.loads(Reply(peer.call("list_bookings", ask="SELECT count(*) AS n FROM items")).text) == [{"n": 500}]
        assert "unknown arguments: query" in Reply(peer.call("list_bookings", query="SELECT 1")).text
    with Peer(wrapped(FIXTURE, "--query-argument", "none")) as peer:
        listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in peer.tools()["tools"]}
        assert "query" not in listed["list_bookings"]
        assert "unknown arguments: query" in Reply(peer.call("list_bookings", query="SELECT 1")).text


def test_kept_results_are_listed():
    with Peer(wrapped(FIXTURE)) as peer:
        assert json.loads(Reply(peer.call("portion_read")).text) == {"kept": []}
        peer.call("get_small_booking")
        first = Reply(peer.call("list_bookings"))
        peer.call("read_text", name="traced_log", query="SELECT count(*) FROM entries")
        listed = Reply(peer.call("portion_read"))
        assert sum(map(tokens.count, listed.all_texts)) <= 300
        log, bookings = json.loads(listed.text)["kept"]
        assert (log["tool"], log["arguments"], log["lines"], log["read"]) == ("read_text", {"name": "traced_log"}, 10_000, "0 %")
        assert (bookings["tool"], bookings["records"], bookings["bytes"]) == ("list_bookings", 500, len(corpus.bookings().encode()))
        assert bookings["read"] == f"{first.meta['served'] * 100 // 500} %"
        assert Reply(peer.call("portion_read", cursor=bookings["cursor"])).json[0] == first.json[0]
        for count in range(40):
            peer.call("list_bookings", count=300 + count)
        many = Reply(peer.call("portion_read"))
        assert sum(map(tokens.count, many.all_texts)) <= 300
        kept = json.loads(many.text)
        assert kept["more"] > 10 and kept["kept"][0]["arguments"] == {"count": 339}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_instructions_say_how_to_ask_first(mode):
    with mcp("wrap", mode) as peer:
        said = peer.handshake(has_all=True)["instructions"]
        assert "query" in said and tokens.count(said) <= 60
    with mcp("wrap", mode, "--query-argument", "none") as peer:
        assert "Ask in" not in peer.handshake(has_all=True).get("instructions", "")


def test_what_is_listed_is_small():
    with Peer(FIXTURE) as peer:
        direct = {tool["name"]: tool for tool in peer.tools()["tools"]}
    with Peer(wrapped(FIXTURE)) as peer:
        lists = [json.dumps(peer.tools(), separators=(",", ":")) for _ in range(2)]
        assert lists[0] == lists[1]
        *listed, read, query = json.loads(lists[0])["tools"]
    assert cost(read) + cost(query) <= 170
    properties = {tool["name"]: set(tool["inputSchema"]["properties"]) - set(direct[tool["name"]]["inputSchema"]["properties"]) for tool in listed}
    assert properties["list_bookings"] == {"limit", "cursor", "fields", "query"} and properties["get_booking"] == {"query"}
    assert properties["import_bookings"] == properties["get_image"] == set()
    for tool in listed:
        assert cost(tool["inputSchema"]) - cost(direct[tool["name"]]["inputSchema"]) <= 30
        assert all("type" in schema for schema in tool["inputSchema"]["properties"].values())


def cost(value):
    return tokens.count(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

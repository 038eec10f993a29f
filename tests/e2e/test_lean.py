"""`--lean`: replies aim at 1,200 tokens, like records come as tables, secrets stay hidden, and the laws hold on every path."""

import json

import pytest

from fixture import corpus
from harness.command import FIXTURE, SDK_FIXTURE, wrapped
from harness.dense import records
from harness.peer import Peer
from harness.reply import Reply, again, exact, lawful, walk

AIM = 1200
HARD_CAP = 4000
IDS = [f"BK-{number:04}" for number in range(1, 501)]


@pytest.fixture(scope="module")
def peer():
    with Peer(wrapped(FIXTURE, "--lean")) as peer:
        yield peer


@pytest.fixture(scope="module")
def sdk():
    with Peer(wrapped(SDK_FIXTURE, "--lean")) as peer:
        peer.tools()
        yield peer


def spelled(value):
    """`exact` JSON as objects, whose order is nothing."""
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        value = dict(value)
    if isinstance(value, dict):
        return {name: spelled(inner) for name, inner in value.items()}
    return [spelled(inner) for inner in value] if isinstance(value, list) else value


def test_a_list_is_told_of_and_walked_in_tables(peer):
    first = lawful(peer.call("list_bookings"), AIM)
    assert first.meta["rows"] == "dense" and first.notice["totalCount"] == 500
    replies = list(walk(peer, first, AIM))
    assert [row["id"] for reply in replies for row in records(reply)] == IDS
    assert [reply.meta["offset"] for reply in replies] == [
        sum(reply.meta["served"] for reply in replies[:n]) for n in range(len(replies))
    ]


def test_all_fields_joined_are_the_list(peer):
    first = lawful(peer.call("list_bookings"), AIM)
    pages = again(peer, first, HARD_CAP, fields="all")
    assert any(page.meta.get("rows") == "dense" for page in pages)
    joined = [spelled(row) for page in pages for row in records(page, read=exact)]
    assert joined == [spelled(row) for row in exact(corpus.bookings())]


def test_a_table_keeps_its_place(peer):
    first = lawful(peer.call("search_bookings"), AIM)
    pages = list(walk(peer, first, AIM))
    assert [row["id"] for page in pages for row in records(page, "data", "items")] == IDS
    assert json.loads(first.text)["status"] == "ok"


def test_what_is_asked_for_is_served_within_the_cap(peer):
    for controls in ({"limit": 100, "fields": "id,nights"}, {"limit": 200}, {"fields": "all"}):
        first = lawful(peer.call("list_bookings", **controls), HARD_CAP)
        assert records(first)[0]["id"] == IDS[0]
    named = lawful(peer.call("list_bookings", limit=100, fields="id,nights"), HARD_CAP)
    assert [row["id"] for row in records(named)] == IDS[:100]


def test_programs_get_objects(peer, sdk):
    for client, tool, key in ((peer, "get_all_structured", "bookings"), (sdk, "list_bookings", "bookings")):
        # The SDK holds it against the schema that is listed.
        first = lawful(client.call(tool, count=300), AIM)
        rows = first.structured[key]
        assert rows and all(isinstance(row, dict) for row in rows)
        assert [row["id"] for row in rows] == IDS[: len(rows)]
        assert rows == json.loads(corpus.bookings())[: len(rows)], "whole, if fewer than the text shows"
        walked = [row["id"] for reply in walk(client, first, AIM) for row in records(reply, key)]
        assert walked == IDS[:300]


def test_text_is_walked_to_its_end(peer):
    for first in (
        peer.call("read_text", name="manual"),
        peer.call("read_text", name="traced_log"),
        peer.prompt("review_log"),
        peer.call("fail"),
    ):
        first = lawful(first, AIM)
        text = corpus.manual() if first.text.startswith("# The manual") else corpus.traced_log()
        assert "".join(reply.text for reply in walk(peer, first, AIM)) == text


def test_resources_keep_the_laws(peer):
    first = lawful(peer.read("fixture://bookings"), AIM)
    assert [row["id"] for reply in walk(peer, first, AIM) for row in records(reply)] == IDS
    first = lawful(peer.read("fixture://log"), AIM)
    assert "".join(reply.text for reply in walk(peer, first, AIM)) == corpus.traced_log()


def test_an_object_is_summarized(peer):
    first = lawful(peer.call("get_booking"), AIM)
    whole = json.loads(corpus.big_booking())
    sections = first.meta["detailsAvailable"]["sections"]
    read = lawful(peer.call("portion_read", cursor=first.meta["cursor"], section="financials"), HARD_CAP)
    assert "financials" in sections and json.loads(read.text)["currency"] == whole["financials"]["currency"]


def test_the_first_reply_tells_of_the_whole_and_no_other_does(peer):
    for tool, arguments, said in (
        ("list_bookings", {}, (f"sum {sum(n % 9 + 1 for n in range(1, 501))}", "confirmed=100")),
        ("read_text", {"name": "traced_log"}, ("ERROR", "INFO")),
        ("read_text", {"name": "manual"}, ("Chapter",)),
    ):
        first = lawful(peer.call(tool, **arguments), AIM)
        about = json.dumps(first.meta["about"])
        assert all(word in about for word in said), about
        following = lawful(peer.call("portion_read", cursor=first.next), AIM)
        assert "about" not in following.meta


def test_a_question_costs_little(peer):
    cursor = lawful(peer.call("list_bookings"), AIM).meta["cursor"]
    counted = lawful(peer.call("portion_query", cursor=cursor, sql="SELECT status, count(*) AS n FROM items GROUP BY 1"), AIM)
    assert sum(row["n"] for row in records(counted)) == 500
    long = lawful(peer.call("portion_query", cursor=cursor, sql="SELECT id, nights, checkIn FROM items"), AIM)
    walked = [row["id"] for reply in walk(peer, long, AIM) for row in records(reply)]
    assert walked == IDS


SECRETS = [{"id": n, "guest": f"Guest {n}", "doorCode": f"49-{n:04}-secret", "api_key": f"sk-{n}-secret"} for n in range(400)]


@pytest.mark.parametrize("count", [1, 400])
def test_secrets_are_hidden_and_said(sdk, count):
    shown = lawful(sdk.call("echo", text=json.dumps(SECRETS[:count])), AIM)
    everything = json.dumps(shown.result)
    assert "-secret" not in everything and "Guest 0" in everything
    assert {"doorCode", "api_key"} <= {name.split(".")[-1] for name in shown.meta["redacted"]}
    cursor = shown.meta["cursor"]
    for arguments in ({"raw": True}, {"fields": "all"}, {"path": "/0/doorCode"}):
        read = sdk.call("portion_read", cursor=cursor, **arguments)
        assert "-secret" not in json.dumps(read)
    for question in ({"sql": "SELECT doorCode, api_key, item FROM items"}, {"find": "-secret"}, {"find": "49-0000"}):
        answer = lawful(sdk.call("portion_query", cursor=cursor, **question), HARD_CAP)
        assert "-secret" not in json.dumps(answer.result), question
        assert answer.meta["redacted"], "the answer says what it could not see"


def test_what_is_small_and_holds_no_secret_is_untouched(sdk):
    result = sdk.call("echo", text='{"id":1,"guest":"Ana"}')
    assert Reply(result).text == '{"id":1,"guest":"Ana"}' and not Reply(result).notice

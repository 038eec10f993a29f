"""`envelope: wrap` replays the flows of a data model: each reply has the types that are written here."""

import json

import jsonschema
import pytest
import requests

from harness.command import FIXTURE, PORTION, with_sdk, wrapped
from harness.hostaway import full_listing, full_reservation
from harness.listening import Listening
from harness.peer import Peer
from harness.reply import Reply
from harness.rest_stub import RestStub

RENTALS = with_sdk("fixture/rentals.py")
OPTIONS = ["--profile", "hostaway", "--envelope", "wrap"]
CURSOR = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}


def record(required, **properties):
    return {"type": "object", "properties": properties, "required": required}


PAGE = record(
    ["items", "nextCursor", "meta"],
    items={"type": "array"},
    nextCursor=CURSOR,
    meta=record(["totalCount", "pageSize", "hasMore"], totalCount=COUNT, pageSize=COUNT, hasMore={"type": "boolean"}),
)
SUMMARY = record(
    ["summary", "meta"],
    summary={"type": "object"},
    meta=record(
        ["kind", "totalFields", "projectedFields", "detailsAvailable"],
        kind={"enum": ["preview", "full"]},
        totalFields=COUNT,
        projectedFields={"type": "array", "items": {"type": "string"}},
        detailsAvailable={"type": "object"},
    ),
)
ENDPOINT = record(["endpoint", "parameters"], endpoint={"type": "string"}, parameters={"type": "object"})
CHUNK = record(
    ["content", "chunkIndex", "totalChunks", "nextCursor", "metadata"],
    content={"type": "string"},
    chunkIndex=COUNT,
    totalChunks=COUNT,
    nextCursor=CURSOR,
    metadata=record(["startLine", "endLine", "totalLines", "bytesInChunk"], startLine=COUNT, endLine=COUNT, totalLines=COUNT, bytesInChunk=COUNT),
)


def valid(value, schema):
    jsonschema.validate(value, schema)
    return value


def page(value):
    valid(value, PAGE)
    assert (value["nextCursor"] is None) == (not value["meta"]["hasMore"])
    return value


@pytest.fixture(scope="module")
def rentals():
    with Peer(wrapped(RENTALS, *OPTIONS)) as peer:
        peer.tools()
        yield peer


def test_pages_of_a_tool(rentals):
    reply, ids = page(json.loads(Reply(rentals.call("search_bookings")).all_texts[0])), []
    while True:
        ids += [booking["id"] for booking in reply["items"]]
        if reply["nextCursor"] is None:
            break
        reply = page(json.loads(Reply(rentals.call("portion_read", cursor=reply["nextCursor"])).all_texts[0]))
    assert ids == [13010000 + number for number in range(500)]


def test_summaries_of_a_tool(rentals):
    summary = valid(json.loads(Reply(rentals.call("get_booking_details", booking_id="13010007")).all_texts[0]), SUMMARY)
    assert summary["meta"]["kind"] == "preview" and summary["meta"]["totalFields"] > 100
    details = valid(summary["meta"]["detailsAvailable"], ENDPOINT)
    whole = json.loads(Reply(rentals.call(details["endpoint"], **details["parameters"])).all_texts[0])
    assert len(whole["content"]["result"]) == summary["meta"]["totalFields"] > len(summary["summary"]["result"])


def test_chunks_of_a_tool():
    with Peer(wrapped(FIXTURE, "--envelope", "wrap")) as peer:
        reply, index = json.loads(Reply(peer.call("read_text", name="short_log")).all_texts[0]), 0
        for _ in range(4):
            valid(reply, CHUNK)
            assert reply["chunkIndex"] == index
            index += 1
            reply = json.loads(Reply(peer.call("portion_read", cursor=reply["nextCursor"])).all_texts[0])


def booking():
    return full_reservation(12345) | {"comment": "A long story. " * 900}


@pytest.fixture(scope="module")
def api():
    listings = [full_listing(number) for number in range(60)]
    routes = {"GET /api/v1/listings": lambda request: listings, "GET /api/v1/bookings/BK12345": lambda request: booking()}
    with RestStub(routes) as stub:
        with Listening([PORTION, "http", "--upstream", stub.url, "--listen", "127.0.0.1:0", "--admin", "off", *OPTIONS]) as proxy:
            yield proxy.url.split(" ")[0].rstrip("/"), stub


def get(url, path):
    return requests.get(url + path, timeout=30).json()


def test_pages_over_http(api):
    url, _ = api
    first = page(get(url, "/api/v1/listings?limit=50"))
    assert len(first["items"]) == 50 and first["meta"]["totalCount"] == 60
    second = page(get(url, f"/api/v1/listings?cursor={first['nextCursor']}"))
    assert len(second["items"]) == 10 and second["nextCursor"] is None


def test_summaries_over_http_and_the_whole_object(api):
    url, _ = api
    summary = valid(get(url, "/api/v1/bookings/BK12345"), SUMMARY)
    details = valid(summary["meta"]["detailsAvailable"], ENDPOINT)
    assert details["endpoint"] == "/api/v1/bookings/BK12345" and details["parameters"]["fields"] == "all"
    hidden = {"doorCode", "doorCodeInstruction", "guestEmail", "phone"}
    expected = {name: value for name, value in booking().items() if name not in hidden}
    for query in ("fields=all", "&".join(f"{name}={value}" for name, value in details["parameters"].items())):
        response = requests.get(f"{url}{details['endpoint']}?{query}", timeout=30)
        # The plain object: no envelope and no metadata among its fields.
        whole = response.json()
        assert {name: whole[name] for name in expected if name in whole} == expected and set(whole) == set(booking())
        assert response.headers["x-portion-kind"] == "whole"

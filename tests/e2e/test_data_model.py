"""S3: with the profile `hostaway`, each reply has a type of the data model of rental servers."""

import base64
import datetime
import json
import subprocess
import time
from contextlib import contextmanager

import jsonschema
import pytest
import requests

from harness.command import FIXTURE, PORTION, with_sdk, wrapped
from harness.data_model import TELEMETRY_RECORD, parsed
from harness.fronts import ADA, proxy
from harness.hostaway import CLIENT_ID, CLIENT_SECRET, Hostaway, full_listing, full_reservation
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import Reply
from harness.rest_stub import RestStub

RENTALS = with_sdk("fixture/rentals.py")
PROFILE = ["--profile", "hostaway"]
CREDENTIALS = {"HOSTAWAY_CLIENT_ID": CLIENT_ID, "HOSTAWAY_CLIENT_SECRET": CLIENT_SECRET}
FRONTS = ["wrapped", "wrapped with prefix", "REST through serve", "portion http"]
IDS = [13010000 + number for number in range(500)]
# Calls of each tool, and its path on the REST front.
CALLS = {
    "search_bookings": ({}, "/v1/reservations"),
    "get_booking_details": ({"booking_id": "13010007"}, "/v1/reservations/{booking_id}"),
    "get_guest_info": ({"booking_id": "13010007"}, None),
    "list_properties": ({}, "/v1/listings"),
    "get_property_details": ({"listing_id": "40003"}, "/v1/listings/{listing_id}"),
    "check_availability": ({"listing_id": "40001", "start_date": "2026-01-01", "end_date": "2026-12-31"}, "/v1/listings/{listing_id}/calendar"),
    "get_financial_reports": ({"start_date": "2026-01-01", "end_date": "2026-12-31"}, None),
    "list_conversations": ({}, "/v1/conversations"),
    "list_tasks": ({}, "/v1/tasks"),
    "list_reviews": ({}, "/v1/reviews"),
}
CONTROLS = {
    "search_bookings": [
        {"limit": 50}, {"limit": 3}, {"page": 2}, {"offset": 480}, {"offset": 500}, {"fields": "id,guestName"}, {"fields": "all"},
        {"sort": "totalPrice desc"}, {"path": "/result/0"}, {"path": "/result"}, {"path": "/result/3/financeField"}, {"path": "/count"},
        {"path": "/status"}, {"raw": True}, {"raw": True, "path": "/result/5"},
    ],
    "get_booking_details": [
        {"section": "guest"}, {"section": "financial"}, {"section": "property"}, {"section": "messages"}, {"section": "financeField"},
        {"fields": "id,guestName"}, {"fields": "all"}, {"path": "/result/financeField/0"}, {"path": "/result/guestName"},
        {"path": "/result/totalPrice"}, {"path": "/result/hostNote"}, {"raw": True}, {"maxTokens": 600},
    ],
    "get_property_details": [
        {"section": "property"}, {"section": "rules"}, {"section": "images"}, {"path": "/result/description"},
        {"path": "/result/description", "startLine": 1, "endLine": 1}, {"fields": "all"}, {"fields": "listingImages"},
    ],
    "get_financial_reports": [{"limit": 7}, {"path": "/result/columns"}, {"path": "/result/totals"}, {"fields": "all"}],
}


class Tools:
    def __init__(self, peer, prefix=""):
        self._peer, self._prefix = peer, prefix

    def call(self, tool, **arguments):
        return self._value(self._peer.call(self._prefix + tool, **arguments))

    def at(self, tool, cursor, **controls):
        return self._value(self._peer.call("portion_read", cursor=cursor, **controls))

    def query(self, cursor, **query):
        return self._value(self._peer.call("portion_query", cursor=cursor, **query))

    @staticmethod
    def _value(result):
        reply = Reply(result)
        assert not result.get("isError"), reply.all_texts
        text, = reply.all_texts
        return json.loads(text)


class Paths:
    def __init__(self, url):
        self._url = url

    def call(self, tool, **arguments):
        names = {"start_date": "startDate", "end_date": "endDate"}
        query = {names.get(name, name): value for name, value in arguments.items() if f"{{{name}}}" not in CALLS[tool][1]}
        return self._get(CALLS[tool][1].format(**arguments), query)

    def at(self, tool, cursor, **controls):
        return self._get(CALLS[tool][1].format(**CALLS[tool][0]), {"cursor": cursor} | controls)

    def _get(self, path, query):
        query = {name: str(value).lower() if value is True else value for name, value in query.items()}
        response = requests.get(self._url + path, params=query, headers=ADA, timeout=60)
        assert response.status_code == 200, response.text[:400]
        return response.json()


@contextmanager
def opened(name, *options):
    if name.startswith("wrapped"):
        prefix = "hostaway_" if name.endswith("prefix") else ""
        with Peer(wrapped([*RENTALS, "--prefix", prefix], *PROFILE, *options)) as peer:
            peer.tools()
            yield Tools(peer, prefix)
        return
    with Hostaway(full=True) as stub:
        stub.tokens["ada"] = time.monotonic() - 60
        target = ["--admin", "off", *PROFILE, "--upstream", stub.url, *options]
        if name == "portion http":
            with Listening(proxy(*target)) as process:
                yield Paths(process.url.split(" ")[0].rstrip("/"))
        else:
            with Listening(served(*target), env=CREDENTIALS) as process, Peer(process.url) as peer:
                yield Tools(peer)


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        yield front


def is_on(front, tool):
    return CALLS[tool][1] is not None or isinstance(front, Tools)


def walk(front, tool, first):
    """A reply and all that follow it, each of a type."""
    reply, seen = first, set()
    while True:
        parsed(reply)
        yield reply
        cursor = reply.get("nextCursor")
        if cursor is None:
            return
        assert cursor not in seen
        seen.add(cursor)
        reply = front.at(tool, cursor)


@pytest.mark.parametrize("tool", CALLS)
def test_s3_plain_calls_and_what_follows_have_a_type(front, tool):
    if is_on(front, tool):
        assert list(walk(front, tool, front.call(tool, **CALLS[tool][0])))


@pytest.mark.parametrize("tool, controls", [(tool, controls) for tool, all in CONTROLS.items() for controls in all], ids=str)
def test_s3_every_part_has_a_type(front, tool, controls):
    if not is_on(front, tool):
        return
    first = front.call(tool, **CALLS[tool][0])
    shown = front.at(tool, first["meta"]["cursor"], **controls)
    is_plain = not isinstance(front, Tools) and controls == {"fields": "all"} and tool.startswith("get_")
    if is_plain:
        # Over HTTP, all fields of an object are the object itself.
        assert set(shown) == {"status", "result"}
        return
    for count, _ in enumerate(walk(front, tool, shown)):
        if count == 3:
            break


def test_s3_an_object_section_is_a_full_summary(front):
    first = front.call("get_booking_details", booking_id="13010007")
    shown = front.at("get_booking_details", first["meta"]["cursor"], section="financial")
    assert parsed(shown) == "summary" and shown["meta"]["kind"] == "full"
    assert shown["summary"]["totalPrice"] == 301.75 and len(shown["summary"]["financeField"]) == 8
    assert set(shown["meta"]["projectedFields"]) == set(shown["summary"]) and shown["meta"]["totalFields"] == len(shown["summary"])


def test_s3_requested_fields_say_how_to_get_the_others(front):
    first = front.call("get_booking_details", booking_id="13010007")
    shown = front.at("get_booking_details", first["meta"]["cursor"], fields="id,guestName")
    assert parsed(shown) == "summary" and shown["meta"]["kind"] == "preview" and shown["meta"]["totalFields"] > 100


def test_s3_pages_joined_are_the_list(front):
    first = front.call("search_bookings")
    assert [booking["id"] for page in walk(front, "search_bookings", first) for booking in page["items"]] == IDS
    assert all({"arrivalDate", "departureDate", "listingName"} <= set(booking) for booking in first["items"])


def test_s3_the_first_50_of_500_fit_a_page():
    with opened("wrapped", "--tokenizer", "o200k") as front:
        first = front.call("search_bookings")
        assert len(first["items"]) == 50 and first["meta"]["totalCount"] == 500 and first["nextCursor"]


def test_s3_all_fields_are_the_whole_object_and_what_is_hidden_is_named(front):
    first = front.call("get_booking_details", booking_id="13010007")
    details, named = first["meta"]["detailsAvailable"], {name.removeprefix("result.") for name in first["meta"]["redacted"]}
    shown = front.at("get_booking_details", **details["parameters"])
    if isinstance(front, Tools):
        assert details["endpoint"] == "portion_read" and parsed(shown) == "summary" and shown["meta"]["kind"] == "full"
        assert {name.removeprefix("result.") for name in shown["meta"]["redacted"]} == named
        shown = shown["summary"]
    booking = full_reservation(7)
    # A hidden number is left out, because no text may stand in its place.
    differing = {name for name, value in booking.items() if name not in shown["result"] or shown["result"][name] != value}
    assert differing == named and {"phone", "guestEmail", "doorCode"} <= named


def test_s3_answers_to_queries_have_a_type():
    with opened("wrapped") as front:
        cursor = front.call("search_bookings")["meta"]["cursor"]
        for query in [{"sql": "SELECT id, totalPrice FROM items"}, {"sql": "SELECT count(*) AS n FROM items"}, {"find": "Guest 42"}, {"find": "nobody"}]:
            assert parsed(front.query(cursor, **query)) == "page", query


@pytest.mark.parametrize("controls", [{}, {"startLine": 10, "endLine": 20}, {"startLine": 1, "endLine": 9000}, {"startLine": -3}, {"raw": True}, {"limit": 5}], ids=str)
def test_s3_chunks_and_ranges_of_a_text_have_a_type(controls):
    with Peer(wrapped(FIXTURE, *PROFILE)) as peer:
        peer.tools()
        front = Tools(peer)
        first = front.call("read_text", name="short_log")
        shown = front.at("read_text", first["metadata"]["cursor"], **controls) if controls else first
        index = 0
        for chunk in walk(front, "read_text", shown):
            assert parsed(chunk) == "chunk" and chunk["chunkIndex"] == index
            index += 1
            if index == 4:
                break


@pytest.mark.parametrize("value", [
    {"byDay": {f"2026-01-{day:02}": {"price": day, "note": "note of a day " * 40} for day in range(1, 29)}},
    {f"2026-{month:02}-{day:02}": {"price": day, "isAvailable": 1} for month in range(1, 13) for day in range(1, 29)},
    {"priceBreakdown": {"nights": [{"date": f"2026-01-{day:02}", "price": day} for day in range(1, 29)], "total": 9}, "note": "word " * 4000},
    {"result": json.dumps({"id": 1, "text": "word " * 4000})},
    {"id": 1, "texts": ["word " * 500] * 20},
    [[number, number * 2] for number in range(3000)],
    list(range(9000)),
    ["word " * 9000, "b"],
    [{"id": 1, "text": "word " * 30000}, {"id": 2}],
], ids=range(9))
def test_s3_payloads_of_any_shape_have_a_type(value):
    routes = {"GET /api/v1/any": lambda request: value}
    with RestStub(routes) as stub, Listening(proxy("--admin", "off", "--upstream", stub.url, *PROFILE)) as process:
        url = process.url.split(" ")[0].rstrip("/") + "/api/v1/any"
        get = lambda **query: requests.get(url, params=query, headers=ADA, timeout=60).json()  # noqa: E731
        first = get()
        meta = first.get("meta") or first["metadata"]
        for shown in [first, get(cursor=meta["cursor"], path="/priceBreakdown")] if "priceBreakdown" in value else [first]:
            for _ in range(4):
                parsed(shown)
                if not shown.get("nextCursor"):
                    break
                shown = get(cursor=shown["nextCursor"])


BOOKING = {
    "id": "BK12345", "status": "confirmed", "guestName": "John Doe", "guestEmail": "john@example.com", "guestAddress": {"street": "1 High St"},
    "checkInDate": "2025-11-01", "checkOutDate": "2025-11-05", "totalPrice": 1200.0, "currency": "USD", "propertyId": "PR789",
    "priceBreakdown": {"base": 1000.0, "taxes": 120.5, "nights": [{"date": f"2025-11-{day:02}", "price": 250.0} for day in range(1, 5)]},
    "policies": {f"rule{number}": "No smoking in any of the rooms. " * 40 for number in range(8)},
}
PROPERTY = {"id": "PR789", "name": "Villa", "status": "active", "bedrooms": 3, "location": {"city": "Ronda", "country": "Spain"}, "price": {"basePrice": 250.0}}


@pytest.fixture(scope="module")
def api():
    own = [{"id": number, "status": "new", "guestName": f"Guest {number}", "checkIn": "2026-01-01", "checkOut": "2026-01-04", "listingId": 9, "notes": "n" * 200} for number in range(120)]
    listings = [PROPERTY | {"id": number, "description": "d" * 300} for number in range(120)]
    routes = {
        "GET /api/v1/bookings/BK12345": lambda request: BOOKING,
        "GET /api/v1/bookings": lambda request: {"items": own, "total": len(own)},
        "GET /api/v1/listings": lambda request: listings,
        "GET /v1/listings": lambda request: [full_listing(number) for number in range(60)],
    }
    with RestStub(routes) as stub:
        with Listening(proxy("--upstream", stub.url, "--admin", "off", *PROFILE)) as process:
            url = process.url.split(" ")[0].rstrip("/")
            yield lambda path: requests.get(url + path, timeout=30)


def test_a_booking_is_never_without_dates_and_property(api):
    summary = api("/api/v1/bookings/BK12345").json()
    assert parsed(summary) == "summary" and summary["meta"]["kind"] == "preview"
    assert set(summary["summary"]) == {"id", "status", "guestName", "checkInDate", "checkOutDate", "totalPrice", "propertyId"}
    page = api("/api/v1/bookings").json()
    assert parsed(page) == "page"
    assert all({"checkIn", "checkOut", "listingId"} <= set(booking) for booking in page["items"])


def test_a_listing_is_never_without_place_and_price(api):
    page = api("/api/v1/listings").json()
    assert parsed(page) == "page"
    expected = {name: PROPERTY[name] for name in ["name", "status", "bedrooms", "location", "price"]}
    assert all({name: one[name] for name in one if name != "id"} == expected for one in page["items"])


def test_financial_holds_the_breakdown_of_the_price(api):
    summary = api("/api/v1/bookings/BK12345").json()
    section = api(f"/api/v1/bookings/BK12345?cursor={summary['meta']['cursor']}&section=financial").json()
    assert parsed(section) == "summary"
    assert section["summary"] == {name: BOOKING[name] for name in ["totalPrice", "currency", "priceBreakdown"]}


def test_the_details_of_a_summary_are_the_plain_object(api):
    summary = api("/api/v1/bookings/BK12345").json()
    details = summary["meta"]["detailsAvailable"]
    assert details["endpoint"] == "/api/v1/bookings/BK12345" and details["parameters"]["fields"] == "all"
    for query in ("fields=all", "&".join(f"{name}={value}" for name, value in details["parameters"].items())):
        response = api(f"{details['endpoint']}?{query}")
        whole, hidden = response.json(), {"guestEmail", "guestAddress"}
        assert {name: whole[name] for name in whole if name not in hidden} == {name: BOOKING[name] for name in BOOKING if name not in hidden}
        assert response.headers["x-portion-kind"] == "whole"
        assert {name.split(".")[0] for name in json.loads(response.headers["x-portion-notice"])["meta"]["redacted"]} == hidden


def test_cursors_in_urls_are_base64url(api):
    page = api("/v1/listings?limit=5")
    for _ in range(3):
        body = page.json()
        for cursor in [body["nextCursor"], body["meta"]["cursor"], page.headers["x-portion-cursor"], page.headers["x-portion-next-cursor"]]:
            base64.b64decode(cursor, altchars=b"-_", validate=True)
        page = api(f"/v1/listings?cursor={body['nextCursor']}")


def test_the_envelope_can_be_left_out():
    with Peer(wrapped(RENTALS, *PROFILE, "--envelope", "auto")) as peer:
        assert "result" in json.loads(Reply(peer.call("search_bookings")).all_texts[0])


def test_telemetry_records_have_a_type(tmp_path):
    file = tmp_path / "telemetry.db"
    with Peer(wrapped(RENTALS, *PROFILE, "--telemetry", str(file))) as peer:
        front = Tools(peer)
        cursor = front.call("search_bookings")["nextCursor"]
        front.at("search_bookings", cursor)
        front.call("get_booking_details", booking_id="13010007")
    stats = [PORTION, "stats", "--format", "json", "--telemetry", str(file)]
    records = json.loads(subprocess.run([*stats, "--model"], capture_output=True, check=True).stdout)
    assert len(records) == 3
    for record in records:
        jsonschema.validate(record, TELEMETRY_RECORD)
        datetime.datetime.fromisoformat(record["timestamp"].replace("Z", "+00:00"))
        assert not (record["paginationUsed"] and record["chunkingUsed"])
    assert [record["paginationUsed"] for record in records] == [False, True, True]
    snake = json.loads(subprocess.run([*stats, "--model", "snake"], capture_output=True, check=True).stdout)
    assert [record["estimated_tokens"] for record in snake] == [record["estimatedTokens"] for record in records]

"""The vacation rental scenarios on each front: the wrapped server under both names, the API as tools, and `portion http`."""

import json
import os
import subprocess
import time
from contextlib import ExitStack, contextmanager

import pytest
import requests

from harness.command import PORTION, with_sdk, wrapped
from harness.dense import records
from harness.fronts import ADA, HttpShown, McpShown, get, lawful, proxy, walk
from harness.hostaway import CLIENT_ID, CLIENT_SECRET, Hostaway
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP
from harness.waiting import until

RENTALS = with_sdk("fixture/rentals.py")
# The scenarios of the payloads as they come; test_data_model.py has those of the envelope.
PROFILE = ["--profile", "hostaway", "--envelope", "auto"]
CREDENTIALS = {"HOSTAWAY_CLIENT_ID": CLIENT_ID, "HOSTAWAY_CLIENT_SECRET": CLIENT_SECRET}
FRONTS = ["wrapped", "wrapped with prefix", "REST over stdio", "REST through serve", "portion http"]
BOOKING = {"id", "status", "guestName", "arrivalDate", "departureDate", "totalPrice", "listingMapId", "listingName"}
LISTING = {"id", "name", "bedroomsNumber", "price", "city", "country"}
IDS = [13010000 + number for number in range(500)]
PATHS = {
    "search_bookings": "/v1/reservations",
    "get_booking_details": "/v1/reservations/{booking_id}",
    "list_properties": "/v1/listings",
    "get_property_details": "/v1/listings/{listing_id}",
    "check_availability": "/v1/listings/{listing_id}/calendar",
    "get_financial_reports": "/v1/finance/report/consolidated",
    "list_conversations": "/v1/conversations",
    "get_conversation_messages": "/v1/conversations/{conversation_id}/messages",
    "list_tasks": "/v1/tasks",
    "list_reviews": "/v1/reviews",
}
# Lists beside bookings and listings: arguments, the number and the first id of their records, and their summary fields.
OTHER_LISTS = {
    "list_conversations": ({}, 230, 7000, {"id", "reservationId", "recipientName", "messageReceivedOn"}),
    "get_conversation_messages": ({"conversation_id": "7005"}, 130, 90000, {"id", "date", "isIncoming", "body"}),
    "list_tasks": ({}, 150, 500, {"id", "title", "status", "listingMapId", "canStartFrom", "shouldEndBy"}),
    "list_reviews": ({}, 150, 30000, {"id", "rating", "status", "listingName", "guestName", "publicReview"}),
}
PARAMETERS = {"start_date": "startDate", "end_date": "endDate"}


class Tools:
    """The tools of the server, or of the API."""

    is_http = False

    def __init__(self, peer, prefix, log):
        self.peer, self._prefix, self.log = peer, prefix, log

    def call(self, tool, **arguments):
        return McpShown(self.peer.call(self._prefix + tool, **arguments))

    def at(self, shown, cursor, **controls):
        return McpShown(self.peer.call("portion_read", cursor=cursor, **controls))

    def read(self, shown, **controls):
        return self.at(shown, shown.meta["cursor"], **controls)


class Paths:
    """The paths of the API behind `portion http`."""

    is_http = True

    def __init__(self, process):
        self._url, self.log = process.url.rstrip("/"), lambda: "".join(process.said)

    def call(self, tool, **arguments):
        names = {name for name in arguments if f"{{{name}}}" in PATHS[tool]}
        url = self._url + PATHS[tool].format(**{name: arguments.pop(name) for name in names})
        if tool == "get_financial_reports":
            form = {"fromDate": arguments["start_date"], "toDate": arguments["end_date"], "format": "json"}
            return HttpShown(requests.post(url, data=form, headers=ADA, timeout=60))
        return HttpShown(get(url, {PARAMETERS.get(name, name): value for name, value in arguments.items()}))

    def at(self, shown, cursor, **controls):
        return HttpShown(get(shown.url, {"cursor": cursor} | controls))

    def read(self, shown, **controls):
        return self.at(shown, shown.meta["cursor"], **controls)


@contextmanager
def opened(front, *options, full=True, changed=None, rate=None):
    prefix = "hostaway_" if front == "wrapped with prefix" else ""
    with ExitStack() as stack:
        if front.startswith("wrapped"):
            server = [*RENTALS, "--prefix", prefix] if prefix else RENTALS
            more = [*([] if full else ["--small"]), *(["--changed", str(changed)] if changed else [])]
            peer = stack.enter_context(Peer(wrapped([*server, *more], *PROFILE, *options)))
            yield Tools(peer, prefix, peer.said)
            return
        stub = stack.enter_context(Hostaway(full=full))
        stub.tokens["ada"], stub.rate = time.monotonic() - 60, rate
        if changed:
            stub.change(changed)
        target = [*PROFILE, "--upstream", stub.url, *options]
        if front == "portion http":
            yield Paths(stack.enter_context(Listening(proxy("--admin", "off", *target))))
        elif front == "REST over stdio":
            peer = stack.enter_context(Peer([PORTION, "wrap", *target], env=CREDENTIALS))
            yield Tools(peer, prefix, peer.said)
        else:
            process = stack.enter_context(Listening(served("--admin", "off", *target), env=CREDENTIALS))
            yield Tools(stack.enter_context(Peer(process.url)), prefix, lambda: "".join(process.said))


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        if not front.is_http:
            front.peer.tools()
        yield front


def ids(shown):
    return [int(record["id"]) for record in records(shown, "result")]


def test_v1_1_a_plain_list_of_500_is_the_first_50_with_total_and_cursor(front):
    first = lawful(front.call("search_bookings"))
    assert ids(first) == IDS[:50] and first.total == 500 and first.next
    assert all(set(record) == BOOKING for record in records(first, "result"))


def test_v1_2_the_cursor_gives_the_next_batch_and_all_batches_are_the_list(front):
    first = lawful(front.call("search_bookings"))
    second = lawful(front.at(first, first.next))
    assert ids(second) == IDS[50:100] and second.next not in (None, first.next)
    assert [number for page in walk(front, first, HARD_CAP) for number in ids(page)] == IDS


def test_v1_3_a_list_of_10_is_all_of_it(front):
    shown = front.call("check_availability", listing_id="40001", start_date="2026-01-01", end_date="2026-01-10")
    assert shown.kind is None and shown.notice == {} and len(json.loads(shown.text)["result"]) == 10


def test_v1_4_the_last_page_has_no_cursor(front):
    last = lawful(front.call("search_bookings", offset=470), HARD_CAP)
    assert ids(last) == IDS[470:] and last.next is None and last.meta["hasMore"] is False


def test_v2_1_a_large_booking_is_a_summary_that_names_its_sections(front):
    shown = lawful(front.call("get_booking_details", booking_id="13010007"))
    assert shown.kind == "summary"
    assert set(json.loads(shown.text)["result"]) == BOOKING
    sections = shown.meta["detailsAvailable"]["sections"]
    assert {"guest", "financial", "property", "messages"} <= set(sections)
    assert shown.meta["totalFields"] > 100


def test_v2_2_a_section_is_that_section_and_nothing_else(front):
    first = lawful(front.call("get_booking_details", booking_id="13010007"))
    section = json.loads(front.read(first, section="financial").text)
    assert section["totalPrice"] == 301.75 and len(section["financeField"]) == 8
    assert not set(section) & {"guestName", "conversationMessages", "doorCode"}


@pytest.mark.parametrize("name", FRONTS)
def test_v2_3_an_object_under_500_tokens_is_whole(name):
    with opened(name, full=False) as front:
        shown = front.call("get_booking_details", booking_id="13010007")
        booking = json.loads(shown.text)["result"]
        expected = Hostaway().reservations[7]
        hidden = {"doorCode", "guestEmail"}
        assert {key: value for key, value in booking.items() if key not in hidden} == {
            key: value for key, value in expected.items() if key not in hidden
        }
        assert expected["guestEmail"] not in shown.text


def test_v2_4_a_summary_tells_its_cost_and_what_is_left(front):
    meta = lawful(front.call("get_property_details", listing_id="40003")).meta
    assert meta["estimatedTokens"] > 0 and 0 < meta["budgetUsed"] <= 1 and meta["budgetRemaining"] >= 0


def test_listings_have_their_summary_fields(front):
    first = lawful(front.call("list_properties"))
    assert first.total == 60
    assert all(set(record) == LISTING for record in records(first, "result"))


@pytest.mark.parametrize("tool", OTHER_LISTS)
def test_every_list_is_walked_to_its_end(front, tool):
    arguments, count, first_id, fields = OTHER_LISTS[tool]
    first = lawful(front.call(tool, **arguments))
    assert first.total == count and first.next
    assert fields <= set(records(first, "result")[0])
    assert [number for page in walk(front, first, HARD_CAP) for number in ids(page)] == list(range(first_id, first_id + count))


@pytest.mark.parametrize("tool", OTHER_LISTS)
@pytest.mark.parametrize("place", [{"offset": 100}, {"page": 3}], ids=str)
def test_every_list_is_reached_by_offset_and_page(front, tool, place):
    arguments, count, first_id, _ = OTHER_LISTS[tool]
    shown = lawful(front.call(tool, limit=50, **arguments | place), HARD_CAP)
    assert ids(shown) == list(range(first_id + 100, first_id + min(count, 150)))


@pytest.mark.parametrize("tool", OTHER_LISTS)
def test_every_list_without_a_limit_goes_on_by_page_where_its_first_page_ended(front, tool):
    arguments, _, first_id, _ = OTHER_LISTS[tool]
    shown = [lawful(front.call(tool, **arguments | place), HARD_CAP) for place in ({}, {"page": 2})]
    seen = [number for page in shown for number in ids(page)]
    assert ids(shown[1]) and seen == list(range(first_id, first_id + len(seen)))


@pytest.mark.parametrize("tool", OTHER_LISTS)
def test_every_list_has_an_end_that_is_said(front, tool):
    arguments, count, _, _ = OTHER_LISTS[tool]
    place = {"page": 99} if tool == "list_reviews" else {"offset": count}
    shown = lawful(front.call(tool, limit=50, **arguments | place), HARD_CAP)
    assert ids(shown) == [] and shown.total == count and shown.next is None
    assert shown.meta["hasMore"] is False and shown.meta["pastEnd"] is True


@pytest.mark.parametrize("tool, place, first, last", [
    ("search_bookings", {"offset": 100}, IDS[100], IDS[149]),
    ("search_bookings", {"page": 3}, IDS[100], IDS[149]),
    ("search_bookings", {"page": 10}, IDS[450], IDS[499]),
    ("list_properties", {"offset": 50}, 40050, 40059),
    ("list_properties", {"page": 2}, 40050, 40059),
], ids=str)
def test_bookings_and_listings_are_reached_by_offset_and_page(front, tool, place, first, last):
    shown = lawful(front.call(tool, limit=50, **place), HARD_CAP)
    assert ids(shown) == list(range(first, last + 1))


@pytest.mark.parametrize("name", FRONTS)
def test_bookings_that_changed_last_come_first(name):
    with opened(name, changed=IDS[321]) as front:
        first = lawful(front.call("search_bookings"))
        assert ids(first) == [IDS[321], *IDS[:49]]
        assert [number for page in walk(front, first, HARD_CAP) for number in ids(page)] == [IDS[321], *IDS[:321], *IDS[322:]]


@pytest.mark.parametrize("name", [name for name in FRONTS if name != "portion http"])
def test_listings_with_the_latest_activity_come_first(name):
    with opened(name, changed=40017) as front:
        assert ids(lawful(front.call("list_properties")))[:2] == [40017, 40000]


@pytest.mark.parametrize("name", ["REST over stdio", "REST through serve"])
def test_calls_keep_to_the_rate_limit_of_the_api(name):
    """The API refuses the sixth request in three seconds, and does not say for how long."""
    with opened(name, rate=(5, 3)) as front:
        first = lawful(front.call("search_bookings"))
        shown = [front.call("get_booking_details", booking_id=str(number)) for number in IDS[:12]]
        assert [one.kind for one in shown] == ["summary"] * 12
        query = front.peer.call("portion_query", cursor=first.meta["cursor"], sql="SELECT count(DISTINCT id) AS n FROM items")
        assert json.loads(McpShown(query).text) == [{"n": 500}]


def test_the_pages_of_a_list_keep_to_the_rate_limit_of_the_api():
    with opened("portion http", rate=(3, 4)) as front:
        first = lawful(front.call("search_bookings"))
        assert [number for page in walk(front, first, HARD_CAP) for number in ids(page)] == IDS


def test_v6_2_a_limit_above_the_maximum_is_an_error_that_names_it(front):
    error = front.call("search_bookings", limit=500).error
    assert error["code"] == "limit_too_large" and "limit exceeds maximum of 200" in error["message"]


def test_contact_data_and_codes_are_hidden_on_every_path(front):
    first = lawful(front.call("get_booking_details", booking_id="13010007"))
    whole = "".join(chunk.text for chunk in walk(front, lawful(front.read(first, raw=True), HARD_CAP), HARD_CAP))
    for secret in ["+34 611 000007", "guest7@example.com", "then press 0007"]:
        assert secret not in whole
    assert '"guestName"' in whole


@pytest.mark.parametrize("name", ["wrapped", "portion http"])
def test_contact_data_is_shown_to_an_operator_who_asks(name):
    with opened(name, "--redact", "none") as front:
        first = lawful(front.call("get_booking_details", booking_id="13010007"))
        guest = front.read(first, section="guest").text
        assert "guest7@example.com" in guest and "+34 611 000007" in guest


def test_the_guest_of_a_booking_has_no_prices(front):
    if front.is_http:
        guest = json.loads(front.call("get_booking_details", booking_id="13010007", section="guest").text)
    else:
        guest = json.loads(front.call("get_guest_info", booking_id="13010007").text)["result"]
    assert guest["guestName"] == "Guest 7" and "totalPrice" not in guest and "financeField" not in guest


def test_a_report_is_paged_with_its_totals(front):
    shown = lawful(front.call("get_financial_reports", start_date="2026-01-01", end_date="2026-12-31"))
    assert shown.total == 500
    result = json.loads(shown.text)["result"]
    assert len(result["totals"]) == len(result["columns"]) == len(result["rows"][0])


@pytest.mark.parametrize("name", FRONTS)
def test_decisions_are_logged(name):
    with opened(name) as front:
        lawful(front.call("search_bookings"))
        endpoint = "GET /v1/reservations" if front.is_http else "search_bookings"
        told = lambda: any("INFO" in line and endpoint in line for line in front.log().splitlines())  # noqa: E731
        until(told, "the decision is logged", told=front.log)


def test_missing_credentials_are_an_error_at_start():
    command = [PORTION, "wrap", *PROFILE, "--upstream"]
    env = {name: value for name, value in os.environ.items() if name not in CREDENTIALS}
    with Hostaway() as stub:
        ended = subprocess.run([*command, stub.url], env=env, input="", capture_output=True, text=True, timeout=30)
    assert ended.returncode not in (0, None) and "HOSTAWAY_CLIENT_ID" in ended.stderr

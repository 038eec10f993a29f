"""The vacation rental scenarios, on each front: the wrapped server under both names, and the API without a server."""

import json
import os
import subprocess
from contextlib import ExitStack, contextmanager

import pytest

from harness.command import CLIENT_BIN, E2E, PORTION, wrapped
from harness.dense import records
from harness.hostaway import CLIENT_ID, CLIENT_SECRET, Hostaway
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import BUDGET, HARD_CAP, Reply, lawful, walk

RENTALS = [str(CLIENT_BIN / "python"), str(E2E / "fixture/rentals.py")]
PROFILE = ["--profile", "hostaway"]
CREDENTIALS = {"HOSTAWAY_CLIENT_ID": CLIENT_ID, "HOSTAWAY_CLIENT_SECRET": CLIENT_SECRET}
FRONTS = ["wrapped", "wrapped with prefix", "REST over stdio", "REST over HTTP"]
BOOKING = {"id", "status", "guestName", "arrivalDate", "departureDate", "totalPrice", "listingName"}
LISTING = {"id", "name", "bedroomsNumber", "price", "city", "country"}
HIDDEN = ["doorCode", "doorCodeInstruction", "guestEmail", "phone"]
IDS = [13010000 + number for number in range(500)]


class Front:
    def __init__(self, peer, prefix):
        self.peer, self._prefix = peer, prefix

    def call(self, tool, **arguments):
        return self.peer.call(self._prefix + tool, **arguments)

    def read(self, **arguments):
        return self.peer.call("portion_read", **arguments)


@contextmanager
def opened(front, *options):
    prefix = "hostaway_" if front == "wrapped with prefix" else ""
    with ExitStack() as stack:
        if front.startswith("wrapped"):
            command = wrapped([*RENTALS, "--prefix", prefix] if prefix else RENTALS, *PROFILE, *options)
            yield Front(stack.enter_context(Peer(command)), prefix)
            return
        stub = stack.enter_context(Hostaway(full=True))
        target = [*PROFILE, "--upstream", stub.url, *options]
        if front == "REST over stdio":
            yield Front(stack.enter_context(Peer([PORTION, "wrap", *target], env=CREDENTIALS)), prefix)
        else:
            process = stack.enter_context(Listening(served("--admin", "off", *target), env=CREDENTIALS))
            yield Front(stack.enter_context(Peer(process.url)), prefix)


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        front.peer.tools()
        yield front


def ids(reply):
    return [int(record["id"]) for record in records(reply, "result")]


def test_v1_1_a_plain_list_of_500_is_the_first_50_with_total_and_cursor(front):
    first = lawful(front.call("search_bookings"))
    assert ids(first) == IDS[:50] and first.notice["totalCount"] == 500 and first.next
    assert all(set(record) == BOOKING for record in records(first, "result"))


def test_v1_2_the_cursor_gives_the_next_batch_and_all_batches_are_the_list(front):
    first = lawful(front.call("search_bookings"))
    second = lawful(front.read(cursor=first.next))
    assert ids(second) == IDS[50:100] and second.next not in (None, first.next)
    assert [number for page in walk(front.peer, first, HARD_CAP) for number in ids(page)] == IDS


def test_v1_3_a_list_of_3_is_all_of_it(front):
    reply = Reply(front.call("check_availability", listing_id="40001", start_date="2026-01-01", end_date="2026-01-03"))
    assert reply.notice is None and len(json.loads(reply.text)["result"]) == 3


def test_v1_4_the_last_page_has_no_cursor(front):
    last = lawful(front.call("search_bookings", offset=470), HARD_CAP)
    assert ids(last) == IDS[470:] and last.next is None and last.meta["hasMore"] is False


def test_v2_1_a_large_booking_is_a_summary_that_names_its_sections(front):
    reply = lawful(front.call("get_booking_details", booking_id="13010007"))
    assert reply.meta["kind"] == "summary"
    assert set(json.loads(reply.text)["result"]) == BOOKING
    sections = reply.meta["detailsAvailable"]["sections"]
    assert {"guest", "financial", "property", "messages"} <= set(sections)
    assert reply.meta["totalFields"] > 100


def test_v2_2_a_section_is_that_section_and_nothing_else(front):
    first = lawful(front.call("get_booking_details", booking_id="13010007"))
    section = json.loads(Reply(front.read(cursor=first.meta["cursor"], section="financial")).text)
    assert section["totalPrice"] == 301.75 and len(section["financeField"]) == 8
    assert not set(section) & {"guestName", "conversationMessages", "doorCode"}


def test_v2_4_a_summary_tells_its_cost_and_what_is_left(front):
    meta = lawful(front.call("get_property_details", listing_id="40003")).meta
    assert meta["estimatedTokens"] > 0 and 0 < meta["budgetUsed"] <= 1 and meta["budgetRemaining"] >= 0


def test_listings_have_their_summary_fields(front):
    first = lawful(front.call("list_properties"))
    assert first.notice["totalCount"] == 60
    assert all(set(record) == LISTING for record in records(first, "result"))


def test_v6_2_a_limit_above_the_maximum_is_an_error_that_names_it(front):
    error = Reply(front.call("search_bookings", limit=500)).error
    assert error["code"] == "limit_too_large" and "limit exceeds maximum of 200" in error["message"]


def test_v6_1_a_forged_cursor_is_an_error(front):
    assert Reply(front.read(cursor="AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).error["code"] == "cursor_invalid"


def test_contact_data_and_codes_are_hidden_on_every_path(front):
    first = lawful(front.call("get_booking_details", booking_id="13010007"))
    whole = "".join(chunk.text for chunk in walk(front.peer, lawful(front.read(cursor=first.meta["cursor"], raw=True), HARD_CAP), HARD_CAP))
    for secret in ["+34 611 000007", "guest7@example.com", "then press 0007"]:
        assert secret not in whole
    assert '"guestName"' in whole


def test_contact_data_is_shown_to_an_operator_who_asks():
    with opened("wrapped", "--redact", "none") as front:
        first = lawful(front.call("get_booking_details", booking_id="13010007"))
        guest = Reply(front.read(cursor=first.meta["cursor"], section="guest")).text
        assert "guest7@example.com" in guest and "+34 611 000007" in guest


def test_the_guest_of_a_booking_has_no_prices(front):
    guest = json.loads(Reply(front.call("get_guest_info", booking_id="13010007")).text)["result"]
    assert guest["guestName"] == "Guest 7" and "totalPrice" not in guest and "financeField" not in guest


def test_a_report_is_paged_with_its_totals(front):
    reply = lawful(front.call("get_financial_reports", start_date="2026-01-01", end_date="2026-12-31"))
    assert reply.notice["totalCount"] == 500
    result = json.loads(reply.text)["result"]
    assert len(result["totals"]) == len(result["columns"]) == len(result["rows"][0])


@pytest.mark.parametrize("front_name", ["wrapped", "REST over stdio"])
def test_decisions_are_logged(front_name):
    with opened(front_name) as front:
        lawful(front.call("search_bookings"))
    assert "search_bookings" in front.peer.said() and "INFO" in front.peer.said()


def test_missing_credentials_are_an_error_at_start():
    command = [PORTION, "wrap", *PROFILE, "--upstream"]
    env = {name: value for name, value in os.environ.items() if name not in CREDENTIALS}
    with Hostaway() as stub:
        ended = subprocess.run([*command, stub.url], env=env, input="", capture_output=True, text=True, timeout=30)
    assert ended.returncode not in (0, None) and "HOSTAWAY_CLIENT_ID" in ended.stderr

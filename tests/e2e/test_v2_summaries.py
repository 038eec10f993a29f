"""V2: one big object is summarized, and its sections are there for the asking."""

import json

import pytest

from fixture import corpus
from harness.command import FILES_FIXTURE, FIXTURE, wrapped
from harness.peer import Peer
from harness.reply import BUDGET, HARD_CAP, Reply, exact, lawful, raw_joined
from harness.wire import same_line

WHOLE = exact(corpus.big_booking())


def summary(peer):
    reply = lawful(peer.call("get_booking"))
    assert reply.meta["kind"] == "summary"
    return reply


def check_section(reply, name):
    """The section, whole, and nothing else: the value itself, or it alone under its name."""
    value = reply.json
    if hasattr(value, "names") and value.names() == [name]:
        value = value[name]
    assert value == WHOLE[name]


def test_v2_1_a_big_object_is_summarized(peer):
    served = summary(peer).json
    for name in ("id", "status", "guest", "dates", "property"):
        assert served[name] == WHOLE[name]
    assert len(served) < len(WHOLE) or served != WHOLE


def test_v2_1_the_summary_says_how_to_get_named_sections(peer):
    meta = summary(peer).meta
    details = meta["detailsAvailable"]
    assert details["tool"] == "portion_read" and details["arguments"]["cursor"] == meta["cursor"]
    for name in ("financials", "messages", "houseRules", "amenities"):
        assert name in json.dumps(details)
    assert meta["totalFields"] > 0 and meta["projectedFields"]


def test_v2_2_the_financial_section_is_whole_and_alone(peer):
    details = summary(peer).meta["detailsAvailable"]
    arguments = {**details["arguments"], "section": "financials"}
    check_section(lawful(peer.call(details["tool"], **arguments), HARD_CAP), "financials")


def test_v2_2_a_section_with_more_items_than_a_page_is_whole(peer):
    assert len(WHOLE["amenities"]) > 50
    cursor = summary(peer).meta["cursor"]
    check_section(lawful(peer.call("portion_read", cursor=cursor, section="amenities"), HARD_CAP), "amenities")


def test_v2_2_a_path_reaches_into_a_section(peer):
    cursor = summary(peer).meta["cursor"]
    for path in ("/financials/payouts/1", "financials.payouts.1"):
        reply = lawful(peer.call("portion_read", cursor=cursor, path=path), HARD_CAP)
        assert reply.json == WHOLE["financials"]["payouts"][1]


def test_v2_2_the_sections_do_not_call_the_tool_again(peer):
    cursor = summary(peer).meta["cursor"]
    before = peer.call("count_calls", tool="get_booking")
    for name in ("financials", "dates"):
        check_section(lawful(peer.call("portion_read", cursor=cursor, section=name), HARD_CAP), name)
    assert peer.call("count_calls", tool="get_booking") == before


def test_v2_3_an_object_under_500_tokens_is_whole():
    assert same_line(FIXTURE, "get_small_booking")


def test_v2_4_a_summary_tells_its_cost(peer):
    meta = summary(peer).meta
    assert 0 < meta["estimatedTokens"] <= BUDGET
    assert abs(meta["budgetUsed"] - meta["estimatedTokens"] / BUDGET) <= 0.01
    assert meta["budgetRemaining"] == BUDGET - meta["estimatedTokens"]


def test_v2_nothing_of_a_summarized_object_is_lost(peer):
    assert raw_joined(peer, summary(peer)) == corpus.big_booking()


def test_v2_long_strings_are_elided_with_the_way_to_the_rest(peer):
    reply = lawful(peer.call("read_text", name="photo"))
    elided = reply.json["bytes"]
    assert "[+" in elided and "path=/bytes" in elided
    chunk = lawful(peer.call("portion_read", cursor=reply.meta["cursor"], path="/bytes", raw=True), HARD_CAP)
    assert chunk.next and chunk.meta["kind"] == "raw"
    assert raw_joined(peer, reply) == corpus.photo()


def told_at_length(name):
    return {f"{name}{number}": f"{name.capitalize()} {number} of this house is told at length to the desk. " * 2 for number in range(25)}


ENVELOPE = {
    "status": "success",
    "result": {
        "id": 7,
        "status": "confirmed",
        "guestName": "Ada",
        "houseRules": told_at_length("rule"),
        "amenities": [f"amenity {number} of the house" for number in range(120)],
        "financials": {"fees": told_at_length("fee"), "payouts": [{"number": n, "amount": n * 1.5} for n in range(40)]},
    },
}


@pytest.mark.parametrize("is_structured", [False, True], ids=["text", "structured"])
@pytest.mark.parametrize("options", [[], ["--lean"], ["--metadata-style", "snake"]], ids=["usual", "lean", "snake"])
def test_v2_2_the_call_that_the_summary_of_an_envelope_names_returns_the_section(tmp_path, options, is_structured):
    text = [{"type": "text", "text": json.dumps(ENVELOPE)}]
    result = {"content": text} | ({"structuredContent": ENVELOPE} if is_structured else {})
    (tmp_path / "get_booking").write_text(json.dumps(result))
    booking = ENVELOPE["result"]
    with Peer(wrapped([*FILES_FIXTURE, str(tmp_path)], *options)) as peer:
        first = Reply(peer.call("get_booking"))
        assert first.json["status"] == "success" and first.json["result"]["guestName"] == "Ada"
        meta = first.text_notice["meta"]
        details = meta.get("detailsAvailable") or meta["details_available"]
        named = details["arguments"]["section"]
        assert {"houseRules", "amenities", "financials"} == set(details["sections"])
        served = Reply(peer.call(details["tool"], **details["arguments"]))
        assert json.loads(served.text) == booking[named], "the call as it stands there"
        for name in details["sections"]:
            served = Reply(peer.call(details["tool"], **details["arguments"] | {"section": name}))
            assert json.loads(served.text) == booking[name]

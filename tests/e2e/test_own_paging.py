"""Tools with arguments of their own for pages: `page` counts their pages, and notices name the next call with its values."""

import json
from contextlib import ExitStack

import pytest
from harness.command import CLIENT_BIN, E2E, PORTION
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, items, lawful

FIXTURE = [str(CLIENT_BIN / "python"), str(E2E / "fixture/paged.py")]


@pytest.fixture(scope="module", params=["wrap", "serve"])
def peer(request):
    with ExitStack() as stack:
        if request.param == "wrap":
            yield stack.enter_context(Peer([PORTION, "wrap", "--", *FIXTURE]))
        else:
            yield stack.enter_context(Peer(stack.enter_context(Listening(served("--", *FIXTURE))).url))


def calls(peer, tool):
    return json.loads(Reply(peer.call("calls", tool=tool)).text)


def ids(reply, *place):
    return [int(item["id"]) for item in items(reply, *place)]


@pytest.mark.parametrize(("tool", "size", "skip"), [("by_offset", "limit", "offset"), ("by_skip", "take", "skip")])
def test_a_page_by_number_is_that_page_of_the_server(peer, tool, size, skip):
    place = {"by_offset": "result", "by_skip": "items"}[tool]
    calls(peer, tool)
    reply = lawful(peer.call(tool, page=3, **{size: 30}), HARD_CAP)
    assert calls(peer, tool) == [{size: 30, skip: 60}]
    assert ids(reply, place) == list(range(61, 91))
    assert reply.meta["sent"] == f"{skip}=60 in place of page"
    assert reply.meta["upstreamNext"] == f"repeat the call with {skip}=90 in place of page"


def test_pages_by_number_of_a_large_size_neither_skip_nor_repeat(peer):
    seen = []
    for page in range(1, 6):
        reply = lawful(peer.call("by_offset", limit=100, page=page), HARD_CAP)
        seen += ids(reply, "result")
        while "nextCursor" in reply.notice:
            reply = lawful(peer.call("portion_read", cursor=reply.notice["nextCursor"]), HARD_CAP)
            seen += ids(reply, "result")
    assert seen == list(range(1, 501))


def test_a_page_by_number_and_an_offset_exclude_each_other(peer):
    calls(peer, "by_offset")
    result = peer.call("by_offset", limit=30, offset=60, page=2)
    assert json.loads(Reply(result).text)["error"]["code"] == "controls_conflict"
    assert calls(peer, "by_offset") == []


@pytest.mark.parametrize(
    ("tool", "arguments", "following"),
    [
        ("by_offset", {"limit": 100}, "offset=100"),
        ("by_offset", {"limit": 100, "offset": 50}, "offset=150"),
        ("by_skip", {"take": 100}, "skip=100"),
        ("by_skip", {"take": 100, "skip": 300}, "skip=400"),
        ("by_skip", {"take": 100, "case": "has_more"}, "skip=100"),
        ("by_page", {"per_page": 100}, "page=2"),
        ("by_page", {"per_page": 100, "page": 2}, "page=3"),
        ("by_cursor", {"limit": 100}, "cursor=at:100"),
        ("by_link", {"per_page": 100}, "page=2"),
    ],
)
def test_the_notice_names_the_next_call_with_its_values(peer, tool, arguments, following):
    reply = lawful(peer.call(tool, **arguments))
    assert reply.meta["upstreamNext"] == f"repeat the call with {following}"
    if tool == "by_skip" and "case" not in arguments:
        assert reply.meta["upstreamTotal"] == 500


def test_the_last_page_of_the_server_has_no_next(peer):
    reply = lawful(peer.call("by_skip", take=100, skip=400))
    assert reply.meta["upstreamTotal"] == 500 and "upstreamNext" not in reply.meta
    reply = lawful(peer.call("by_cursor", limit=30, page=3))
    assert reply.meta["pastEnd"] and reply.meta["offset"] == 60
    assert reply.meta["upstreamNext"] == "repeat the call with cursor=at:30"

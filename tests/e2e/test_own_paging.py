"""Tools with arguments of their own for pages: `page` counts their pages, and notices name the next call with its values."""

import json
from contextlib import ExitStack

import pytest
from fixture import paged
from harness.command import FILES_FIXTURE, PORTION, with_sdk, wrapped
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, items, lawful
from harness.rest_stub import RestStub, operation

FIXTURE = with_sdk("fixture/paged.py")


@pytest.fixture(scope="module", params=["wrap", "serve"])
def peer(request):
    with ExitStack() as stack:
        server = [PORTION, "wrap", "--", *FIXTURE]
        if request.param == "serve":
            server = stack.enter_context(Listening(served("--", *FIXTURE))).url
        peer = stack.enter_context(Peer(server))
        # Notices name arguments that a call leaves out only once the tools are known.
        peer.tools()
        yield peer


class Bookings(RestStub):
    """An API that returns at most 30 of its bookings, whatever `limit` says, if `case` is `caps`."""

    def __init__(self):
        super().__init__({"GET /bookings": self._bookings})

    def _bookings(self, request):
        limit, offset, total = (int(request.query.get(name, value)) for name, value in [("limit", 10), ("offset", 0), ("total", 500)])
        count = min(limit, 30) if request.query.get("case") == "caps" else limit
        rows = [paged.record(number) for number in range(offset + 1, min(offset + count, total) + 1)]
        return {"status": "success", "result": rows, "count": total, "limit": limit, "offset": offset}


DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Bookings", "version": "1"},
    "paths": {"/bookings": {"get": operation("by_offset", *[(name, "query", kind) for name, kind in paged.TOOLS["by_offset"][1].items()], ("case", "query", paged.STRING), ("total", "query", paged.NUMBER))}},
}


@pytest.fixture(params=["wrap", "serve", "REST over stdio", "REST through serve"])
def fresh(request, tmp_path):
    """A peer of a process of its own, which remembers no calls yet. Over HTTP it has a session, so that calls are remembered."""
    with ExitStack() as stack:
        source = ["--", *FIXTURE]
        if request.param.startswith("REST"):
            (tmp_path / "openapi.json").write_text(json.dumps(DOCUMENT))
            source = ["--openapi", str(tmp_path / "openapi.json"), "--upstream", stack.enter_context(Bookings()).url]
        if request.param in ("wrap", "REST over stdio"):
            yield stack.enter_context(Peer([PORTION, "wrap", *source]))
        else:
            yield stack.enter_context(Peer(stack.enter_context(Listening(served(*source))).url, mode="legacy"))


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


@pytest.mark.parametrize("total", [500, 90])
def test_a_server_that_returns_fewer_items_than_asked_for_is_walked_without_a_gap(fresh, total):
    """It returns 30 of the 100 items that `limit` asks for, and says nothing."""
    seen = []
    for page in range(1, 20):
        reply = Reply(fresh.call("by_offset", limit=100, page=page, case="caps", total=total))
        page_of_server = items(reply, "result")
        seen += [int(item["id"]) for item in page_of_server]
        if not page_of_server:
            break
    assert seen == list(range(1, total + 1))


def test_the_next_page_by_number_says_what_the_page_before_did_not_show(fresh):
    first = lawful(fresh.call("by_offset", limit=100))
    shown = len(ids(first, "result"))
    assert 0 < shown < 100
    second = lawful(fresh.call("by_offset", limit=100, page=2), HARD_CAP)
    assert ids(second, "result")[0] == 101
    gap = second.notice["notShown"]
    assert (gap["offset"], gap["items"]) == (shown, 100 - shown)
    missing = lawful(fresh.call("portion_read", cursor=gap["cursor"], limit=100), HARD_CAP)
    assert ids(missing, "result") == list(range(shown + 1, 101))
    third = lawful(fresh.call("by_offset", limit=100, page=3), HARD_CAP)
    shown = len(ids(second, "result"))
    assert third.notice.get("notShown", {}).get("items", 0) == 100 - shown


def test_a_short_page_without_a_known_first_page_is_said(fresh):
    """As where callers cannot be told apart, and nothing is remembered of them."""
    reply = Reply(fresh.call("by_offset", limit=100, page=3, case="caps"))
    assert ids(reply, "result") == list(range(201, 231))
    assert reply.meta["sent"] == "offset=200 in place of page; the tool returned 30 of 100 items, so page skips some: use the offset"


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


# Pages of known services, and what a reader of the text is told of them

PAGE = [{"id": number, "name": f"Record {number}", "note": "A note of the desk. " * 12} for number in range(50)]
FORMS = {
    "HubSpot": ({"results": PAGE, "paging": {"next": {"after": "next-50", "link": "https://api.test/x?after=next-50"}}}, None, "next-50"),
    "Kubernetes": ({"kind": "PodList", "metadata": {"continue": "more-50", "remainingItemCount": 950}, "items": PAGE}, 1000, "more-50"),
    "DynamoDB": ({"Items": PAGE, "Count": 50, "ScannedCount": 50, "LastEvaluatedKey": {"id": {"S": "key-50"}}}, None, "key-50"),
    "a total as a string": ({"items": PAGE, "total": "1000", "limit": 50, "offset": 0}, 1000, ""),
    "a count as a string": ({"items": PAGE, "totalCount": "1000"}, 1000, ""),
    "a bare total": ({"items": PAGE, "total": 1000}, 1000, "the upstream has more"),
    "a number of rows as a string": ({"rows": PAGE, "totalRows": "1000", "pageToken": "token-50"}, 1000, "token-50"),
}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, (payload, _, _) in FORMS.items():
        (folder / name).write_text(json.dumps({"content": [{"type": "text", "text": json.dumps(payload)}]}))
    with Peer(wrapped([*FILES_FIXTURE, str(folder)])) as peer:
        yield peer


@pytest.mark.parametrize("name", FORMS)
def test_a_page_of_a_known_form_says_that_the_server_has_more(known, name):
    _, total, following = FORMS[name]
    first = lawful(known.call(name))
    told = first.text_notice["meta"]
    assert told.get("upstreamTotal") == total
    assert following in told["upstreamNext"]
    count = lawful(known.call("portion_query", cursor=first.meta["cursor"], sql="SELECT count(*) AS n FROM items"))
    assert json.loads(count.text) == [{"n": 50}]
    told = count.text_notice["meta"]
    assert told.get("upstreamTotal") == total
    assert total or "the upstream has more" in told["upstream"]


@pytest.mark.parametrize("payload", [{"results": PAGE}, {"results": PAGE, "total": "50"}, {"results": PAGE, "paging": {}}], ids=["list", "total", "empty"])
def test_a_whole_list_does_not_say_that_the_server_has_more(tmp_path, payload):
    (tmp_path / "rows").write_text(json.dumps({"content": [{"type": "text", "text": json.dumps(payload)}]}))
    with Peer(wrapped([*FILES_FIXTURE, str(tmp_path)])) as peer:
        first = lawful(peer.call("rows"))
        count = lawful(peer.call("portion_query", cursor=first.meta["cursor"], sql="SELECT count(*) AS n FROM items"))
    for reply in (first, count):
        assert not {"upstreamTotal", "upstreamNext", "upstream"} & reply.text_notice["meta"].keys()

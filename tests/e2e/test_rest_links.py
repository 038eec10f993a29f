"""REST APIs that page by Link headers, as tools of `portion serve` and `portion wrap`: one list, one call for the first page."""

import json
import threading

import pytest

from harness.command import PORTION
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, items, lawful, walk
from harness.rest_stub import Response, RestStub, operation

KEY = "key-of-the-operator-42"
TOTAL, PAGE = 470, 40
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
PAGING = (("per_page", "query", INTEGER), ("page", "query", INTEGER))
TOOLS = {
    # GitHub: numbered pages, `rel="last"`, the address of the API.
    "listIssues": (*PAGING, ("state", "query", STRING)),
    # The address behind a gateway, which clients cannot reach.
    "listBehindGateway": PAGING,
    # A path without host, and a cursor that the document describes.
    "listByCursor": (("after", "query", STRING),),
    # A cursor that the document does not describe.
    "listByHiddenCursor": (("state", "query", STRING),),
}
CONFIG = {"endpoints": {name: {"pushdown": "link"} for name in TOOLS}}


def row(number):
    return {"id": number, "state": "open", "title": f"The guest asks for a cot, a desk and a quiet room, for the {number}. time. " * 3}


class Tracker(RestStub):
    """Lists of issues, as arrays. Pages after the first wait for `release`."""

    def __init__(self):
        self.release = threading.Event()
        super().__init__({
            "GET /v3/repos/{repo}/listIssues": lambda request: self._numbered(request, self.url),
            "GET /v3/repos/{repo}/listBehindGateway": lambda request: self._numbered(request, "https://gateway.example"),
            "GET /v3/repos/{repo}/listByCursor": self._cursors,
            "GET /v3/repos/{repo}/listByHiddenCursor": self._cursors,
        })

    def answer(self, request):
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Response({"message": "Bad credentials"}, 401)
        return super().answer(request)

    def _rows(self, first, size):
        if first > 0:
            self.release.wait(30)
        return [row(number) for number in range(first + 1, min(first + size, TOTAL) + 1)]

    def _numbered(self, request, origin):
        size, page = min(int(request.query.get("per_page", PAGE)), 100), int(request.query.get("page", 1))
        target = request.target.split("?")[0]
        others = "".join(f"&{name}={value}" for name, value in request.query.items() if name not in ("page", "per_page"))
        link = lambda number, rel: f'<{origin}{target}?per_page={size}&page={number}{others}>; rel="{rel}"'  # noqa: E731
        last = -(-TOTAL // size)
        links = [link(page + 1, "next"), link(last, "last")] if page < last else []
        links += [link(1, "first"), link(page - 1, "prev")] if page > 1 else []
        return Response(self._rows((page - 1) * size, size), headers={"Link": ", ".join(links)} if links else {})

    def _cursors(self, request):
        first = int(request.query.get("after", "at-0")[3:])
        more = {"Link": f"<{request.target.split('?')[0]}?after=at-{first + PAGE}>; rel=next"} if first + PAGE < TOTAL else {}
        return Response(self._rows(first, PAGE), headers=more)


@pytest.fixture
def tracker():
    with Tracker() as tracker:
        yield tracker
        tracker.release.set()


@pytest.fixture(params=["serve", "wrap"])
def peer(request, tracker, tmp_path):
    paths = {f"/repos/{{repo}}/{name}": {"get": operation(name, ("repo", "path", STRING), *query)} for name, query in TOOLS.items()}
    file, config = tmp_path / "openapi.json", tmp_path / "portion.json"
    file.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "Tracker", "version": "1"}, "paths": paths}))
    config.write_text(json.dumps(CONFIG))
    options = ["--openapi", str(file), "--upstream", f"{tracker.url}/v3", "--config", str(config), "--header",
               "Authorization: Bearer ${API_KEY}"]
    env = {"API_KEY": KEY}
    if request.param == "wrap":
        with Peer([PORTION, "wrap", *options], env=env) as peer:
            yield peer
        return
    with Listening(served("--admin", "off", *options), env=env) as portion, Peer(portion.url) as peer:
        yield peer


def ids(reply):
    return [int(item["id"]) for item in items(reply)]


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "listByHiddenCursor"])
def test_a_walk_is_the_whole_list_once(peer, tracker, tool):
    first = lawful(peer.call(tool, repo="portion"))
    # The other pages wait: the reply is made from the first one.
    assert ids(first)[0] == 1 and first.meta["kind"] == "page" and first.notice["nextCursor"]
    assert len(tracker.asked) <= 2 and "page" not in tracker.asked[0].query and "after" not in tracker.asked[0].query
    tracker.release.set()
    assert [number for page in walk(peer, first, HARD_CAP) for number in ids(page)] == list(range(1, TOTAL + 1))
    told = tracker.told()
    assert len({request.target for request in told}) == len(told), "no page is requested twice"
    assert all(request.target.startswith(f"/v3/repos/portion/{tool}") for request in told)


def test_a_link_that_the_document_does_not_describe_is_said(peer, tracker):
    first = lawful(peer.call("listByHiddenCursor", repo="portion"))
    pages = list(walk(peer, first, HARD_CAP))
    assert [number for page in pages for number in ids(page)] == list(range(1, PAGE + 1))
    assert len(tracker.told()) == 1
    assert "unknown argument `after`" in pages[-1].notice["meta"]["upstream"]


def test_a_query_covers_all_pages(peer, tracker):
    tracker.release.set()
    first = lawful(peer.call("listIssues", repo="portion", state="open"))
    counted = peer.call("portion_query", cursor=first.meta["cursor"], sql="SELECT count(*) AS n, sum(id) AS s FROM items")
    assert json.loads(Reply(counted).text)[0] == {"n": TOTAL, "s": TOTAL * (TOTAL + 1) // 2}
    assert all(request.query["state"] == "open" for request in tracker.told())


def test_a_list_of_one_page_is_passed_on(peer, tracker, monkeypatch):
    monkeypatch.setattr("test_rest_links.TOTAL", 3)
    result = peer.call("listIssues", repo="portion")
    assert json.loads(result["content"][0]["text"]) == [row(number) for number in (1, 2, 3)]
    assert len(tracker.told()) == 1

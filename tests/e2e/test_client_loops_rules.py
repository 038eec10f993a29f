"""Loops over APIs that nobody described, whose names and envelopes Portion does not know, read each row once; an error of a page stays one.

Each API is a choice of an envelope, of the names of its arguments and of the first number of its pages.
"""

from itertools import product
from urllib.parse import urljoin

import pytest
import requests
from harness.command import PORTION, with_sdk, wrapped
from harness.listening import Listening
from harness.peer import Peer
from harness.reply import Reply, items
from harness.rest_stub import Response, RestStub

COUNT = 95
ROWS = [{"id": n, "name": f"Thing {n}", "amount": n * 1.25} for n in range(COUNT)]
BROKEN = range(60, 70)


class Things(RestStub):
    """An API with pages of 10, or of as many as `size` says. `envelope`: the path of the list."""

    def __init__(self, envelope="items", page="page", size="limit", first=1, broken=None):
        super().__init__({"GET /things": self.things})
        self.envelope, self.page, self.size, self.first, self.broken = envelope.split("."), page, size, first, broken

    def things(self, request):
        size = int(request.query.get(self.size, 10))
        at = int(request.query["offset"]) if "offset" in request.query else (int(request.query.get(self.page, self.first)) - self.first) * size
        if self.broken and set(range(at, at + size)) & set(BROKEN):
            return Response({"error": "broken"}, self.broken)
        following = f"/things?{self.page}={at // size + self.first + 1}&{self.size}={size}" if at + size < COUNT else None
        body = {self.envelope[-1]: ROWS[at : at + size]}
        for name in reversed(self.envelope[:-1]):
            body = {name: body}
        return {"total": COUNT, "next": following} | body

    def rows(self, body):
        for name in self.envelope:
            body = body[name]
        return body


def ask(url, **query):
    response = requests.get(url, query, timeout=60)
    response.raise_for_status()
    return response.json()


def by_number(api, base, size=10):
    """The usual loop: the next page, until one is empty."""
    for page in range(api.first, 60):
        rows = api.rows(ask(base + "/things", **{api.size: size, api.page: page}))
        if not rows:
            return
        yield from rows


def by_offset(api, base):
    at = 0
    while rows := api.rows(ask(base + "/things", **{api.size: 10, "offset": at})):
        yield from rows
        at += len(rows)


def by_link(api, base):
    url = "/things"
    for _ in range(60):
        body = ask(urljoin(base, url))
        yield from api.rows(body)
        url = body["next"]
        if not url:
            return


def through_portion(api, *options):
    return Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off", *options])


def read(api, walk, *options):
    with api, through_portion(api, *options) as front:
        return [row["id"] for row in walk(api, front.url.rstrip("/"))]


@pytest.mark.parametrize("options", [[], ["--lean"]], ids=["default", "lean"])
@pytest.mark.parametrize(("envelope", "walk"), list(product(["items", "hits.hits", "contacts.data", "a.b.c"], [by_number, by_offset, by_link])))
def test_a_list_in_objects_of_any_name_is_read_once(envelope, walk, options):
    assert read(Things(envelope, size="per_page"), walk, *options) == list(range(COUNT))


@pytest.mark.parametrize(("page", "size", "walk"), list(product(["page", "pageNumber", "page_number", "p"], ["limit", "take", "page_size"], [by_number, by_link])))
def test_arguments_of_any_name_are_the_apis(page, size, walk):
    assert read(Things(page=page, size=size), walk) == list(range(COUNT))


@pytest.mark.parametrize("size", ["limit", "size", "page_size"])
def test_pages_may_be_counted_from_0(size):
    assert read(Things(size=size, first=0), lambda api, base: by_number(api, base, 5)) == list(range(COUNT))


@pytest.mark.parametrize("status", [500, 503, 429])
@pytest.mark.parametrize("walk", [by_number, by_offset])
def test_an_error_of_a_page_stays_an_error(walk, status):
    api, seen = Things(broken=status), []
    with api, through_portion(api) as front, pytest.raises(requests.HTTPError) as raised:
        seen.extend(row["id"] for row in walk(api, front.url.rstrip("/")))
    assert raised.value.response.status_code == status


@pytest.mark.parametrize("status", [500, 400])
def test_an_error_behind_a_link_is_no_end(status):
    api, seen = Things(broken=status), []
    with api, through_portion(api) as front, pytest.raises(requests.HTTPError):
        seen.extend(row["id"] for row in by_link(api, front.url.rstrip("/")))
    assert seen == list(range(BROKEN.start))


class Counted(RestStub):
    """An API of pages of at most 10 items. `total`: what it tells as the total of items `at` on."""

    def __init__(self, total):
        super().__init__({"GET /things": self.things})
        self.total = total

    def things(self, request):
        page = int(request.query.get("page", 1))
        rows = ROWS[(page - 1) * 10 : page * 10]
        return {"items": rows, "page": page, "total_pages": 10, "total": self.total(rows)}

    def rows(self, body):
        return body["items"]


def by_count(api, base):
    """The pages up to the number that the API tells."""
    page, count = 1, 1
    while page <= count:
        body = ask(base + "/things", page=page, per_page=50)
        yield from api.rows(body)
        page, count = page + 1, body["total_pages"]


@pytest.mark.parametrize("total", [len, lambda rows: COUNT], ids=["of the page", "of the list"])
def test_the_number_of_pages_outweighs_a_total_of_the_page(total):
    assert read(Counted(total), by_count) == list(range(COUNT))


def test_the_pages_of_an_api_with_smaller_ones_are_counted(tmp_path):
    (tmp_path / "portion.yaml").write_text("endpoints:\n  GET /things: {pushdown: {page: page, limit: per_page}}\n")
    assert read(Counted(lambda rows: COUNT), by_count, "--config", str(tmp_path / "portion.yaml")) == list(range(COUNT))


def test_a_parameter_that_the_api_ignores_ends_no_loop(tmp_path):
    (tmp_path / "portion.yaml").write_text("endpoints:\n  GET /things: {pushdown: {offset: start, limit: limit}}\n")
    assert sorted(set(read(Things(), by_link, "--config", str(tmp_path / "portion.yaml")))) == list(range(COUNT))


SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
server = MCPServer("things")
ROWS = [{"id": n, "name": f"Thing {n}", "note": "some words " * 6} for n in range(480)]
def page(at, count):
    if at < 125 and at + count > 110:
        raise ValueError("HTTP 500 for this page")
    return {"results": ROWS[at : at + count], "total": 480}
@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def by_offset(limit: int = 20, offset: int = 0) -> dict:
    return page(offset, min(limit, 20))
@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def by_page(limit: int = 20, page_number: int = 1) -> dict:
    return page((page_number - 1) * 20, min(limit, 20))
server.run()
"""
PUSHDOWN = "endpoints:\n  by_offset: {pushdown: limit-offset}\n  by_page: {pushdown: {page: page_number, limit: limit}}\n"


@pytest.mark.parametrize(("tool", "arguments", "first"), [("by_offset", {"limit": 20, "offset": 200}, 200), ("by_offset", {"offset": 140}, 140), ("by_page", {"limit": 20, "page_number": 11}, 200)])
def test_a_page_that_fails_hides_no_later_one(tmp_path, tool, arguments, first):
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "portion.yaml").write_text(PUSHDOWN)
    with Peer(wrapped(with_sdk(str(tmp_path / "server.py")), "--config", str(tmp_path / "portion.yaml"))) as peer:
        peer.tools()
        peer.call(tool, limit=20)
        reply = Reply(peer.call(tool, **arguments))
        assert int(items(reply, "results")[0]["id"]) == first


def test_a_text_beside_a_cursor_is_a_search_whatever_was_asked_before():
    with RestStub({"GET /rows": lambda request: [{"id": n, "name": f"Thing {n}"} for n in range(600)]}) as api, through_portion(api) as front:
        url = front.url.rstrip("/") + "/rows"

        def search():
            cursor = requests.get(url, timeout=60).headers["x-portion-cursor"]
            return requests.get(url, {"cursor": cursor, "query": "Thing 77"}, timeout=60).json()

        before = search()
        assert [row["item"]["id"] for row in before] == [77]
        requests.get(url, {"query": "Thing 77"}, timeout=60)
        assert search() == before

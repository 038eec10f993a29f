"""The loops of the clients of well-known APIs, through Portion with nothing configured: each row comes, and comes once."""

import re
from contextlib import contextmanager
from urllib.parse import urlencode, urljoin

import pytest
import requests
from harness.command import PORTION
from harness.listening import Listening
from harness.rest_stub import Response, RestStub

COUNT = 330
ROWS = [{"id": number, "name": f"row {number}", "note": "lorem ipsum dolor " * (number * 7 % 30)} for number in range(COUNT)]


def page_of(request, size):
    """The rows of a page by number."""
    number = int(request.query.get("page", 1))
    return number, -(-COUNT // size), ROWS[(number - 1) * size : number * size]


class Apis(RestStub):
    def __init__(self):
        forms = ("cursor", "slack", "hubspot", "salesforce", "complete", "jsonapi", "graph", "nested", "discogs", "flickr", "wordpress", "strapi", "gitlab", "before", "since", "search")
        super().__init__({f"GET /{form}": getattr(self, form) for form in forms} | {f"GET /{form}/{{at}}": getattr(self, form) for form in forms})

    def search(self, request):
        assert request.query["query"] == "row"
        return ROWS

    def after(self, request, default):
        size, at = min(int(request.query.get("limit", default)), 100), int(request.query.get("cursor", request.query.get("after", 0)))
        return ROWS[at : at + size], str(at + size) if at + size < COUNT else None

    def cursor(self, request):
        rows, end = self.after(request, 50)
        return {"results": rows, "next_cursor": end, "has_more": bool(end)}

    def slack(self, request):
        rows, end = self.after(request, 50)
        return {"ok": True, "channels": rows, "response_metadata": {"next_cursor": end or ""}}

    def hubspot(self, request):
        rows, end = self.after(request, 10)
        return {"results": rows} | ({"paging": {"next": {"after": end}}} if end else {})

    def part(self, request):
        form, _, at = request.target.strip("/").partition("/")
        end = int(at or 0) + 200
        return ROWS[int(at or 0) : end], f"/{form}/{end}" if end < COUNT else None

    def salesforce(self, request):
        rows, end = self.part(request)
        return {"totalSize": COUNT, "done": not end, **({"nextRecordsUrl": end} if end else {}), "records": rows}

    def complete(self, request):
        rows, end = self.part(request)
        return {"complete": not end, **({"next_url": end} if end else {}), "records": rows}

    def jsonapi(self, request):
        rows, end = self.part(request)
        return {"records": rows, "links": {"next": end} if end else {}}

    def graph(self, request):
        rows, end = self.part(request)
        return {"records": rows, **({"nextLink": end} if end else {"deltaLink": "/delta"})}

    def nested(self, request):
        number, pages, rows = page_of(request, 90)
        return {"status": "ok", "result": {"list": rows, "page": number, "pages": pages}}

    def discogs(self, request):
        number, pages, rows = page_of(request, 90)
        return {"pagination": {"page": number, "pages": pages, "per_page": 90, "items": COUNT}, "releases": rows}

    def flickr(self, request):
        number, pages, rows = page_of(request, 90)
        return {"photos": {"page": number, "pages": pages, "perpage": 90, "total": COUNT, "photo": rows}, "stat": "ok"}

    def wordpress(self, request):
        _, pages, rows = page_of(request, 90)
        return {"posts": rows, "found": COUNT, "max_num_pages": pages}

    def strapi(self, request):
        number, pages, rows = page_of(request, 90)
        return {"data": rows, "meta": {"pagination": {"page": number, "pageSize": 90, "pageCount": pages, "total": COUNT}}}

    def gitlab(self, request):
        number, pages, rows = page_of(request, int(request.query.get("per_page", 90)))
        link = lambda page, relation: f'<{self.url}/gitlab?{urlencode({**request.query, "page": page})}>; rel="{relation}"'  # noqa: E731
        links = [link(number + 1, "next"), link(pages, "last")] if number < pages else [link(1, "first")]
        following = str(number + 1) if number < pages else ""
        return Response(rows, headers={"Link": ", ".join(links), "X-Page": str(number), "X-Next-Page": following, "X-Total-Pages": str(pages)})

    def before(self, request):
        size, end = min(int(request.query.get("limit", 50)), 100), int(request.query.get("before", COUNT))
        return [row for row in reversed(ROWS) if row["id"] < end][:size]

    def since(self, request):
        size, start = min(int(request.query.get("limit", 50)), 100), int(request.query.get("since", -1))
        return [row for row in ROWS if row["id"] > start][:size]


@contextmanager
def through_portion():
    with Apis() as api, Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
        yield proxy.url.rstrip("/")


@pytest.fixture(scope="module")
def url():
    with through_portion() as url:
        yield url


def ask(url, **query):
    response = requests.get(url, query, headers={"Authorization": "Bearer ada"}, timeout=60)
    assert response.status_code == 200, response.text
    return response


def check(seen):
    assert len(seen) == COUNT
    assert {row["id"] for row in seen} == set(range(COUNT))


@pytest.mark.parametrize("limit", [20, 100])
@pytest.mark.parametrize(
    ("form", "key", "argument", "next_of"),
    [
        ("cursor", "results", "cursor", lambda body: body["has_more"] and body["next_cursor"]),
        ("slack", "channels", "cursor", lambda body: body["response_metadata"]["next_cursor"]),
        ("hubspot", "results", "after", lambda body: body.get("paging", {}).get("next", {}).get("after")),
    ],
    ids=["cursor", "slack", "hubspot"],
)
def test_a_limit_beside_a_cursor_of_the_api(url, form, key, argument, next_of, limit):
    seen, position = [], {}
    while position is not None:
        body = ask(f"{url}/{form}", limit=limit, **position).json()
        seen += body[key]
        following = next_of(body)
        position = {argument: following} if following else None
    check(seen)


@pytest.mark.parametrize("step", ["link", "cursor"])
def test_an_api_has_a_parameter_query(url, step):
    """Its value stands in the requests for further pages, and is no query of ours there."""
    seen, page = [], ask(f"{url}/search", query="row")
    while True:
        seen += page.json()
        if "next" not in page.links:
            return check(seen)
        cursor = {"query": "row", "cursor": page.headers["X-Portion-Next-Cursor"]}
        page = ask(urljoin(url, page.links["next"]["url"])) if step == "link" else ask(f"{url}/search", **cursor)


@pytest.mark.parametrize("step", ["before", "since"])
def test_a_limit_beside_an_id(url, step):
    seen, position = [], {}
    while True:
        rows = ask(f"{url}/{step}", limit=100, **position).json()
        seen += rows
        if len(rows) < 100:
            return check(seen)
        position = {step: rows[-1]["id"]}


@pytest.mark.parametrize(
    ("form", "next_of"),
    [
        ("salesforce", lambda body: None if body["done"] else body["nextRecordsUrl"]),
        ("salesforce", lambda body: body.get("nextRecordsUrl")),
        ("complete", lambda body: None if body["complete"] else body["next_url"]),
        ("jsonapi", lambda body: body["links"].get("next")),
        ("graph", lambda body: body.get("nextLink")),
    ],
    ids=["done", "nextRecordsUrl", "complete", "links", "deltaLink"],
)
def test_an_api_that_says_the_end_in_its_own_way(url, form, next_of):
    seen, target = [], f"{url}/{form}"
    while target:
        body = ask(target).json()
        seen += body["records"]
        following = next_of(body)
        target = following and urljoin(target, following)
    check(seen)


@pytest.mark.parametrize(
    ("form", "rows_of", "pages_of"),
    [
        ("nested", lambda body: body["result"]["list"], lambda body: body["result"]["pages"]),
        ("discogs", lambda body: body["releases"], lambda body: body["pagination"]["pages"]),
        ("flickr", lambda body: body["photos"]["photo"], lambda body: body["photos"]["pages"]),
        ("wordpress", lambda body: body["posts"], lambda body: body["max_num_pages"]),
        ("strapi", lambda body: body["data"], lambda body: body["meta"]["pagination"]["pageCount"]),
    ],
    ids=["nested", "discogs", "flickr", "wordpress", "strapi"],
)
def test_pages_are_counted_wherever_their_number_stands(url, form, rows_of, pages_of):
    seen, number, pages = [], 0, 1
    while number < pages:
        number += 1
        body = ask(f"{url}/{form}", page=number).json()
        seen, pages = seen + rows_of(body), pages_of(body)
    check(seen)


@pytest.mark.parametrize("loop", ["next", "last", "X-Next-Page", "X-Total-Pages"])
def test_headers_state_what_is_served(loop):
    with through_portion() as url:
        first = ask(f"{url}/gitlab", per_page=30)
        seen, last = first.json(), re.search(r"page=(\d+)", first.links["last"]["url"].split("?")[1].replace("per_page", ""))
        if loop == "next":
            response = first
            while "next" in response.links:
                # Many clients resolve no relative links.
                response = ask(response.links["next"]["url"])
                seen += response.json()
        elif loop == "X-Next-Page":
            number = first.headers["X-Next-Page"]
            while number:
                response = ask(f"{url}/gitlab", per_page=30, page=number)
                seen, number = seen + response.json(), response.headers["X-Next-Page"]
        else:
            pages = int(last[1] if loop == "last" else first.headers["X-Total-Pages"])
            seen += [row for number in range(2, pages + 1) for row in ask(f"{url}/gitlab", per_page=30, page=number).json()]
        check(seen)


def test_headers_of_a_page_that_is_served_in_part_do_not_stand():
    with through_portion() as url:
        part = ask(f"{url}/gitlab")
        assert len(part.json()) == 50 and "last" not in part.links and part.links["next"]["url"].startswith(f"{url}/gitlab?")
        assert not {"X-Page", "X-Next-Page", "X-Total-Pages"} & set(part.headers)


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("application/xml", "<?xml version='1.0' encoding='ISO-8859-1'?><rows>" + "<row><name>café</name></row>" * 900 + "</rows>"),
        ("text/html", "<html><head><meta charset='iso-8859-1'></head><body>" + "<p>café à la carte</p>" * 1500 + "</body></html>"),
    ],
    ids=["xml", "html"],
)
def test_a_document_is_read_in_the_encoding_that_it_declares(media_type, text):
    answer = lambda _: Response(text.encode("latin-1"), headers={"Content-Type": media_type})  # noqa: E731
    with RestStub({"GET /menu": answer}) as api, Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
        shown = requests.get(f"{proxy.url.rstrip('/')}/menu", timeout=60).content.decode()
        assert "café" in shown and "\ufffd" not in shown

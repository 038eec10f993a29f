"""The loops by which clients of an API read a whole list, through Portion: each row comes, and comes once."""

import json
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from harness.command import PORTION, with_sdk
from harness.dense import expanded
from harness.education_data import EducationData
from harness.hostaway import Hostaway
from harness.listening import Listening, served
from harness.peer import Peer
from harness.rest_stub import Response, RestStub

DIRECTORY = "/api/v1/schools/ccd/directory/2020/"
MOST_REQUESTS = 400


class Links(RestStub):
    """A list of 500 rows, 90 on a page, with the facts about the page in an object beside the list."""

    def __init__(self):
        super().__init__({"GET /rows": self._rows})

    def _rows(self, request):
        page = int(request.query.get("page", 1))
        link = lambda number: f"{self.url}/rows?page={number}"  # noqa: E731
        more = page * 90 < 500
        meta = {"page": page, "per_page": 90, "total_pages": 6, "total": 500, "has_more": more, "next_page": page + 1 if more else None}
        rows = [{"id": number, "note": f"Row {number} of many, with a text. " * 3} for number in range((page - 1) * 90, min(page * 90, 500))]
        return {"rows": rows, "meta": meta, "links": {"next": link(page + 1) if more else None, "prev": link(page - 1) if page > 1 else None}}


@contextmanager
def proxied(api, *options):
    with Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off", *options]) as proxy:
        yield proxy.url.rstrip("/")


def get(url, is_known=True, **parameters):
    """The body for a caller with a credential of its own, who has snapshots, or for one without."""
    response = requests.get(url, parameters, headers={"Authorization": "Bearer ada"} if is_known else {}, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def rows(value):
    return list(expanded(value)) if isinstance(value, dict) else value


def by_link(url, key, next_of):
    """`while url: page = get(url); url = page["next"]`"""
    seen = []
    for _ in range(MOST_REQUESTS):
        page = get(url)
        seen += rows(page[key])
        url = next_of(page)
        if not url:
            return seen
    raise AssertionError("the loop does not end")


def by_offset(ask, key, own_counter, **parameters):
    """Offset and limit as the body states them, or the rows that came."""
    seen, offset = [], 0
    for _ in range(MOST_REQUESTS):
        page = ask(offset=offset, **parameters)
        found = rows(page[key])
        assert page["offset"] == offset or own_counter
        seen += found
        offset += len(found) if own_counter else page["limit"]
        if not found or offset >= page["count"]:
            return seen
    raise AssertionError("the loop does not end")


def by_page(ask, key, has_more):
    seen = []
    for number in range(1, MOST_REQUESTS):
        page = ask(page=number)
        seen += rows(page[key])
        if not has_more(page):
            return seen
    raise AssertionError("the loop does not end")


def check(seen, name, count):
    assert len(seen) == count
    assert len({row[name] for row in seen}) == count


@pytest.mark.parametrize("options", [[], ["--profile", "education-data"]], ids=["none", "education-data"])
def test_s2_next_links_are_followed_through_http(options):
    with EducationData(rows=12_000, page_rows=2_000) as api, proxied(api, *options) as url:
        first = get(url + DIRECTORY)
        assert first["next"].startswith(f"{url}{DIRECTORY}?cursor=") and first["previous"] is None and first["count"] == 12_000
        assert isinstance(first["results"], list) and len(first["results"]) == (20 if options else 50)
        api.rows = 3_000
        seen = by_link(url + DIRECTORY, "results", lambda page: page["next"])
        check(seen, "ncessch", 3_000)


@pytest.mark.parametrize("options", [[], ["--profile", "education-data"]], ids=["none", "education-data"])
def test_s2_all_rows_of_a_long_list_come_by_its_links(options):
    with EducationData(rows=12_000, page_rows=10_000) as api, proxied(api, *options) as url:
        seen = by_link(f"{url}{DIRECTORY}?fields=ncessch&limit=200", "results", lambda page: page["next"])
        check(seen, "ncessch", 12_000)


def test_s2_pages_by_number_are_read_until_none_is_left():
    with EducationData(rows=450, page_rows=200) as api, proxied(api, "--profile", "education-data") as url:
        ask = lambda **query: get(url + DIRECTORY, **query)  # noqa: E731
        check(by_page(ask, "results", lambda page: page["next"]), "ncessch", 450)


@pytest.mark.parametrize("pushdown", ["page", "link"])
@pytest.mark.parametrize("loop", ["next_page", "has_more", "total_pages", "next", "prev"])
def test_s2_facts_in_an_object_beside_the_list_are_of_what_is_served(tmp_path, pushdown, loop):
    config = tmp_path / "portion.yaml"
    config.write_text(f"endpoints:\n  GET /rows: {{pushdown: {pushdown}}}\n")
    with Links() as api, proxied(api, "--config", str(config)) as url:
        ask = lambda **query: get(f"{url}/rows", **query)  # noqa: E731
        if loop == "next":
            seen = by_link(f"{url}/rows", "rows", lambda page: page["links"]["next"])
        elif loop == "prev":
            seen, page = [], get(f"{url}/rows", limit=50, page=10)
            while page:
                seen += page["rows"]
                back = page["links"]["prev"]
                page = back and get(back)
        elif loop == "next_page":
            seen, number = [], 1
            while number:
                page = ask(page=number)
                seen += page["rows"]
                number = page["meta"]["next_page"]
        elif loop == "has_more":
            seen = by_page(ask, "rows", lambda page: page["meta"]["has_more"])
        else:
            seen = by_page(ask, "rows", lambda page: page["meta"]["page"] < page["meta"]["total_pages"])
        check(seen, "id", 500)


@pytest.mark.parametrize("own_counter", [True, False], ids=["own counter", "of the body"])
@pytest.mark.parametrize("options", [[], ["--api-parameter", "limit,offset"], ["--profile", "hostaway", "--envelope", "auto"]], ids=["none", "none, with parameters", "hostaway"])
@pytest.mark.parametrize("limit", [None, 100])
def test_s2_offsets_are_added_up_through_http(options, own_counter, limit):
    with Hostaway() as api, proxied(api, *options) as url:
        api.tokens["ada"] = float("-inf")
        ask = lambda **query: get(f"{url}/v1/reservations", **query)  # noqa: E731
        more = {"limit": limit} if limit else {}
        seen = by_offset(ask, "result", own_counter, **more)
        check(seen, "id", 500)


@pytest.mark.parametrize("own_counter", [True, False], ids=["own counter", "of the body"])
def test_s2_offsets_are_added_up_through_serve(own_counter):
    env = {"HOSTAWAY_CLIENT_ID": "id", "HOSTAWAY_CLIENT_SECRET": "secret"}
    with Hostaway() as api:
        api.tokens["ada"] = float("-inf")
        options = ["--profile", "hostaway", "--envelope", "auto", "--upstream", api.url, "--header", "Authorization: Bearer ada"]
        with Listening(served("--admin", "off", *options), env=env) as portion, Peer(portion.url) as peer:
            ask = lambda **arguments: json.loads(peer.call("search_bookings", **arguments)["content"][0]["text"])  # noqa: E731
            check(by_offset(ask, "result", own_counter), "id", 500)


class Numbered(RestStub):
    """500 rows of an API that numbers its pages: each path says it in another way, and one has no pages."""

    def __init__(self):
        forms = {
            "/meta": lambda at: {"rows": at.rows, "meta": {"page": at.page, "total_pages": at.pages, "total": 500, "has_more": at.more, "next_page": at.page + 1 if at.more else None}},
            "/flat": lambda at: {"rows": at.rows, "page": at.page, "total_pages": at.pages, "total": 500},
            "/links": lambda at: {"count": 500, "next": at.link(at.page + 1) if at.more else None, "rows": at.rows},
            "/relative": lambda at: {"rows": at.rows, "next": urlsplit(at.link(at.page + 1))._replace(scheme="", netloc="").geturl() if at.more else None},
            "/header": lambda at: Response(at.rows, headers={"Link": f'<{at.link(at.page + 1)}>; rel="next"'} if at.more else {}),
            "/total": lambda at: {"rows": at.rows, "total": 500},
            "/number": lambda at: {"rows": at.rows, "next_page": at.page + 1 if at.more else None},
            "/offset": lambda at: {"rows": at.rows, "next_offset": at.page * at.size if at.more else None},
            "/more": lambda at: {"rows": at.rows, "has_more": at.more},
            "/bare": lambda at: at.rows,
            "/zero": lambda at: {"rows": at.rows, "number": at.page - 1, "totalPages": at.pages, "last": not at.more},
        }
        super().__init__({f"GET {path}": partial(self._answer, form) for path, form in forms.items()} | {"GET /whole": self._whole})

    def _answer(self, form, request):
        path = urlsplit(request.target).path
        first = 0 if path == "/zero" else 1
        page, size = int(request.query.get("page", first)) + 1 - first, int(request.query.get("per_page", 90))
        if path == "/offset":
            page = int(request.query.get("offset", 0)) // size + 1
        rows = [{"id": number, "note": f"Row {number} of many, with a text. " * 3} for number in range((page - 1) * size, min(page * size, 500))]
        link = lambda number: f"{self.url}{path}?page={number}"  # noqa: E731
        return form(SimpleNamespace(rows=rows, page=page, size=size, pages=-(-500 // size), more=page * size < 500, link=link))

    def _whole(self, _request):
        return [{"id": number} for number in range(500)]


ENDS = {
    "/meta": [lambda body, n: body["meta"]["next_page"] is None, lambda body, n: not body["meta"]["has_more"], lambda body, n: n >= body["meta"]["total_pages"]],
    "/flat": [lambda body, n: n >= body["total_pages"]],
    "/links": [lambda body, n: body["next"] is None],
    "/number": [lambda body, n: body["next_page"] is None],
    "/relative": [lambda body, n: body["next"] is None],
    "/header": [lambda body, n: not body],
    "/total": [lambda body, n: not body["rows"]],
    "/more": [lambda body, n: not body["has_more"]],
    "/bare": [lambda body, n: not body],
    "/whole": [lambda body, n: not body],
    "/zero": [lambda body, n: body["last"]],
}


@pytest.fixture(scope="module")
def numbered():
    with Numbered() as api, proxied(api) as url:
        yield api, url


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("size", [{}, {"limit": 40}, {"per_page": 20}, {"per_page": 300}], ids=str)
@pytest.mark.parametrize("path", ENDS)
def test_s2_pages_by_number_are_all_read_where_nothing_is_configured(numbered, path, size, is_known):
    api, url = numbered
    for end in ENDS[path]:
        for names_first in (True, False):
            if not names_first and (path in ("/zero", "/whole") or size.get("limit") or size.get("per_page") == 300):
                continue
            seen = []
            for number in range(1, MOST_REQUESTS):
                body = get(url + path, is_known, **size, **({"page": number} if number > 1 or names_first else {}))
                seen += body if isinstance(body, list) else body["rows"]
                if end(body, number):
                    break
            check(seen, "id", 500)


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("first", ["", "?page=1", "?offset=0", "?limit=40"])
@pytest.mark.parametrize("path", ["/links", "/relative", "/header"])
def test_s2_links_lead_through_portion_where_nothing_is_configured(numbered, path, first, is_known):
    api, url = numbered
    target, seen = url + path + first, []
    for _ in range(MOST_REQUESTS):
        assert target.startswith(url)
        response = requests.get(target, headers={"Authorization": "Bearer ada"} if is_known else {}, timeout=60)
        body = response.json()
        seen += body if isinstance(body, list) else body["rows"]
        following = response.links.get("next", {}).get("url") if path == "/header" else body["next"]
        if not following:
            break
        target = urljoin(target, following)
    check(seen, "id", 500)


def test_s2_the_cursors_of_a_page_by_number_lead_to_the_end(numbered):
    api, url = numbered
    for path in ("/meta", "/links", "/bare"):
        response, seen = requests.get(f"{url}{path}?page=2", timeout=60), []
        while True:
            body = response.json()
            seen += body if isinstance(body, list) else body["rows"]
            if "next" not in response.links:
                break
            response = requests.get(url + response.links["next"]["url"], timeout=60)
        # The second page may be the last one that a bare list tells of.
        assert [row["id"] for row in seen] == list(range(50, 500)), path


@pytest.mark.parametrize("path", ["/meta", "/number", "/offset", "/links"])
@pytest.mark.parametrize("size", [90, 20])
def test_s2_the_cursors_of_a_plain_call_lead_to_the_end(numbered, path, size):
    api, url = numbered
    # Without its limits, a page of 20 rows would pass as it is, and its own members would lead on.
    with proxied(api, "--token-budget-threshold", "600", "--reply-target", "600") as url:
        response, seen = requests.get(f"{url}{path}", {"per_page": size}, timeout=60), []
        while True:
            assert response.status_code == 200, response.text
            seen += response.json()["rows"]
            if "next" not in response.links:
                break
            response = requests.get(url + response.links["next"]["url"], timeout=60)
        check(seen, "id", 500)


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_s2_numbers_go_on_after_a_plain_call_where_pages_are_small_but_long(numbered, is_known):
    """A first page that does not pass as it is holds no rows of the page by the next number."""
    api, _ = numbered
    with proxied(api, "--token-budget-threshold", "600", "--reply-target", "600", "--full-below", "300") as url:
        for path in ("/number", "/meta", "/links"):
            seen, number = [], 1
            while number < MOST_REQUESTS:
                body = get(url + path, is_known, per_page=20, **({"page": number} if number > 1 else {}))
                seen += body["rows"]
                number += 1
                if ENDS[path][0](body, number - 1):
                    break
            check(seen, "id", 500)


def test_a_number_that_the_api_does_not_take_loses_nothing():
    """The name of an argument is only supposed: an API that ignores it serves its first page, whole, and the rest is said to be missing."""
    rows = [{"id": number, "note": f"Row {number} of many, with a text. " * 3} for number in range(90)]
    with RestStub({"GET /rows": lambda _: {"rows": rows, "next_page": 2}}) as api, proxied(api) as url:
        response, seen = requests.get(f"{url}/rows", timeout=60), []
        while True:
            seen += [row["id"] for row in response.json()["rows"]]
            if "next" not in response.links:
                break
            response = requests.get(url + response.links["next"]["url"], timeout=60)
        assert seen == list(range(90))
        assert "the same page again" in response.text


class Offsets(RestStub):
    """500 rows of an API that takes an offset and a limit: 30 rows where the client names none."""

    def __init__(self):
        super().__init__({"GET /rows": self._rows})

    def _rows(self, request):
        start, size = int(request.query.get("offset", 0)), int(request.query.get("limit", 30))
        rows = [{"id": number, "note": f"Row {number} of many, with a text. " * 3} for number in range(start, min(start + size, 500))]
        return {"rows": rows, "limit": size, "offset": start, "total": 500, "has_more": start + size < 500}


@pytest.mark.parametrize("options", [[], ["--api-parameter", "limit,offset"]], ids=["none", "with parameters"])
def test_s2_a_client_adds_its_own_limit_to_the_offset(options):
    with Offsets() as api, proxied(api, *options) as url:
        seen = []
        for offset in range(0, 500, 100):
            seen += get(f"{url}/rows", limit=100, offset=offset)["rows"]
        check(seen, "id", 500)


class Dialects(RestStub):
    """Lists of the usual forms: the path tells the form, and `count` the rows. Pages have 100 rows where the client names no number."""

    def __init__(self, count, text="", most=100):
        self.count, self.text, self.most = count, text, most
        gets = {"/take": ("take", "skip"), "/jql": ("maxResults", "startAt"), "/top": ("$top", "$skip"), "/plain": ("limit", "offset")}
        routes = {f"GET {path}": partial(self._offsets, *names) for path, names in gets.items()}
        routes |= {"GET /pages": self._pages, "GET /zero": self._zero, "GET /hal": self._hal, "GET /odata": self._odata, "POST /graph": self._graph, "POST /posted": self._posted}
        super().__init__(routes)

    def rows(self, start, size):
        return [{"id": number, "name": f"Row {number}"} | ({"text": self.text} if self.text else {}) for number in range(start, min(start + size, self.count))]

    def _offsets(self, limit, offset, request):
        start, size = int(request.query.get(offset, 0)), min(int(request.query.get(limit, 100)), self.most)
        return {"data": self.rows(start, size), "total": self.count, limit: size, offset: start}

    def _pages(self, request):
        page, size = int(request.query.get("page", 1)), min(int(request.query.get("per_page", 50)), 100)
        return {"page": page, "per_page": size, "total": self.count, "total_pages": -(-self.count // size), "data": self.rows((page - 1) * size, size)}

    def _zero(self, request):
        page = int(request.query.get("page", 0))
        rows = self.rows(page * 20, 20)
        return {"content": rows, "totalElements": self.count, "totalPages": -(-self.count // 20), "number": page, "size": 20, "last": page * 20 + 20 >= self.count}

    def _hal(self, request):
        page = int(request.query.get("page", 1))
        links = {"self": {"href": f"{self.url}/hal?page={page}"}} | ({"next": {"href": f"{self.url}/hal?page={page + 1}"}} if page * 50 < self.count else {})
        return {"_links": links, "_embedded": {"items": self.rows(page * 50 - 50, 50)}, "page": page, "pages": -(-self.count // 50), "total": self.count}

    def _odata(self, request):
        start = int(request.query.get("$skip", 0))
        more = {"@odata.nextLink": f"{self.url}/odata?$skip={start + 100}"} if start + 100 < self.count else {}
        return {"@odata.context": "http://api/$metadata#Rows", "value": self.rows(start, 100)} | more

    def _graph(self, request):
        start = int(json.loads(request.body)["variables"].get("after") or -1) + 1
        rows = self.rows(start, 100)
        edges = [{"cursor": str(row["id"]), "node": row} for row in rows]
        return {"data": {"rows": {"edges": edges, "pageInfo": {"hasNextPage": start + 100 < self.count, "endCursor": edges[-1]["cursor"]}}}}

    def _posted(self, request):
        start = int(json.loads(request.body).get("start_cursor") or 0)
        more = start + 100 < self.count
        return {"results": self.rows(start, 100), "has_more": more, "next_cursor": str(start + 100) if more else None}


TEXTS = pytest.mark.parametrize("text", ["", "A text that takes some room. " * 15], ids=["short", "long"])


@TEXTS
@pytest.mark.parametrize("options", [[], ["--api-parameter", "limit,offset"]], ids=["none", "with parameters"])
@pytest.mark.parametrize("path, limit, offset", [("/take", "take", "skip"), ("/jql", "maxResults", "startAt"), ("/top", "$top", "$skip"), ("/plain", "limit", "offset")])
def test_s2_a_size_that_the_client_names_is_kept(path, limit, offset, options, text):
    if options and path != "/plain":
        options = ["--api-parameter", f"{limit},{offset}"]
    with Dialects(450, text) as api, proxied(api, *options) as url:
        seen = [row for start in range(0, 450, 100) for row in get(url + path, **{limit: 100, offset: start})["data"]]
        check(seen, "id", 450)


@TEXTS
@pytest.mark.parametrize("count", [99, 450])
@pytest.mark.parametrize("size", [{}, {"per_page": 100}], ids=str)
def test_s2_a_page_that_is_cut_counts_the_pages_that_are_served(tmp_path, count, size, text):
    config = tmp_path / "portion.yaml"
    config.write_text("endpoints:\n  GET /pages: {pushdown: {page: page, limit: per_page}}\n")
    with Dialects(count, text) as api, proxied(api, "--config", str(config)) as url:
        ask = lambda **query: get(f"{url}/pages", **query, **size)  # noqa: E731
        check(by_page(ask, "data", lambda page: page["page"] < page["total_pages"]), "id", count)


@pytest.mark.parametrize("count", [430, 450])
@pytest.mark.parametrize("options", [[], ["--lean"]], ids=["default", "lean"])
def test_s2_a_page_of_long_items_is_whole_even_if_it_is_the_short_last_one(count, options):
    with Dialects(count, "A text that takes much room. " * 100) as api, proxied(api, *options) as url:
        seen, number = [], 0
        while number * 100 < count:
            number += 1
            seen += rows(get(f"{url}/pages", per_page=100, page=number)["data"])
        check(seen, "id", count)


@TEXTS
@pytest.mark.parametrize("size", [{}, {"per_page": 100}], ids=str)
def test_s2_the_first_page_needs_no_number_with_lean(text, size):
    with Dialects(450, text) as api, proxied(api, "--lean") as url:
        page = get(f"{url}/pages", **size)
        seen = rows(page["data"])
        for number in range(2, page["total_pages"] + 1):
            seen += rows(get(f"{url}/pages", page=number, **size)["data"])
        check(seen, "id", 450)


@TEXTS
def test_s2_pages_of_hal_are_read_by_links_and_by_numbers(text):
    with Dialects(450, text) as api, proxied(api) as url:
        seen, target = [], f"{url}/hal"
        while target:
            page = get(target)
            seen += page["_embedded"]["items"]
            target = (page["_links"].get("next") or {}).get("href") if "_links" in page else None
        check(seen, "id", 450)
        seen, number = [], 0
        while not number or number < page["pages"]:
            number += 1
            page = get(f"{url}/hal", page=number)
            seen += page["_embedded"]["items"]
        check(seen, "id", 450)


@TEXTS
@pytest.mark.parametrize("count", [99, 450])
def test_s2_links_of_odata_lead_to_the_end(count, text):
    with Dialects(count, text) as api, proxied(api) as url:
        check(by_link(f"{url}/odata", "value", lambda page: page.get("@odata.nextLink")), "id", count)


@TEXTS
@pytest.mark.parametrize("count", [99, 450])
def test_s2_cursors_in_bodies_of_requests_are_those_of_the_api(count, text):
    with Dialects(count, text) as api, proxied(api) as url:
        post = lambda path, **body: requests.post(url + path, json=body, timeout=60).json()  # noqa: E731
        seen, after = [], None
        while True:
            found = post("/graph", variables={"after": after})["data"]["rows"]
            seen += [edge["node"] for edge in found["edges"]]
            after = found["pageInfo"]["endCursor"]
            if not found["pageInfo"]["hasNextPage"]:
                break
        check(seen, "id", count)
        seen, more = [], {}
        while True:
            found = post("/posted", **more)
            seen += found["results"]
            more = {"start_cursor": found["next_cursor"]}
            if not found["has_more"]:
                break
        check(seen, "id", count)


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_s2_pages_are_counted_from_0_as_the_client_and_the_api_count(is_known):
    with Dialects(450) as api, proxied(api) as url:
        seen, number = [], 0
        while not number or not page["last"]:
            page = get(f"{url}/zero", is_known, page=number)
            assert page["number"] == number
            seen += page["content"]
            number += 1
        check(seen, "id", 450)


def test_a_limit_above_the_largest_is_an_error_only_where_rows_would_be_stepped_over(tmp_path):
    config = tmp_path / "portion.yaml"
    config.write_text("endpoints:\n  GET /plain: {pushdown: limit-offset}\n")
    for count, status in ((120, 200), (450, 400)):
        with Dialects(count, most=1000) as api, proxied(api, "--config", str(config)) as url:
            response = requests.get(f"{url}/plain", {"limit": 1000, "offset": 0}, timeout=60)
            assert response.status_code == status, response.text
            assert len(response.json()["data"]) == count if status == 200 else "maximum of 200" in response.text


@pytest.mark.parametrize("parameters", [{}, {"per_page": 100}, {"per_page": 150}], ids=str)
def test_s2_pages_of_known_parameters_are_served_whole(numbered, parameters):
    api, _ = numbered
    with proxied(api, "--api-parameter", "page,per_page") as url:
        seen, number = [], 1
        while True:
            page = get(f"{url}/flat", page=number, **parameters)
            seen += page["rows"]
            if number >= page["total_pages"]:
                break
            number += 1
        check(seen, "id", 500)


def test_s2_the_last_part_of_a_page_links_to_the_next_page_of_the_api(numbered):
    api, _ = numbered
    with proxied(api, "--api-parameter", "page,per_page") as url:
        target, seen = f"{url}/header", []
        while target:
            response = requests.get(target, headers={"Authorization": "Bearer ada"}, timeout=60)
            seen += response.json()
            following = response.links.get("next", {}).get("url")
            target = following and urljoin(target, following)
        check(seen, "id", 500)


@pytest.mark.parametrize("body", [{"rows": []}, {"rows": [], "total": 0}, {"status": "success", "rows": [], "meta": {"has_more": False}}], ids=str)
def test_an_empty_result_is_a_page_without_rows(body):
    with RestStub({"GET /rows": lambda _: body}) as api:
        with proxied(api) as url:
            assert get(f"{url}/rows") == body
            for asked in ({"page": 2}, {"offset": 5}, {"limit": 3, "page": 99}):
                assert get(f"{url}/rows", **asked)["rows"] == []
        with proxied(api, "--envelope", "wrap") as url:
            page = get(f"{url}/rows", limit=3)
            assert (page["items"], page["nextCursor"], page["meta"]["totalCount"]) == ([], None, 0)


def test_a_list_without_pages_is_asked_for_once(numbered):
    api, url = numbered
    before = len(api.asked)
    for number in (1, 2, 3, 9):
        assert [row["id"] for row in get(f"{url}/whole", page=number)] == list(range(50 * number - 50, 50 * number))
    assert [request.query for request in api.asked[before:]] == [{}]


def test_s2_pages_by_number_are_read_through_serve():
    with EducationData(rows=450, page_rows=200) as api:
        options = ["--profile", "education-data", "--upstream", api.url]
        with Listening(served("--admin", "off", *options)) as portion, Peer(portion.url) as peer:
            arguments = {"level": "schools", "source": "ccd", "topic": "directory", "filters": {"year": 2020}}
            ask = lambda **page: json.loads(peer.call("get_education_data", **arguments, **page)["content"][0]["text"])  # noqa: E731
            check(by_page(ask, "results", lambda page: page["next"]), "ncessch", 450)


def test_a_limit_is_asked_of_the_api():
    with Hostaway() as api, proxied(api, "--profile", "hostaway", "--envelope", "auto") as url:
        api.tokens["ada"] = float("-inf")
        page = get(f"{url}/v1/reservations", limit=10)
        assert len(rows(page["result"])) == 10 and (page["limit"], page["offset"], page["count"]) == (10, 0, 500)
        assert api.asked[0].query["limit"] == "10"


@pytest.mark.parametrize("pushdown", ["{preset: page, limit: per_page}", "{preset: link, limit: per_page}"], ids=["page", "link"])
def test_a_limit_is_asked_of_an_api_that_pages_in_another_way(tmp_path, pushdown):
    config = tmp_path / "portion.yaml"
    config.write_text(f"endpoints:\n  GET /links: {{pushdown: {pushdown}}}\n")
    with Numbered() as api, proxied(api, "--config", str(config)) as url:
        assert [row["id"] for row in get(f"{url}/links", limit=10)["rows"]] == list(range(10))
        assert [row["id"] for row in get(f"{url}/links", limit=10, page=2)["rows"]] == list(range(10, 20))
        assert [request.query["per_page"] for request in api.asked] == ["10", "10"]


def test_a_limit_is_asked_of_an_api_that_pages_by_cursors(tmp_path):
    def answer(request):
        first, size = int(request.query.get("cursor", "c0")[1:]), int(request.query.get("per_page", 90))
        end = min(first + size, 300)
        return {"rows": [{"id": number} for number in range(first, end)], "next_cursor": f"c{end}" if end < 300 else None}

    config = tmp_path / "portion.yaml"
    config.write_text("endpoints:\n  GET /rows: {pushdown: {preset: cursor, limit: per_page}}\n")
    with RestStub({"GET /rows": answer}) as api, proxied(api, "--config", str(config)) as url:
        page = get(f"{url}/rows", limit=10)
        assert [row["id"] for row in page["rows"]] == list(range(10))
        assert [request.query for request in api.asked] == [{"per_page": "10"}]
        seen, cursor = page["rows"], page["next_cursor"]
        while cursor:
            page = get(f"{url}/rows", cursor=cursor)
            seen, cursor = seen + page["rows"], page["next_cursor"]
        check(seen, "id", 300)


CURSORS = {
    "by_cursor": ("cursor", "data", lambda page: page["has_more"] and page["next_cursor"]),
    "by_after": ("after", "edges", lambda page: page["pageInfo"]["hasNextPage"] and page["pageInfo"]["endCursor"]),
    "by_token": ("pageToken", "items", lambda page: page.get("nextPageToken")),
}


@pytest.mark.parametrize("pushdown", [None, "cursor"])
@pytest.mark.parametrize("total", [90, 450])
@pytest.mark.parametrize("limit", [None, 100])
@pytest.mark.parametrize("tool", CURSORS)
def test_s2_cursors_in_bodies_of_results_lead_to_the_end_through_wrap(tmp_path, tool, limit, total, pushdown):
    """Parts of a page have cursors of Portion, which the tool's own argument takes; the last part has that of the server."""
    (argument, key, next_of), size = CURSORS[tool], {"by_after": "first", "by_token": "maxResults"}.get(tool, "limit")
    config = tmp_path / "portion.yaml"
    config.write_text(json.dumps({"endpoints": {tool: {"pushdown": pushdown, "rows": "objects"}} if pushdown else {}}))
    arguments = {"total": total} | ({size: limit} if limit else {})
    with Peer([PORTION, "wrap", "--config", str(config), "--", *with_sdk("fixture/paged.py")]) as peer:
        seen, cursor = [], {}
        peer.tools()
        for _ in range(MOST_REQUESTS):
            page = json.loads(peer.call(tool, **arguments, **cursor)["content"][0]["text"])
            seen += [row.get("node", row) for row in rows(page[key])]
            if not (following := next_of(page)):
                break
            cursor = {argument: following}
        check(seen, "id", total)


def test_a_small_list_keeps_what_the_api_says_of_its_page():
    with Hostaway(reservations=3) as api, proxied(api, "--profile", "hostaway", "--envelope", "auto") as url:
        api.tokens["ada"] = float("-inf")
        page = get(f"{url}/v1/reservations")
        assert (page["limit"], page["offset"], page["count"]) == (100, 0, 3)


class Reports(RestStub):
    """Reports that are no lists, one on a page; a feed that is read by cursors of its own; and what acts."""

    def __init__(self):
        reads = {"GET /report": self._report, "GET /feed": self._feed}
        super().__init__(reads | {f"{method} /rows": self._echo for method in ("DELETE", "PUT", "PATCH", "POST")})

    def _report(self, request):
        return {"page": int(request.query.get("page", 1)), "title": "a report"}

    def _feed(self, request):
        start = int(request.query.get("cursor", "c0")[1:])
        return {"entries": [{"id": number} for number in range(start, start + 20)], "next_cursor": f"c{start + 20}" if start < 40 else None}

    def _echo(self, request):
        return {"query": dict(request.query)}


def test_pages_and_cursors_of_the_api_are_its_own():
    with Reports() as api, proxied(api) as proxy:
        assert [get(f"{proxy}/report", page=number)["page"] for number in (1, 2, 3, 2)] == [1, 2, 3, 2]
        seen, cursor = [], None
        while cursor or not seen:
            page = get(f"{proxy}/feed", **({"cursor": cursor} if cursor else {}))
            seen += page["entries"]
            cursor = page["next_cursor"]
        assert [entry["id"] for entry in seen] == list(range(60))


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "POST"])
def test_what_acts_keeps_its_parameters(method):
    asked = {"path": "/tmp/a", "limit": "5", "page": "2", "section": "old", "sort": "age", "cursor": "c20"}
    with Reports() as api, proxied(api) as proxy:
        answer = requests.request(method, f"{proxy}/rows", params=asked, timeout=60)
        assert (answer.status_code, answer.json()["query"]) == (200, asked)

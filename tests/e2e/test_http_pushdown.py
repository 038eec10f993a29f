"""`portion http` fetches the pages of a list that the API pages by itself, and serves them as one list."""

import base64
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urljoin

import pytest
import requests
from harness.command import PORTION
from harness.listening import Listening
from harness.redis import RedisServer
from harness.rest_stub import Response, RestStub
from harness.waiting import until

ADA = {"Authorization": "Bearer ada"}
CONFIG = """
endpoints:
  GET /offset: {pushdown: hostaway}
  GET /sorted: {pushdown: {preset: hostaway, sort: sortOrder}}
  GET /pages: {pushdown: {page: page, limit: per_page}}
  GET /cursors: {pushdown: cursor}
  GET /nested: {pushdown: cursor}
  GET /urls: {pushdown: cursor}
  GET /links: {pushdown: link}
  GET /bare: {pushdown: {page: page, limit: per_page}}
  GET /headers: {pushdown: link}
  POST /offset: {pushdown: hostaway}
"""
LISTS = {"offset": "result", "pages": "items", "cursors": "data", "nested": "messages", "urls": "results", "links": "items", "bare": None, "headers": None}


def row(number):
    return {"id": number, "status": "confirmed", "note": f"Guest {number} asks for a cot, a desk and a quiet room. " * 2}


class Api(RestStub):
    """Lists of 470 items in every style. `slow` pages after the first wait for `release`."""

    def __init__(self):
        self.total, self.slow, self.release = 470, False, threading.Event()
        super().__init__({
            "GET /offset": self._offset,
            "POST /offset": self._offset,
            "GET /sorted": self._offset,
            "GET /pages": lambda request: {"items": self._page(request), "total": self.total},
            "GET /bare": self._page,
            "GET /cursors": self._cursors,
            "GET /nested": self._nested,
            "GET /urls": self._urls,
            "GET /links": self._links,
            "GET /headers": self._headers,
            "GET /echo": lambda request: request.echo(),
        })

    def _rows(self, first, count):
        if self.slow and first > 0:
            self.release.wait(30)
        return [row(number) for number in range(first + 1, min(first + count, self.total) + 1)]

    def _offset(self, request):
        if request.headers.get("authorization") != "Bearer ada":
            return Response({"status": "fail"}, 403)
        limit, offset = int(request.query.get("limit", 10)), int(request.query.get("offset", 0))
        rows = self._rows(offset, limit)
        if request.query.get("sortOrder") == "id desc":
            rows = [row(self.total + 1 - each["id"]) for each in rows]
        return {"status": "success", "result": rows, "count": self.total, "limit": limit, "offset": offset}

    def _page(self, request):
        size, page = int(request.query.get("per_page", 30)), int(request.query.get("page", 1))
        return self._rows((page - 1) * size, size)

    def _cursors(self, request):
        first, limit = int(request.query.get("cursor", "at:0")[3:]), int(request.query.get("limit", 25))
        end = first + limit
        return {"data": self._rows(first, limit), "next_cursor": f"at:{end}" if end < self.total else None}

    def _nested(self, request):
        """The cursor is in an object beside the list, and empty at the end."""
        page = self._cursors(request)
        return {"ok": True, "messages": page["data"], "response_metadata": {"next_cursor": page["next_cursor"] or ""}}

    def _urls(self, request):
        """The cursor is in the URL of the next page."""
        page = self._cursors(request)
        more = page["next_cursor"] and f"{self.url}/urls?limit=25&cursor={page['next_cursor'].replace(':', '%3A')}"
        return {"next": more, "previous": None, "results": page["data"]}

    def _links(self, request):
        page = int(request.query.get("page", 1))
        more = f"{self.url}/links?year=2020&page={page + 1}" if page * 40 < self.total else None
        return {"items": self._rows((page - 1) * 40, 40), "next": more}

    def _headers(self, request):
        """An array, with the URL of the next page in a header field (RFC 8288)."""
        page = int(request.query.get("page", 1))
        links = [f"<{self.url}/headers?page=1>; rel=\"first\""]
        if page * 40 < self.total:
            links.append(f"<{self.url}/headers?year=2020&page={page + 1}>; rel=\"next\"")
        return Response(self._rows((page - 1) * 40, 40), headers={"Link": ", ".join(links)})


@pytest.fixture
def api():
    with Api() as api:
        yield api
        api.release.set()


@contextmanager
def proxied(api, tmp_path, *options, config=CONFIG, env=None):
    file = tmp_path / "portion.yaml"
    file.write_text(config)
    command = [PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off", "--config", str(file)]
    with Listening([*command, *options], env=env) as proxy:
        yield proxy


def get(target, headers=ADA):
    response = requests.get(target, headers=headers, timeout=60)
    assert len(response.content) <= 65_536
    return response


def rows(response, key):
    return [item["id"] for item in (response.json()[key] if key else response.json())]


def walked(url, target, key):
    seen = []
    for _ in range(200):
        response = get(urljoin(url, target))
        assert response.status_code == 200, response.text
        seen += rows(response, key)
        if "next" not in response.links:
            return seen
        target = response.links["next"]["url"]
    raise AssertionError("the walk does not end")


@pytest.mark.parametrize("path", LISTS)
def test_a_walk_is_the_whole_list_once(api, tmp_path, path):
    with proxied(api, tmp_path) as proxy:
        assert walked(proxy.url, f"/{path}", LISTS[path]) == list(range(1, 471))
        # A link has pages of its own size. Without total and next page, an empty page is the end.
        assert len(api.told()) == {"links": 12, "headers": 12, "bare": 6}.get(path, 5)


@pytest.mark.parametrize("path", LISTS)
def test_a_query_in_the_first_request_reads_all_pages(api, tmp_path, path):
    with proxied(api, tmp_path) as proxy:
        counted = get(f"{proxy.url}/{path}?query=SELECT count(*) AS n, max(id) AS last FROM items")
        assert counted.json() == [{"n": 470, "last": 470}], counted.text
        # A second request may join it: two lists of all pages, in one statement.
        cursor = json.loads(counted.headers["x-portion-notice"])["meta"]["originalCursor"]
        joined = "SELECT count(*) AS n FROM items a JOIN b.items b ON a.id = b.id"
        assert get(f"{proxy.url}/{path}?query={joined}&with=b:{cursor}").json() == [{"n": 470}]


def test_the_first_page_costs_one_small_request_and_returns_at_once(api, tmp_path):
    api.slow = True
    with proxied(api, tmp_path) as proxy:
        first = get(f"{proxy.url}/offset?status=new")
        assert first.headers["x-total-count"] == "470" and rows(first, "result")[0] == 1
        assert api.asked[0].query == {"status": "new", "limit": "100", "offset": "0"} and len(api.asked) <= 2
        api.release.set()
        last = get(f"{proxy.url}/offset?cursor={first.json()['nextCursor']}&offset=460&limit=20")
        assert rows(last, "result") == list(range(461, 471))
        assert all(request.query["status"] == "new" and request.headers["authorization"] == "Bearer ada" for request in api.asked)


def test_controls_in_the_names_of_the_api(api, tmp_path):
    with proxied(api, tmp_path) as proxy:
        assert rows(get(f"{proxy.url}/offset?limit=20&offset=230"), "result") == list(range(231, 251))
        assert rows(get(f"{proxy.url}/pages?per_page=20&page=3"), "items") == list(range(41, 61))
        # A far offset waits for the pages before it, and for no more.
        assert rows(get(f"{proxy.url}/pages?offset=465"), "items") == list(range(466, 471))
        newest = get(f"{proxy.url}/offset?sort=id%20desc&limit=3&fields=id")
        assert rows(newest, "result") == [470, 469, 468]
        assert get(f"{proxy.url}/offset?limit=0").json()["error"]["code"] == "limit_invalid"


def test_a_far_offset_is_requested_directly(api, tmp_path):
    api.total = 5_000
    with proxied(api, tmp_path) as proxy:
        first = get(f"{proxy.url}/offset?offset=4000&limit=20&status=new")
        assert rows(first, "result") == list(range(4_001, 4_021)) and first.headers["x-total-count"] == "5000"
        assert api.asked[0].query == {"status": "new", "limit": "20", "offset": "4000"}
        assert all(int(request.query["offset"]) >= 4_000 for request in api.asked)
        meta = first.json()["meta"]
        assert meta["offset"] == 4_000 and "from offset 4000" in meta["upstream"] and meta["hasMore"] is True
        rest = walked(proxy.url, first.links["next"]["url"], "result")
        assert rest == list(range(4_021, 5_001))
        # The items before it are in another result.
        cursor = first.headers["x-portion-cursor"]
        refused = get(f"{proxy.url}/offset?cursor={cursor}&offset=3")
        assert refused.json()["error"]["code"] == "offset_invalid"
        assert rows(get(f"{proxy.url}/offset?cursor={cursor}&offset=4990&limit=5"), "result") == list(range(4_991, 4_996))
        past = get(f"{proxy.url}/offset?offset=9000&limit=20")
        assert rows(past, "result") == [] and past.headers["x-total-count"] == "5000" and "next" not in past.links
        assert rows(get(f"{proxy.url}/offset?status=new&limit=20"), "result") == list(range(1, 21))


def test_a_stored_list_that_is_still_short_does_not_hold_up_a_far_offset(api, tmp_path):
    api.total = 5_000
    with proxied(api, tmp_path) as proxy:
        api.slow = True
        assert rows(get(f"{proxy.url}/offset?limit=20"), "result") == list(range(1, 21))
        api.slow = False
        far = get(f"{proxy.url}/offset?offset=4000&limit=20")
        assert rows(far, "result") == list(range(4_001, 4_021))
        api.release.set()


def test_the_order_is_that_of_the_api_where_it_has_one(api, tmp_path):
    with proxied(api, tmp_path) as proxy:
        first = get(f"{proxy.url}/sorted?sort=id%20desc&limit=3")
        assert rows(first, "result") == [470, 469, 468]
        assert all(request.query["sortOrder"] == "id desc" for request in api.asked)
        again = get(f"{proxy.url}/sorted?sort=id%20asc&limit=3")
        assert rows(again, "result") == [1, 2, 3]


def test_a_short_list_is_untouched(api, tmp_path):
    api.total = 3
    with proxied(api, tmp_path) as proxy:
        through = get(f"{proxy.url}/offset")
        assert through.json() == get(f"{api.url}/offset?limit=100&offset=0").json()
        assert "x-portion-kind" not in through.headers


def test_only_get_is_repeated_and_errors_pass(api, tmp_path):
    with proxied(api, tmp_path) as proxy:
        for _ in range(3):
            requests.post(f"{proxy.url}/offset", headers=ADA, timeout=30)
        assert [request.method for request in api.told()] == ["POST"] * 3
        refused = get(f"{proxy.url}/offset", {"Authorization": "Bearer eve"})
        assert refused.status_code == 403 and refused.json() == {"status": "fail"} and len(api.told()) == 1
    assert sum("pushdown has no effect" in line for line in proxy.said) == 1


def test_an_error_of_a_page_says_how_far_the_list_goes(api, tmp_path):
    answer = api._offset
    fails = lambda request: Response({"error": "busy"}, 500) if int(request.query.get("offset", 0)) >= 200 else answer(request)
    api._routes.insert(0, ("GET", "/offset", fails))
    with proxied(api, tmp_path) as proxy:
        first = get(f"{proxy.url}/offset?fields=id&limit=200")
        assert rows(first, "result") == list(range(1, 201))
        rest = get(proxy.url + first.links["next"]["url"])
        assert rest.status_code == 502 and "of 200 fetched; the upstream has 470" in rest.json()["error"]["message"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("place, first", [("offset=400", 400), ("page=9&limit=50", 400), ("offset=465", 465), ("offset=95", 95)])
def test_items_beyond_those_fetched_ahead_are_reached(api, tmp_path, path, place, first):
    config = CONFIG.replace("hostaway}", "{preset: hostaway, maxFetch: 100}}", 1)
    config = config.replace("limit: per_page}", "limit: per_page, maxFetch: 100}").replace("link}", "{preset: link, maxFetch: 100}}")
    config = config.replace("cursor}", "{preset: cursor, maxFetch: 100}}")
    with proxied(api, tmp_path, config=config) as proxy:
        for target in [f"/{path}?{place}&fields=id", f"/{path}?fields=id", f"/{path}?{place}&fields=id"]:
            shown = get(proxy.url + target)
        count = 50 if "limit" in place else min(470 - first, 50)
        assert rows(shown, LISTS[path])[:count] == list(range(first + 1, first + 1 + count))
        past = get(f"{proxy.url}/{path}?offset=470&fields=id")
        assert rows(past, LISTS[path]) == [] and "next" not in past.links


def test_a_numbered_page_far_from_the_start_is_requested_directly(api, tmp_path):
    config = "endpoints:\n  GET /pages: {pushdown: {page: page, limit: per_page, pageSize: 20, maxFetch: 40}}\n"
    with proxied(api, tmp_path, config=config) as proxy:
        assert rows(get(f"{proxy.url}/pages?offset=445&fields=id"), "items") == list(range(446, 471))
        assert [request.query["page"] for request in api.told()] == ["1", "23", "24"]


@pytest.mark.parametrize("path", ["offset", "pages", "bare"])
def test_items_beyond_the_bytes_fetched_ahead_are_reached(api, tmp_path, path):
    config = CONFIG.replace("hostaway}", "{preset: hostaway, maxFetchBytes: 8KiB}}", 1)
    config = config.replace("limit: per_page}", "limit: per_page, maxFetchBytes: 8KiB}")
    with proxied(api, tmp_path, config=config) as proxy:
        for _ in range(2):
            assert rows(get(f"{proxy.url}/{path}?offset=310&limit=20&fields=id"), LISTS[path]) == list(range(311, 331))
            get(f"{proxy.url}/{path}?fields=id")


def test_pages_by_number_come_from_the_list_that_was_fetched(api, tmp_path):
    with proxied(api, tmp_path) as proxy:
        assert walked(proxy.url, "/offset", "result") == list(range(1, 471))
        api.told()
        assert rows(get(f"{proxy.url}/offset?page=3&limit=50"), "result") == list(range(101, 151))
        assert api.told() == []


@pytest.mark.parametrize("limit", [{}, {"Retry-After": "1"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}], ids=str)
def test_further_pages_are_requested_again_when_the_api_says(api, tmp_path, limit):
    """The API counts requests that come before the second is over."""
    refused, early, answer = [], [], api.answer

    def limited(request):
        if int(request.query.get("offset", 0)) != 200:
            return answer(request)
        early.extend(at for at in refused if time.monotonic() < at + 1)
        if not refused:
            refused.append(time.monotonic())
            return Response({"message": "slow down"}, 429, limit)
        return answer(request)

    api.answer = limited
    with proxied(api, tmp_path) as proxy:
        assert walked(proxy.url, "/offset", "result") == list(range(1, 471))
    assert refused and not early


def test_a_part_of_a_list_is_not_sorted(api, tmp_path):
    config = "endpoints:\n  GET /offset: {pushdown: {preset: hostaway, maxFetch: 100}}\n"
    with proxied(api, tmp_path, config=config) as proxy:
        refused = get(f"{proxy.url}/offset?sort=id%20desc")
        error = refused.json()["error"]
        assert refused.status_code == 400 and error["code"] == "sort_invalid"
        assert "of 100 fetched; the upstream has 470 (maxFetch is 100)" in error["message"]
        assert "parameter of the API" in error["advice"] and "sql" not in error["advice"]
        # The list itself is kept.
        first = get(f"{proxy.url}/offset?cursor={error['cursor']}&limit=5&fields=id")
        assert rows(first, "result") == [1, 2, 3, 4, 5]


def test_without_pushdown_pages_by_number_are_of_what_the_api_sent_and_the_next_call_is_named(api, tmp_path):
    own = ["--api-parameter", "limit", "--api-parameter", "offset"]
    with proxied(api, tmp_path, *own, config="endpoints: {}\n") as proxy:
        seen = []
        for page in range(1, 9):
            shown = get(f"{proxy.url}/offset?limit=100&offset=100&page={page}")
            if not rows(shown, "result"):
                break
            assert shown.json().get("notShown") is None and shown.json().get("cut") is None
            seen += rows(shown, "result")
        assert seen == list(range(101, 201))
        meta = shown.json()["meta"]
        assert meta["pastEnd"] and meta["upstreamTotal"] == 470
        assert meta["upstreamNext"] == "repeat the call with offset=200"


@pytest.mark.parametrize("control", ["limit=5", "fields=id", "sort=id", "page=2", "offset=9", "path=/x", "section=x", "raw=true"])
@pytest.mark.parametrize("config", [CONFIG, "endpoints: {}\n"], ids=["pushdown", "plain"])
def test_an_error_of_the_api_passes_whatever_the_request_asks_for(api, tmp_path, config, control):
    with proxied(api, tmp_path, config=config) as proxy:
        refused = get(f"{proxy.url}/offset?{control}", {"Authorization": "Bearer bob"})
        assert refused.status_code == 403 and refused.json() == {"status": "fail"}


def test_names_come_from_a_document(api, tmp_path):
    parameters = [{"name": name, "in": "query"} for name in ("per_page", "page")]
    document = {"openapi": "3.1.0", "info": {}, "paths": {"/pages": {"get": {"parameters": parameters}}, "/bare": {"get": {}}}}
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    config = "endpoints:\n  GET /pages: {pushdown: page}\n  GET /bare: {pushdown: page}\n"
    with proxied(api, tmp_path, "--openapi", str(file), config=config) as proxy:
        assert walked(proxy.url, "/pages", "items") == list(range(1, 471))
        assert api.told()[0].query == {"per_page": "100", "page": "1"}
        # The document lists no parameter that selects a page.
        assert len(rows(get(f"{proxy.url}/bare"), None)) == 30
    assert sum("pushdown has no effect" in line for line in proxy.said) == 1


def grows_in(store, api, tmp_path, **environment):
    """Another instance with the same store and keys reads the whole list without the API."""
    keys = tmp_path / "cursor.keys"
    keys.write_text(base64.b64encode(bytes(32)).decode())
    keys.chmod(0o600)
    options = ["--store", store, "--cursor-keys", str(keys)]
    with proxied(api, tmp_path, *options, env=environment) as proxy:
        first = get(f"{proxy.url}/offset?fields=id")
        seen = rows(first, "result") + walked(proxy.url, first.links["next"]["url"], "result")
        assert seen == list(range(1, 471)) and len(api.told()) == 5
        # The reply to a query on the whole list comes from what was stored last.
        again = f"/offset?cursor={first.headers['x-portion-cursor']}&fields=id&offset=400&limit=70"
        assert rows(get(proxy.url + again), "result") == list(range(401, 471))
        with proxied(api, tmp_path, *options, env=environment) as other:
            assert until(lambda: get(other.url + again).status_code == 200, "the list to be stored")
            assert rows(get(other.url + again), "result") == list(range(401, 471)) and api.told() == []


def test_a_list_grows_in_files(api, tmp_path):
    grows_in("file", api, tmp_path, XDG_CACHE_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path))


def test_a_list_grows_in_redis(api, tmp_path):
    with RedisServer(tmp_path) as redis:
        grows_in(redis.url(), api, tmp_path)


def test_the_api_is_told_about_the_client(api, tmp_path):
    with proxied(api, tmp_path) as proxy:
        headers = get(f"{proxy.url}/echo").json()["headers"]
        assert headers["x-forwarded-for"] == "127.0.0.1" and headers["x-forwarded-proto"] == "http"
        assert headers["x-forwarded-host"] == proxy.url.removeprefix("http://")
        before = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.example"}
        headers = get(f"{proxy.url}/echo", before).json()["headers"]
        assert headers["x-forwarded-for"] == "192.0.2.1, 127.0.0.1"
        assert headers["x-forwarded-proto"] == "https" and headers["x-forwarded-host"] == "shop.example"

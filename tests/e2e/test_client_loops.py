"""The loops by which clients of an API read a whole list, through Portion: each row comes, and comes once."""

import json
from contextlib import contextmanager

import pytest
import requests
from harness.command import PORTION
from harness.dense import expanded
from harness.education_data import EducationData
from harness.hostaway import Hostaway
from harness.listening import Listening, served
from harness.peer import Peer
from harness.rest_stub import RestStub

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


def get(url, **parameters):
    response = requests.get(url, parameters, headers={"Authorization": "Bearer ada"}, timeout=60)
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


@pytest.mark.parametrize("pushdown", ["page", "{preset: link, next: /links/next}"], ids=["page", "link"])
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


def test_a_small_list_keeps_what_the_api_says_of_its_page():
    with Hostaway(reservations=3) as api, proxied(api, "--profile", "hostaway", "--envelope", "auto") as url:
        api.tokens["ada"] = float("-inf")
        page = get(f"{url}/v1/reservations")
        assert (page["limit"], page["offset"], page["count"]) == (100, 0, 3)

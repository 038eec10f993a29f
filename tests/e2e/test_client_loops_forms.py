"""The forms in which known APIs lead to the next page, and say the end: the loop over each reads every row once through Portion."""

from contextlib import contextmanager

import pytest
import requests
from harness.command import PORTION
from harness.listening import Listening
from harness.rest_stub import Response, RestStub

WORDS = ["alpha", "beta", "gamma", "delta", "omega", "sigma"]
MOST = 1500
LOOPS = {}


def loop(function):
    LOOPS[function.__name__] = function
    return function


class Forms(RestStub):
    def __init__(self, count):
        names = ("gitlab", "wordpress", "pagy", "jsonserver", "gitea", "discogs", "digitalocean", "hal", "facebook", "fhir", "intercom", "mediawiki", "kubernetes", "devops", "openalex", "twitter", "hubspot", "salesforce", "airtable", "token")
        super().__init__({f"GET /{name}": getattr(self, name) for name in names} | {"GET /salesforce/{at}": self.salesforce})
        text = lambda n: " ".join(WORDS[(n * 7 + k * 5 + n * k) % 6] for k in range(40))  # noqa: E731
        self.rows = [{"id": n, "name": f"Item {n}", "status": ["open", "closed"][n % 2], "description": text(n), "amount": n * 1.5} for n in range(count)]

    def numbered(self, request, default, size="per_page", page="page"):
        size, number, count = int(request.query.get(size, default)), int(request.query.get(page, 1)), len(self.rows)
        return number, -(-count // size), self.rows[(number - 1) * size : number * size]

    def after(self, request, name, size=100, start="0"):
        at = int(request.query.get(name, start).strip("itr"))
        return self.rows[at : at + size], at + size if at + size < len(self.rows) else None

    def gitlab(self, request):
        number, pages, rows = self.numbered(request, 20)
        return Response(rows, headers={"X-Page": str(number), "X-Next-Page": str(number + 1) if number < pages else ""})

    def wordpress(self, request):
        _, pages, rows = self.numbered(request, 10)
        return Response(rows, headers={"X-WP-Total": str(len(self.rows)), "X-WP-TotalPages": str(pages)})

    def pagy(self, request):
        number, pages, rows = self.numbered(request, 20)
        return Response(rows, headers={"Current-Page": str(number), "Total-Pages": str(pages)})

    def jsonserver(self, request):
        return Response(self.numbered(request, 10, "_limit", "_page")[2], headers={"X-Total-Count": str(len(self.rows))})

    def gitea(self, request):
        return Response(self.numbered(request, 30, "limit")[2], headers={"X-Total-Count": str(len(self.rows))})

    def links(self, request, name):
        number, pages, rows = self.numbered(request, 100)
        url = lambda page: f"{self.url}/{name}?page={page}"  # noqa: E731
        return rows, ({"next": url(number + 1), "last": url(pages)} if number < pages else {"first": url(1), "prev": url(number - 1)})

    def discogs(self, request):
        rows, urls = self.links(request, "discogs")
        number, pages, _ = self.numbered(request, 100)
        return {"pagination": {"page": number, "pages": pages, "per_page": 100, "items": len(self.rows), "urls": urls}, "results": rows}

    def digitalocean(self, request):
        rows, pages = self.links(request, "digitalocean")
        return {"droplets": rows, "links": {"pages": pages}, "meta": {"total": len(self.rows)}}

    def hal(self, request):
        rows, links = self.links(request, "hal")
        return {"_embedded": {"items": rows}, "_links": {name: {"href": url} for name, url in links.items()}}

    def facebook(self, request):
        rows, end = self.after(request, "after")
        return {"data": rows, "paging": {"cursors": {"before": "x", "after": "y"}} | ({"next": f"{self.url}/facebook?after={end}"} if end else {})}

    def fhir(self, request):
        rows, links = self.links(request, "fhir")
        return {"resourceType": "Bundle", "link": [{"relation": name, "url": url} for name, url in links.items()], "entry": rows}

    def intercom(self, request):
        number, pages, rows = self.numbered(request, 60)
        following = f"{self.url}/intercom?page={number + 1}" if number < pages else None
        return {"data": rows, "pages": {"type": "pages", "page": number, "per_page": 60, "total_pages": pages, "next": following}}

    def mediawiki(self, request):
        rows, end = self.after(request, "gapcontinue")
        return {"batchcomplete": "", "query": {"pages": {str(row["id"]): row for row in rows}}} | ({"continue": {"gapcontinue": str(end), "continue": "-||"}} if end else {})

    def kubernetes(self, request):
        rows, end = self.after(request, "continue", int(request.query.get("limit", 100)))
        return {"metadata": {"continue": str(end)} if end else {}, "items": rows}

    def devops(self, request):
        rows, end = self.after(request, "continuationToken")
        return Response({"value": rows}, headers={"x-ms-continuationtoken": str(end)} if end else {})

    def openalex(self, request):
        star = request.query.get("cursor") == "*"
        rows, end = self.after(request, "-" if star else "cursor")
        return {"meta": {"count": len(self.rows), "next_cursor": end and str(end)}, "results": rows}

    def twitter(self, request):
        rows, end = self.after(request, "pagination_token")
        return {"data": rows, "meta": {"result_count": len(rows)} | ({"next_token": str(end)} if end else {})}

    def hubspot(self, request):
        rows, end = self.after(request, "after")
        return {"results": rows} | ({"paging": {"next": {"after": str(end), "link": f"{self.url}/hubspot?after={end}"}}} if end else {})

    def salesforce(self, request):
        at = int(request.target.partition("-")[2] or 0)
        end = at + 100
        done = end >= len(self.rows)
        return {"totalSize": len(self.rows), "done": done, "records": self.rows[at:end]} | ({} if done else {"nextRecordsUrl": f"/salesforce/q-{end}"})

    def airtable(self, request):
        rows, end = self.after(request, "offset", start="itr0")
        return {"records": [{"id": row["id"], "fields": row} for row in rows]} | ({"offset": f"itr{end}"} if end else {})

    def token(self, request):
        rows, end = self.after(request, "page", start="itr0")
        return {"data": rows, "next_page": f"itr{end}" if end else None}


@loop
def gitlab_by_header(ask):
    number = "1"
    while number:
        page = ask("/gitlab", per_page=100, page=number)
        assert page.headers["X-Page"] == number
        yield from page.json()
        number = page.headers["X-Next-Page"]


@loop
def gitlab_by_header_without_a_size(ask):
    page = ask("/gitlab")
    yield from page.json()
    while number := page.headers["X-Next-Page"]:
        page = ask("/gitlab", page=number)
        yield from page.json()


@loop
def wordpress_by_count(ask, **size):
    number, pages = 0, 1
    while number < pages:
        number += 1
        page = ask("/wordpress", page=number, **size)
        yield from page.json()
        pages = int(page.headers["X-WP-TotalPages"])
        assert page.headers["X-WP-Total"]


@loop
def wordpress_by_count_of_a_size(ask):
    return wordpress_by_count(ask, per_page=100)


@loop
def pagy_by_headers(ask):
    number, pages = 0, 1
    while number < pages:
        page = ask("/pagy", page=number + 1)
        yield from page.json()
        number, pages = int(page.headers["Current-Page"]), int(page.headers["Total-Pages"])


@loop
def jsonserver_by_total(ask):
    number, total = 0, 1
    while number * 100 < total:
        number += 1
        page = ask("/jsonserver", _page=number, _limit=100)
        yield from page.json()
        total = int(page.headers["X-Total-Count"])


@loop
def gitea_by_total(ask):
    number, seen, total = 0, 0, 1
    while seen < total:
        number += 1
        page = ask("/gitea", page=number, limit=50)
        yield from page.json()
        seen, total = seen + len(page.json()), int(page.headers["X-Total-Count"])


LINKS = {
    "discogs": (lambda body: body["results"], lambda body: body["pagination"]["urls"].get("next")),
    "digitalocean": (lambda body: body["droplets"], lambda body: body["links"]["pages"]["next"] if "next" in body["links"].get("pages", {}) else None),
    "hal": (lambda body: body["_embedded"]["items"], lambda body: body["_links"]["next"]["href"] if "next" in body["_links"] else None),
    "facebook": (lambda body: body["data"], lambda body: body["paging"]["next"] if "next" in body["paging"] else None),
    "fhir": (lambda body: body["entry"], lambda body: next((link["url"] for link in body["link"] if link["relation"] == "next"), None)),
    "intercom": (lambda body: body["data"], lambda body: body["pages"]["next"]),
    "salesforce": (lambda body: body["records"], lambda body: None if body["done"] else body["nextRecordsUrl"]),
    "openalex": (lambda body: body["results"], lambda body: body["meta"]["next_cursor"] and f"/openalex?cursor={body['meta']['next_cursor']}"),
}
ARGUMENTS = {
    "mediawiki": (lambda body: body["query"]["pages"].values(), lambda body: body.get("continue")),
    "kubernetes": (lambda body: body["items"], lambda body: body["metadata"].get("continue") and {"continue": body["metadata"]["continue"]}),
    "twitter": (lambda body: body["data"], lambda body: body["meta"].get("next_token") and {"pagination_token": body["meta"]["next_token"]}),
    "hubspot": (lambda body: body["results"], lambda body: (body.get("paging") or {}).get("next") and {"after": body["paging"]["next"]["after"]}),
    "airtable": (lambda body: body["records"], lambda body: body.get("offset") and {"offset": body["offset"]}),
    "token": (lambda body: body["data"], lambda body: body["next_page"] and {"page": body["next_page"]}),
}


def follow(name, ask):
    rows, following = LINKS[name]
    url = f"/{name}?cursor=*" if name == "openalex" else f"/{name}"
    while url:
        body = ask(url).json()
        yield from rows(body)
        url = following(body)


def repeat(name, ask, **parameters):
    rows, following = ARGUMENTS[name]
    arguments = {}
    while arguments is not None:
        body = ask(f"/{name}", **parameters, **arguments).json()
        yield from rows(body)
        arguments = following(body) or None


@loop
def kubernetes_with_a_limit(ask):
    return repeat("kubernetes", ask, limit=70)


@loop
def devops_by_header(ask):
    arguments = {}
    while arguments is not None:
        page = ask("/devops", **arguments)
        yield from page.json()["value"]
        following = page.headers.get("x-ms-continuationtoken")
        arguments = {"continuationToken": following} if following else None


@contextmanager
def through_portion(count, options):
    with Forms(count) as api, Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off", *options]) as proxy:
        yield proxy.url.rstrip("/")


@pytest.fixture(scope="module", params=[(250, []), (250, ["--lean"]), (180, [])], ids=["default", "lean", "long last page"])
def served(request):
    count, options = request.param
    with through_portion(count, options) as url:
        yield url, count


WALKS = [*((name, walk) for name, walk in LOOPS.items()), *((name, lambda ask, name=name: follow(name, ask)) for name in LINKS), *((name, lambda ask, name=name: repeat(name, ask)) for name in ARGUMENTS)]


def check(base, count, walk, is_known=True):
    def ask(url, **query):
        path = url[url.find("/", len("https://")) :] if "://" in url else url
        response = requests.get(base + path, query, headers={"Authorization": "Bearer ada"} if is_known else {}, timeout=60)
        assert response.status_code == 200, response.text
        return response

    seen = []
    for row in walk(ask):
        seen.append(row["id"])
        assert len(seen) < MOST, "the loop does not end"
    assert sorted(seen) == list(range(count))


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("walk", [walk for _, walk in WALKS], ids=[name for name, _ in WALKS])
def test_every_row_is_read_once(served, walk, is_known):
    check(*served, walk, is_known)


def test_an_offset_that_is_known_to_be_a_parameter_may_be_a_text():
    with through_portion(250, ["--api-parameter", "offset"]) as url:
        check(url, 250, lambda ask: repeat("airtable", ask))

"""Bodies of `portion http` that are neither plain JSON nor small: what is redacted, chunked, and by which cursor it is read."""

import json
from contextlib import contextmanager

import pytest
import requests
from harness.command import PORTION
from harness.listening import Listening
from harness.peer import Peer
from harness.rest_stub import Response, RestStub, operation

ADA = {"Authorization": "Bearer ada"}
SECRET = {"id": 7, "doorCode": "4711-secret"}
LOG = "".join(f"2026-11-22T08:{number // 60 % 60:02}:{number % 60:02}Z INFO worker line {number} of the log\n" for number in range(8_000))


CSV = "id,state,name\n" + "".join(f"{number},{'CA' if number % 3 else 'NV'},School {number}\n" for number in range(9_000))
XML = "<feed>\n" + "".join(f"<entry><id>{number}</id><title>Entry {number} of the feed</title></entry>\n" for number in range(4_000)) + "</feed>\n"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def secret(status=200, media="application/json", mark=b"", **headers):
    return lambda request: Response(mark + json.dumps(SECRET).encode(), status, headers, media)


def ranged(request):
    """A range, if one is asked for."""
    body = json.dumps(SECRET).encode()
    if "range" not in request.headers:
        return Response(body)
    return Response(body[5:], 206, {"Content-Range": f"bytes 5-{len(body) - 1}/{len(body)}"})


MALFORMED = ["", "json", ";charset=utf-8", "*/*", '"application/json"', "application/x-json"]


class Api(RestStub):
    def __init__(self):
        super().__init__({
            "GET /plain": secret(),
            "GET /range": ranged,
            "GET /forced": secret(206),
            "GET /forced-untyped": secret(206, None),
            "GET /mark": secret(media=None, mark=b"\xef\xbb\xbf"),
            "GET /utf16": lambda request: Response(json.dumps(SECRET).encode("utf-16"), media=None),
            "GET /twice": secret(**{"Content-Type": "text/html", "content-type": "application/json"}),
            "GET /joined": secret(media="text/html, application/json"),
            "GET /reset": secret(205),
            "GET /as-text": secret(media="text/plain"),
            **{f"GET /malformed-{at}": secret(media=media) for at, media in enumerate(MALFORMED)},
            "GET /report2024": secret(),
            "GET /log": lambda request: Response(LOG.encode(), media="text/plain; charset=utf-8"),
            "GET /other-log": lambda request: Response(LOG.encode(), media="text/plain; charset=utf-8"),
            "GET /page": lambda request: Response(LOG.encode(), media="text/html"),
            "GET /rows.csv": lambda request: Response(CSV.encode(), media="text/csv"),
            "GET /feed": lambda request: Response(XML.encode(), media="application/atom+xml; charset=utf-8"),
            "GET /secret.csv": lambda request: Response(b"id,doorCode\n7,4711-secret\n", media="text/csv"),
            "GET /secret.xml": lambda request: Response(b"<lock><id>7</id><doorCode>4711-secret</doorCode></lock>", media="text/xml"),
            "GET /secret.html": lambda request: Response(b"<table><tr><th>id</th><th>doorCode</th></tr><tr><td>7</td><td>4711-secret</td></tr></table>", media="text/html"),
            "GET /wrapped": lambda request: {"content": LOG},
            "GET /items/{id}": lambda request: {"items": [{"id": number, "text": "word " * 40} for number in range(300)]},
            "GET /admin": lambda request: {"secrets": "of the operator"},
            "GET /v1/open": lambda request: {"ok": True},
        })

    def answer(self, request):
        # As many servers do, it resolves the path.
        steps = []
        for step in request.target.split("?")[0].split("/")[1:]:
            steps = steps[:-1] if step == ".." else [*steps, step]
        request.target = "/" + "/".join(steps)
        return super().answer(request)


@pytest.fixture(scope="module")
def api():
    with Api() as api:
        yield api


@contextmanager
def proxied(api, *options):
    with Listening([PORTION, "http", "--upstream", api.url, "--listen", "127.0.0.1:0", "--admin", "off", *options]) as proxy:
        yield proxy.url.rstrip("/")


@pytest.fixture(scope="module")
def redacting(api):
    with proxied(api, "--redact", "doorCode") as url:
        yield url


@pytest.fixture(scope="module")
def url(api):
    with proxied(api) as url:
        yield url


def get(target, **headers):
    return requests.get(target, headers=ADA | headers, timeout=60)


@pytest.mark.parametrize("path", ["plain", "range", "forced", "forced-untyped", "mark", "utf16", "twice", "joined", "reset", "as-text", *(f"malformed-{at}" for at in range(len(MALFORMED)))])
def test_no_spelling_of_a_body_escapes_redaction(redacting, path):
    response = get(f"{redacting}/{path}", Range="bytes=5-")
    assert b"4711" not in response.content.replace(b"\0", b""), response.content
    if path.startswith("forced"):
        assert response.status_code == 502 and response.json()["error"]["code"] == "upstream_invalid"
    else:
        assert response.status_code in (200, 205) and response.json()["id"] == 7


def test_the_rule_of_a_path_with_digits_is_for_that_path(api, tmp_path):
    (tmp_path / "portion.yaml").write_text("endpoints:\n  GET /report2024: {redact: [doorCode]}\n")
    with proxied(api, "--config", str(tmp_path / "portion.yaml")) as url:
        assert b"4711" not in get(f"{url}/report2024").content
        assert b"4711" in get(f"{url}/plain").content


def test_ranges_and_small_texts_pass_where_nothing_is_redacted(url):
    assert get(f"{url}/range", Range="bytes=5-").status_code == 206
    response = get(f"{url}/mark")
    assert response.content == b"\xef\xbb\xbf" + json.dumps(SECRET).encode()


def walked(url, path):
    """The first response, and the chunks of its text, joined."""
    response = first = get(f"{url}/{path}")
    read, count = "", 0
    while True:
        assert len(response.content) <= 65_536 and (count == 0 or response.headers["content-type"].startswith("text/plain"))
        read, count = read + response.text, count + 1
        if "next" not in response.links:
            assert count > 5
            return first, read
        response = get(url + response.links["next"]["url"])


def test_a_long_text_is_served_in_chunks_of_text(url):
    first, read = walked(url, "log")
    assert first.headers["content-type"] == "text/plain; charset=utf-8"
    assert first.headers["x-portion-kind"] == "chunk" and "cursor" in first.headers["x-portion-notice"]
    assert read == LOG
    lines = get(f"{url}/log?cursor={first.headers['x-portion-cursor']}&startLine=5000&endLine=5002")
    assert lines.text.splitlines() == LOG.splitlines()[4999:5002]
    raw = get(f"{url}/log?cursor={first.headers['x-portion-cursor']}&raw=true")
    assert LOG.startswith(raw.text) and raw.text


@pytest.mark.parametrize(("path", "whole"), [("rows.csv", CSV), ("page", LOG)], ids=["csv", "html"])
def test_csv_and_markup_are_served_in_chunks_but_to_browsers(url, path, whole):
    assert walked(url, path)[1] == whole
    assert get(f"{url}/{path}", **BROWSER).text == whole


def test_xml_of_records_is_a_list_but_to_browsers(url):
    response, ids = get(f"{url}/feed"), []
    while True:
        assert len(response.content) <= 65_536 and response.headers["content-type"].startswith("application/json")
        ids += [entry["id"] for entry in response.json()["feed"]["entry"]]
        if "next" not in response.links:
            break
        response = get(url + response.links["next"]["url"])
    assert ids == [str(number) for number in range(len(ids))] and len(ids) == XML.count("<entry>")
    assert get(f"{url}/feed", **BROWSER).text == XML


def test_a_query_reads_csv(url):
    answer = get(f"{url}/rows.csv?query=SELECT state, count(*) AS n FROM items GROUP BY state ORDER BY n")
    assert json.loads(answer.text) == [{"state": "NV", "n": 3_000}, {"state": "CA", "n": 6_000}]


@pytest.mark.parametrize("path", ["secret.csv", "secret.xml", "secret.html"])
@pytest.mark.parametrize("accept", [{}, BROWSER], ids=["program", "browser"])
def test_csv_and_markup_are_redacted(redacting, path, accept):
    response = get(f"{redacting}/{path}", **accept)
    assert response.status_code == 200 and "4711" not in response.text and "7" in response.text


def test_a_route_can_keep_its_texts_whole(api, tmp_path):
    config = tmp_path / "portion.yaml"
    config.write_text("endpoints:\n  GET /log: {chunking: false}\n")
    with proxied(api, "--config", str(config)) as url:
        assert get(f"{url}/log").text == LOG
        assert get(f"{url}/other-log").headers["x-portion-kind"] == "chunk"


def test_lines_of_a_text_in_an_object_are_those_of_the_text(url):
    found = get(f"{url}/wrapped?startLine=5000&endLine=5002").json()
    assert found["content"].splitlines() == LOG.splitlines()[4999:5002]


def test_a_cursor_belongs_to_its_route(url):
    first = get(f"{url}/items/1")
    cursor = first.headers["x-portion-next-cursor"]
    for other in ("log", "items", "", "items/1/more"):
        refused = get(f"{url}/{other}?cursor={cursor}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "cursor_invalid"), other
    assert get(f"{url}/items/1?cursor={cursor}").status_code == 200
    long = get(f"{url}/items/{'7' * 200}")
    again = get(f"{url}/items/{'7' * 200}?cursor={long.headers['x-portion-next-cursor']}")
    assert again.status_code == 200 and again.json()["items"]


@pytest.mark.parametrize("path", ["/../../admin", "/%2e%2e/%2E%2e/admin", "/a/..\\..\\admin", "/{name}/../../admin"])
def test_no_path_of_a_document_leads_out_of_the_api(api, tmp_path, path):
    parameters = [("name", "path", {"type": "string"})] if "{name}" in path else []
    paths = {path: {"get": operation("steal", *parameters)}, "/open": {"get": operation("open")}}
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "Rooms", "version": "1"}, "paths": paths}))
    options = ["--openapi", str(document), "--upstream", f"{api.url}/v1", "--header", "Authorization: Bearer operator"]
    with Peer([PORTION, "wrap", *options]) as peer:
        api.told()
        reply = peer.call("steal", **({"name": "x"} if parameters else {}))
        assert "of the operator" not in str(reply) and api.told() == []
        assert "ok" in str(peer.call("open"))

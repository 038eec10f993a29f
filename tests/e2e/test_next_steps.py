"""The next step that a reply names leads on: what it says can be done, and a client that follows it ends."""

import base64
import json

import pytest
import requests

from harness.command import FILES_FIXTURE, PORTION, with_sdk
from harness.listening import Listening
from harness.peer import Peer
from harness.reply import Reply, lawful
from harness.rest_stub import RestStub

PAGED_FIXTURE = with_sdk("fixture/paged.py")


def test_an_image_that_no_budget_shows_is_read_as_the_notice_says(tmp_path):
    image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 12).decode()
    (tmp_path / "image").write_text(json.dumps({"content": [{"type": "image", "data": image, "mimeType": "image/png"}]}))
    with Peer([PORTION, "wrap", "--token-budget-threshold", "300", "--hard-cap", "600", "--", *FILES_FIXTURE, str(tmp_path)]) as peer:
        first = lawful(peer.call("image"), 600)
        assert "shows it" not in first.text and 'path="/content/0/data"' in first.text
        read, cursor = "", first.meta["cursor"]
        reply = Reply(peer.call("portion_read", cursor=cursor, path="/content/0/data", raw=True))
        while True:
            read += reply.text
            if not reply.next:
                break
            reply = lawful(peer.call("portion_read", cursor=reply.next), 600)
        assert read.strip('"') == image


@pytest.mark.parametrize("case", ["fails", "ends_early"])
def test_numbered_pages_of_a_list_that_cannot_be_fetched_end(tmp_path, case):
    config = tmp_path / "portion.yaml"
    config.write_text("endpoints: {by_offset: {pushdown: {limit: limit, offset: offset, items: /result, total: /count, pageSize: 100}}}")
    with Peer([PORTION, "wrap", "--metadata-style", "snake", "--config", str(config), "--", *PAGED_FIXTURE]) as peer:
        page, seen = 1, []
        while page is not None:
            assert page not in seen, "no page leads to itself"
            seen.append(page)
            result = peer.call("by_offset", case=case, limit=50, page=page)
            # What failed for Portion fails for the call itself, too.
            page = None if result.get("isError") and case == "fails" else Reply(result).meta["next_page"]
        assert len(seen) >= 4, "what was fetched is shown"


@pytest.fixture
def proxy():
    def rows(first, count):
        return [{"id": number, "note": "a note of some length " * 2} for number in range(first, first + count)]

    def paged(request):
        limit, offset = (int(request.query.get(name, value)) for name, value in [("limit", 50), ("offset", 0)])
        return {"count": 500, "results": rows(offset, max(0, min(limit, 500 - offset)))}

    routes = {"GET /linked": lambda _: {"count": 7777, "next": "http://api.test/linked?page=2", "results": rows(0, 100)}, "GET /paged": paged}
    with RestStub(routes) as stub:
        options = ["--listen", "127.0.0.1:0", "--admin", "off", "--upstream", stub.url]
        with Listening([PORTION, "http", *options]) as proxy, Listening([PORTION, "http", *options, "--api-parameter", "limit,offset"]) as informed:
            yield proxy.url, informed.url


def test_the_total_of_the_api_is_in_a_header(proxy):
    """The API says by which link its list goes on, so the list is that of the API."""
    assert requests.get(f"{proxy[0]}/linked", timeout=30).headers["X-Total-Count"] == "7777"


def test_the_rest_of_a_list_that_the_api_pages_is_reached(proxy):
    """Also without the option that the reply names."""
    told = requests.get(f"{proxy[0]}/paged?limit=50", timeout=30).json()["meta"]["upstreamNext"]
    assert "--api-parameter" in told, told
    for url in proxy:
        pages = [requests.get(f"{url}/paged?limit=50&offset={offset}", timeout=30).json() for offset in range(0, 500, 50)]
        assert [row["id"] for page in pages for row in page["results"]] == list(range(500))

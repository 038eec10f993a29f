"""An existing server in another language is hardened by one command: `docs/existing-server.md`, with real servers."""

import json
import subprocess

import pytest
import requests
from harness import tokens
from harness.command import CLIENT_BIN, E2E, PORTION, wrapped
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, items, lawful, walk

PYTHON = str(CLIENT_BIN / "python")
APP = [PYTHON, str(E2E / "fixture/fastapi_app.py")]
MCP_SERVER = [PYTHON, str(E2E / "fixture/existing_mcp.py")]


@pytest.fixture(scope="module")
def app():
    with Listening(APP) as app:
        yield app


@pytest.fixture(scope="module")
def document(app, tmp_path_factory):
    file = tmp_path_factory.mktemp("fastapi") / "openapi.json"
    file.write_text(requests.get(f"{app.url}/openapi.json", timeout=30).text)
    return str(file)


def http(app, *options):
    return Listening([PORTION, "http", "--upstream", app.url, "--listen", "127.0.0.1:0", "--admin", "off", *options])


def check(*arguments):
    subprocess.run([PORTION, "check", *arguments], check=True, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)


def ids(reply):
    return [int(item["id"]) for item in items(reply, "result")]


def test_a_fastapi_app_behind_one_command(app):
    with http(app) as proxy:
        direct, through = requests.get(f"{app.url}/export", timeout=30), requests.get(f"{proxy.url}/export", timeout=30)
        assert tokens.count(direct.text) > 40_000 and tokens.count(through.text) <= 4_000
        seen, target = [], "/export"
        while target:
            page = requests.get(proxy.url + target, timeout=30)
            seen += [booking["id"] for booking in page.json()]
            target = page.links.get("next", {}).get("url")
        assert seen == list(range(1, 501))
        assert requests.get(f"{proxy.url}/bookings/7", timeout=30).json() == direct.json()[6]
        created = requests.post(f"{proxy.url}/bookings", json={"guestName": "Ada"}, headers={"Authorization": "Bearer x"}, timeout=30)
        assert created.status_code == 201 and created.json() == {"id": 501, "by": "Bearer x", "guestName": "Ada"}


def test_its_own_pages_become_one_list(app, document, tmp_path):
    file = tmp_path / "portion.yaml"
    file.write_text("endpoints:\n  GET /bookings: {pushdown: hostaway, redact: secrets}\n")
    with http(app, "--openapi", document, "--config", str(file)) as proxy:
        first = requests.get(f"{proxy.url}/bookings", timeout=30)
        assert first.json()["totalCount"] == 500 and "doorCode\":\"0" not in first.text
        last = requests.get(f"{proxy.url}/bookings?offset=495&fields=id", timeout=30).json()
        assert [booking["id"] for booking in last["result"]] == list(range(496, 501))


def test_the_same_app_as_mcp_tools(app, document, tmp_path):
    file = tmp_path / "portion.yaml"
    check("--write", str(file), "--openapi", document, "--upstream", app.url)
    options = ["--openapi", document, "--upstream", app.url, "--admin", "off", "--config", str(file)]
    with Listening(served(*options)) as server, Peer(server.url, mode="auto") as peer:
        first = lawful(peer.call("list_bookings_bookings_get"))
        assert first.notice["totalCount"] == 500
        assert [number for page in walk(peer, first, HARD_CAP) for number in ids(page)] == list(range(1, 501))
        assert "[redacted]" in first.text or "doorCode" not in first.text


def test_an_mcp_server_with_its_own_paging(tmp_path):
    with Peer(MCP_SERVER) as direct:
        whole = Reply(direct.call("search_bookings", limit=500))
    assert tokens.count(whole.text) > 40_000
    with Peer(wrapped(MCP_SERVER)) as peer:
        assert len(ids(lawful(peer.call("search_bookings")))) > 5
    file = tmp_path / "portion.yaml"
    check("--write", str(file), "--", *MCP_SERVER)
    assert "cancel_booking" not in file.read_text()
    with Peer([PORTION, "wrap", "--config", str(file), "--", *MCP_SERVER]) as peer:
        first = lawful(peer.call("search_bookings"))
        assert first.notice["totalCount"] == 500 and "0001#" not in json.dumps(first.result)
        assert [number for page in walk(peer, first, HARD_CAP) for number in ids(page)] == list(range(1, 501))
        confirmed = lawful(peer.call("search_bookings", status="confirmed", limit=3), HARD_CAP)
        assert ids(confirmed) == [3, 6, 9] and confirmed.notice["totalCount"] == 166

"""Pages in a browser call `serve` and `http`: preflights of allowed origins are answered, and what comes back can be read."""

import pytest
import requests

from harness.command import MEET_FIXTURE, PORTION
from harness.listening import Listening, served
from harness.rest_stub import Response, RestStub
from test_auth import bearer, new_token

PAGE, STRANGER = "https://app.example", "https://evil.example"
ACCEPT = {"Accept": "application/json, text/event-stream"}
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,mcp-param-city"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}},
}
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}}


def request(method, url, origin, headers=None, **more):
    return requests.request(method, url, headers={"Origin": origin} | (headers or {}), timeout=60, **more)


def names(value):
    return value.lower().split(", ")


@pytest.mark.parametrize("kind", ["command", "URL"])
def test_a_page_of_an_allowed_origin_can_call_and_read(kind):
    token = new_token("page")
    options = ["--auth", "bearer", "--token-hash", token["entry"], "--allow-origin", PAGE, "--admin", "off"]
    with RestStub({"* /mcp": lambda _: RESULT}) as stub:
        behind = {"command": ["--", *MEET_FIXTURE], "URL": ["--url", f"{stub.url}/mcp"]}[kind]
        with Listening(served(*options, *behind)) as front:
            allowed = request("OPTIONS", front.url, PAGE, ASKED)
            assert allowed.status_code == 204 and allowed.headers["access-control-allow-origin"] == PAGE
            assert {"authorization", "content-type", "mcp-param-city"} <= {*names(allowed.headers["access-control-allow-headers"])}
            assert names(allowed.headers["access-control-allow-methods"]) == ["get", "post", "delete"]
            assert names(allowed.headers["vary"]) == ["origin"]
            refused = request("POST", front.url, PAGE, ACCEPT, json=INITIALIZE)
            assert refused.status_code == 401 and refused.headers["access-control-allow-origin"] == PAGE
            assert "www-authenticate" in names(refused.headers["access-control-expose-headers"])
            for method, headers in (("OPTIONS", ASKED), ("POST", ACCEPT | bearer(token["token"]))):
                stranger = request(method, front.url, STRANGER, headers, json=INITIALIZE if method == "POST" else None)
                assert stranger.status_code == 403 and "access-control-allow-origin" not in stranger.headers
            assert stub.asked == [], "no server has seen any of this"
            answered = request("POST", front.url, PAGE, ACCEPT | bearer(token["token"]), json=INITIALIZE)
            assert answered.status_code == 200 and answered.json()["id"] == 1
            assert answered.headers["access-control-allow-origin"] == PAGE
            if kind == "command":
                assert "mcp-session-id" in answered.headers
                assert "mcp-session-id" in names(answered.headers["access-control-expose-headers"])


def test_what_the_server_says_about_pages_stays():
    own = Response(RESULT, headers={"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "x-own"})
    with RestStub({"* /mcp": lambda _: own}) as stub:
        with Listening(served("--allow-origin", PAGE, "--admin", "off", "--url", f"{stub.url}/mcp")) as front:
            answered = request("POST", front.url, PAGE, ACCEPT, json=INITIALIZE)
    assert answered.headers["access-control-allow-origin"] == "*"
    assert answered.headers["access-control-expose-headers"] == "x-own"


def test_a_star_allows_every_page_and_is_warned_of():
    with RestStub({"* /mcp": lambda _: RESULT}) as stub:
        options = ["--allow-origin", "*", "--allow-host", "*", "--admin", "off"]
        with Listening(served(*options, "--url", f"{stub.url}/mcp")) as front:
            answered = request("POST", front.url, STRANGER, ACCEPT | {"Host": "evil.example"}, json=INITIALIZE)
        said = "".join(front.said)
    assert answered.status_code == 200 and answered.headers["access-control-allow-origin"] == STRANGER
    assert "allowHosts has `*`" in said and "allowOrigins has `*`" in said


ROWS = [{"id": number, "note": "a row of the list " * 5} for number in range(400)]


def proxy(stub, *options):
    command = [PORTION, "http", "--upstream", stub.url, "--listen", "127.0.0.1:0", "--admin", "off"]
    return Listening([*command, "--allow-origin", PAGE, *options])


def test_a_page_can_read_the_errors_of_an_endpoint_that_it_may_read():
    token = new_token("page")
    rows = Response(ROWS, headers={"Access-Control-Allow-Origin": PAGE, "Access-Control-Expose-Headers": "X-Own"})
    with RestStub({"GET /rows": lambda _: rows}) as stub:
        with proxy(stub, "--auth", "bearer", "--token-hash", token["entry"], "--request-timeout", "1s") as front:
            ask = lambda target, origin, headers: request("GET", front.url + target, origin, headers)  # noqa: E731
            unseen = ask("/rows", PAGE, {})
            assert unseen.status_code == 401 and "access-control-allow-origin" not in unseen.headers
            caller = bearer(token["token"]) | {"Cache-Control": "no-cache"}
            first = ask("/rows", PAGE, caller)
            denied, invalid = ask("/rows", PAGE, {}), ask("/rows?limit=0", PAGE, caller)
            stub.delay = 3
            late = ask("/rows", PAGE, caller)
            stub.delay = 0
            follow_up = ask(first.links["next"]["url"], PAGE, caller)
            answers = [first, denied, invalid, late, follow_up]
            assert [answer.status_code for answer in answers] == [200, 401, 400, 504, 200]
            for answer in answers:
                assert answer.headers["access-control-allow-origin"] == PAGE
                assert {"x-own", "link", "www-authenticate"} <= {*names(answer.headers["access-control-expose-headers"])}
            assert "www-authenticate" in denied.headers
            stranger = ask("/rows", STRANGER, caller)
            assert stranger.status_code == 403 and "access-control-allow-origin" not in stranger.headers


def test_a_preflight_without_a_token_shows_nothing_of_the_response_but_its_fields():
    """The API answers OPTIONS with its rows, for a credential of the operator."""
    token, allowed = new_token("page"), {"Access-Control-Allow-Origin": PAGE, "Access-Control-Allow-Methods": "GET", "X-Own": "1"}
    with RestStub({"OPTIONS /rows": lambda _: Response(ROWS, headers=allowed)}) as stub:
        operator = ["--header", "Authorization: Bearer operator"]
        with proxy(stub, "--auth", "bearer", "--token-hash", token["entry"], *operator) as front:
            url = f"{front.url}/rows?limit=5"
            preflight = request("OPTIONS", url, PAGE, ASKED)
            assert preflight.status_code == 200 and preflight.content == b"" and preflight.headers["content-length"] == "0"
            assert preflight.headers["access-control-allow-origin"] == PAGE
            assert not [name for name in preflight.headers if name.lower().startswith("x-") or name.lower() == "link"]
            (asked,) = stub.told()
            assert asked.headers["authorization"] == "Bearer operator" and asked.target == "/rows"
            assert request("OPTIONS", url, PAGE).status_code == 401 and stub.told() == []
            verified = request("OPTIONS", url, PAGE, bearer(token["token"]))
            assert verified.status_code == 200 and len(verified.json()) == 5

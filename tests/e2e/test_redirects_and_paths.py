"""No redirect leads anywhere, and no path leads out of the server's own: more than 300 cases on the wire."""

import base64
import itertools
import json

import pytest
import requests

from harness.command import PORTION, RAW_FIXTURE
from harness.listening import Listening, served
from harness.rest_stub import Response, RestStub
from harness.talk import ACCEPT, exchange
from test_http_api import API

STATUSES = [300, 301, 302, 303, 305, 307, 308]
LOCATIONS = [
    "{trap}/mcp", "{trap}/", "//{trap_host}/mcp", "HTTP://{trap_host}/mcp", "{own}/other", "{own}/mcp/../admin", "/admin",
    "/", "../admin", "?key=1", "file:///etc/passwd", "javascript:alert(1)", "http://169.254.169.254/latest", "{own}@{trap_host}/",
    "\\\\{trap_host}/x", "",
]
METHODS = ["POST", "GET", "DELETE"]
OPERATOR = "Bearer of-the-operator"
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}'

DOTS = ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..;x=1", ".", "%2e", "%c0%ae%c0%ae", "%e0%80%ae."]
AROUND = ["/mcp/{}/admin", "/{}/admin", "//{}/admin", "/mcp%2f{}%2fadmin", "/mcp\\{}\\admin", "/mcp%5c{}%5cadmin"]
WELL_KNOWN = "/.well-known/oauth-protected-resource"
PATHS = [
    *(around.format(dots) for around, dots in itertools.product(AROUND, DOTS)),
    *(WELL_KNOWN + around.format(dots) for around, dots in itertools.product(["/{}/admin", "{}", "/mcp/{}"], DOTS)),
    *("/admin", "/", "/mcp/", "/MCP", "/mcp/x", "/mcp;x", "/mcp%00", "/mcp%0d%0aX:y", "//mcp", "/./mcp", "/mcp//", "/%6dcp"),
    *("/.well-known/security.txt", "/.well-known/x", "/.well-known/", WELL_KNOWN + "x", WELL_KNOWN + "/mcp/x", "/.WELL-KNOWN/openid-configuration"),
]


@pytest.fixture(scope="module")
def raw():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def trap():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def front(raw):
    with Listening(served("--admin", "off", "--url", f"{raw.url}/mcp", "--header", f"Authorization: {OPERATOR}")) as front:
        yield front


def told(server):
    return requests.get(f"{server.url}/requests", timeout=30).json()


def test_no_redirect_is_followed_or_passed_on(front, raw, trap):
    names = {"trap": trap.url, "trap_host": trap.url.partition("//")[2], "own": raw.url}
    told(raw), told(trap)
    count = 0
    for status, location, method in itertools.product(STATUSES, LOCATIONS, METHODS):
        order = {"status": status, "headers": [["Location", location.format(**names)]]}
        say = base64.b64encode(json.dumps(order).encode()).decode()
        headers = {"X-Say": say, "Accept": ACCEPT, "Content-Type": "application/json"}
        body = CALL if method == "POST" else None
        answer = requests.request(method, front.url, data=body, headers=headers, timeout=30, allow_redirects=False)
        case = (status, location, method)
        assert not 300 <= answer.status_code < 400 and "location" not in answer.headers, case
        assert OPERATOR not in answer.text, case
        count += 1
    assert count >= 300 and told(trap) == []
    assert {request["target"] for request in told(raw)} == {"/mcp"}


def test_no_path_reaches_the_server_but_its_own(front, raw):
    told(raw)
    for path, method in itertools.product(PATHS, ["GET", "POST"]):
        headers = {"Content-Type": "application/json", "Accept": ACCEPT}
        body = CALL if method == "POST" else None
        with exchange(front.url, method, headers, body, target=path) as answer:
            assert answer.status in (400, 404), (path, answer.status)
            answer.read()
    assert told(raw) == []
    assert len(PATHS) * 2 >= 200


def test_no_path_leads_out_of_the_api(raw):
    own = "/api"
    with Listening([PORTION, "http", "--upstream", f"{raw.url}{own}", "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
        told(raw)
        for path in PATHS:
            with exchange(proxy.url, "GET", {}, target=path) as answer:
                answer.read()
        for target in ("http://169.254.169.254/x", "https://evil.example/x"):
            with exchange(proxy.url, "GET", {}, target=target) as answer:
                assert answer.status == 403, target
        reached = [request["target"] for request in told(raw)]
    assert reached and all(target.startswith(own + "/") for target in reached), reached
    decoded = [target.lower().replace("%25", "%").replace("%2e", ".").replace("%5c", "/").replace("%2f", "/") for target in reached]
    assert not [target for target in decoded if "/../" in target.replace("\\", "/") + "/"], reached


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_an_asterisk_is_no_path(front, raw, method):
    with in_front_of(f"{raw.url}/api") as proxy:
        told(raw)
        for url in (proxy.url, front.url):
            with exchange(url, method, {}, target="*") as answer:
                assert answer.status == 400 and json.load(answer)["error"]["message"]
        assert told(raw) == []


def test_an_api_may_redirect_its_client_who_follows_or_not(raw):
    with Listening(API) as api, Listening([PORTION, "http", "--upstream", f"{api.url}/api", "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
        answer = requests.get(f"{proxy.url}/moved", timeout=30, allow_redirects=False)
        assert answer.status_code == 307 and not answer.headers["location"].startswith(api.url)


# What the client gets for a location of the API below /v1, in the response to /v1/a/N.
CLIENT_LOCATIONS = [
    ("/v1/list", "/list"),
    ("/v1", "/"),
    ("//{host}/v1/list", "/list"),
    ("HTTP://{host}/v1/list?a=1#x", "/list?a=1#x"),
    ("list", "list"),
    ("?a=1", "?a=1"),
    ("../list", "/list"),
    ("../../other", "http://{host}/other"),
    ("/other?a=1", "http://{host}/other?a=1"),
    ("//{host}/v12/list", "http://{host}/v12/list"),
    ("/v1//evil.example/x", "http://{host}/v1//evil.example/x"),
    ("http://{host}/v1/\\evil.example/x", "http://{host}/v1/\\evil.example/x"),
    ("//evil.example/v1/list", "//evil.example/v1/list"),
    ("https://{host}/v1/list", "https://{host}/v1/list"),
]


def in_front_of(url):
    return Listening([PORTION, "http", "--upstream", url, "--listen", "127.0.0.1:0", "--admin", "off"])


@pytest.mark.parametrize("field", ["location", "content-location"])
def test_a_location_of_the_api_leads_to_portion(field):
    def moved(request):
        location, _ = CLIENT_LOCATIONS[int(request.path["number"])]
        return Response(status=307, headers={field: location.format(host=host)})

    with RestStub({"GET /v1/a/{number}": moved}) as stub, in_front_of(f"{stub.url}/v1") as proxy:
        host = stub.url.partition("//")[2]
        for number, (location, expected) in enumerate(CLIENT_LOCATIONS):
            answer = requests.get(f"{proxy.url}/a/{number}", timeout=30, allow_redirects=False)
            assert answer.headers[field] == expected.format(host=host), location


def test_no_dot_segment_is_read_with_a_cursor(raw):
    with in_front_of(f"{raw.url}/api") as proxy:
        told(raw)
        for around, dots in itertools.product(AROUND, DOTS):
            path = around.format(dots)
            with exchange(proxy.url, "GET", {}, target=f"{path}?cursor=nocursor") as answer:
                assert (answer.status, json.load(answer)["error"]["code"]) == (400, "path_invalid"), path
        assert told(raw) == []


def test_a_link_stays_at_its_host():
    items = [{"id": number, "note": "Ask for the manager. " * 9} for number in range(50)]
    # Python's server reads a path with several slashes in one of two ways.
    with RestStub({"* /list": lambda _: items, "* /p/list": lambda _: items}) as stub, in_front_of(stub.url) as proxy:
        for path in ["//p/list", "///p/list"]:
            with exchange(proxy.url, "GET", {}, target=f"{path}?limit=2") as answer:
                assert (answer.status, len(json.load(answer))) == (200, 2)
                link = answer.headers["link"]
            target = link.partition("<")[2].partition(">")[0]
            following = requests.get(requests.compat.urljoin(f"{proxy.url}{path}", target), timeout=30)
            assert following.url.startswith(proxy.url + "/p/list?cursor="), link
            assert [item["id"] for item in following.json()] == [2, 3]

"""`portion http` in front of a REST API: what fits is untouched, the rest is served in portions, all else passes."""

import http.client
import json
import socket
import subprocess
import threading
from urllib.parse import urlsplit

import pytest
import requests

from harness.command import CLIENT_BIN, E2E, PORTION
from harness.listening import Listening
from harness.rest_stub import Response, RestStub

API = [str(CLIENT_BIN / "python"), str(E2E / "fixture/api.py")]
ADA = {"Authorization": "Bearer ada"}


@pytest.fixture(scope="module")
def api():
    with Listening(API) as api:
        yield api


def proxied(api, *options):
    command = [PORTION, "http", "--upstream", f"{api.url}/api", "--listen", "127.0.0.1:0", "--admin", "off"]
    return Listening([*command, *options])


@pytest.fixture(scope="module")
def proxy(api):
    with proxied(api) as proxy:
        yield proxy


@pytest.fixture
def url(api, proxy):
    requests.get(f"{api.url}/requests", timeout=30)
    return proxy.url


def get(target, headers=ADA, **options):
    return requests.get(target, headers=headers, timeout=30, **options)


def forwarded(api):
    return requests.get(f"{api.url}/requests", timeout=30).json()


def test_a_small_response_is_untouched(api, url):
    direct, through = get(f"{api.url}/api/bookings?count=2"), get(f"{url}/bookings?count=2")
    assert through.content == direct.content
    own = {"date", "server", "connection", "keep-alive"}
    fields = lambda response: {(name.lower(), value) for name, value in response.headers.items() if name.lower() not in own}
    assert fields(through) == fields(direct)
    again = get(f"{url}/bookings?count=2", {**ADA, "If-None-Match": '"v1"'})
    assert again.headers["etag"] == '"v1"'


@pytest.mark.parametrize("path, key", [("bookings", None), ("enveloped", "result"), ("compressed", None)])
@pytest.mark.parametrize("control", ["", "?fields=all", "?limit=7", "?fields=id,status"])
def test_a_list_is_walked_to_its_end(api, url, path, key, control):
    target, seen = f"/{path}{control}", []
    for _ in range(120):
        response = get(url + target)
        assert response.status_code == 200 and len(response.content) <= 65_536
        items = response.json()[key] if key else response.json()
        seen += [item["id"] for item in items]
        assert response.headers["x-total-count"] == "500"
        if "next" not in response.links:
            break
        target = response.links["next"]["url"]
    assert seen == list(range(1, 501))
    assert len(forwarded(api)) <= 1


@pytest.mark.parametrize("options", [["--rows", "auto"], ["--lean"]], ids=str)
def test_lists_stay_lists_unless_tables_are_asked_for(api, options):
    with proxied(api, *options) as proxy:
        for target in ["/bookings", "/bookings?limit=20", "/enveloped"]:
            first = get(proxy.url + target)
            second = get(proxy.url + first.links["next"]["url"])
            for response in (first, second):
                body = response.json()
                items = body if isinstance(body, list) else body["result"]
                assert isinstance(items, list) and all(isinstance(item, dict) for item in items), response.text[:200]
    with proxied(api, "--rows", "tables") as proxy:
        first = get(f"{proxy.url}/enveloped")
        second = get(proxy.url + first.links["next"]["url"])
        assert {"columns", "rows"} <= set(first.json()["result"]) & set(second.json()["result"])


def test_a_list_and_its_head_may_not_be_cached():
    items = [{"id": number, "note": "Ask for the manager. " * 9} for number in range(500)]
    headers = {"cache-control": "public, max-age=60", "etag": '"v1"'}
    with RestStub({"* /items": lambda request: Response(items, headers=headers)}) as stub:
        with Listening([PORTION, "http", "--upstream", stub.url, "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
            whole, head = get(f"{proxy.url}/items"), requests.head(f"{proxy.url}/items", headers=ADA, timeout=30)
    assert whole.headers["x-portion-kind"] == "page"
    for response in (whole, head):
        assert response.headers["cache-control"] == "private, no-store" and "etag" not in response.headers


def test_an_upstream_that_speaks_only_http2_without_tls_is_an_error_that_says_so():
    settings = b"\0\0\0\x04\0\0\0\0\0"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_with, args=(listener, settings), daemon=True).start()
        with proxied(Address(listener)) as proxy:
            refused = get(f"{proxy.url}/bookings")
    error = refused.json()["error"]
    assert refused.status_code == 502 and "not HTTP/1.1" in error["message"] and "h2c://" in error["advice"]


def answer_with(listener, bytes_):
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(bytes_)
        connection.recv(65_536)


def test_pages_by_number_come_from_the_snapshot(api, url):
    first = get(f"{url}/enveloped?fields=id&a=1")
    size = first.json()["meta"]["pageSize"]
    second = get(f"{url}/enveloped?a=1&page=2&fields=id").json()
    assert [item["id"] for item in second["result"]][0] == size + 1
    assert forwarded(api) == ["a=1"]


def test_a_large_object_is_summarized_and_read_by_section(url):
    summary = get(f"{url}/bookings/BK12345").json()
    details = summary["meta"]["detailsAvailable"]
    assert details["endpoint"] == "/bookings/BK12345" and details["parameters"]["cursor"]
    whole = get(f"{url}{details['endpoint']}?fields=id,note7").json()
    assert whole["id"] == "BK12345" and whole["note7"] == "Ask for the manager. " * 40
    assert summary["meta"]["next"].startswith("GET /bookings/BK12345?cursor")


def test_raw_chunks_joined_are_the_body(api, url):
    direct = get(f"{api.url}/api/bookings/BK1").text
    cursor = get(f"{url}/bookings/BK1").headers["x-portion-cursor"]
    read, target = "", f"/bookings/BK1?cursor={cursor}&raw=true"
    while target:
        response = get(url + target)
        read += response.json()["content"]
        target = response.links.get("next", {}).get("url")
    assert read == direct


def test_streams_and_uploads_are_not_buffered(url):
    with get(f"{url}/events", stream=True) as response:
        lines = [line for line in response.iter_lines() if line]
    assert lines == [b"data: 0", b"data: 1", b"data: 2"]

    def chunks():
        for _ in range(64):
            yield b"x" * (1 << 20)

    sent = requests.post(f"{url}/upload", data=chunks(), headers=ADA, timeout=60)
    assert sent.json() == {"bytes": 64 << 20}


def test_an_upload_reaches_the_api_before_it_ends(api, url):
    """The response to a rejected upload must not wait for the rest of it."""
    at = urlsplit(url)
    with socket.create_connection((at.hostname, at.port), 30) as connection:
        connection.sendall(
            b"POST /nosuch HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" % at.netloc.encode()
        )
        assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(
    "target, status, code",
    [
        ("/bookings?limit=0", 400, "limit_invalid"),
        ("/bookings?limit=5000", 400, "limit_too_large"),
        ("/bookings?cursor=nonsense", 400, "cursor_invalid"),
        ("/bookings?fields=nosuch", 400, "field_unknown"),
        ("/enveloped?path=/nosuch", 404, "path_unknown"),
        ("/enveloped?page=2&offset=3", 400, "controls_conflict"),
    ],
)
def test_errors_name_the_next_step(url, target, status, code):
    response = get(url + target)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["message"] and error["advice"]


def test_a_large_error_keeps_its_status(url):
    response = get(f"{url}/failed")
    assert response.status_code == 404 and response.json()["meta"]["cursor"]


def test_a_dead_api_is_an_error_with_advice():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = Address(listener)
    with proxied(nobody) as proxy:
        response = get(f"{proxy.url}/bookings")
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "upstream_unreachable"


@pytest.mark.parametrize("path", ["/../requests", "/%2e%2e/requests", "/a/..%2f../requests", "/.%2E/requests"])
def test_no_path_leads_out_of_the_api(api, url, path):
    at = urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    assert (response.status, json.load(response)["error"]["code"]) == (400, "path_invalid")


def test_redirects_and_hosts(api, url):
    moved = get(f"{url}/moved", allow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (307, "/bookings?count=2")
    assert len(get(f"{url}/moved").json()) == 2
    foreign = get(f"{url}/echo", {"Host": "evil.example"})
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "origin_rejected")


def test_headers_of_the_operator_replace_those_of_the_client(api):
    with proxied(api, "--header", "Authorization: Bearer operator") as proxy:
        seen = get(f"{proxy.url}/echo?a=%20b&limit=5", {**ADA, "X-Own": "1", "Connection": "X-Hop", "X-Hop": "1"}).json()
    assert seen["headers"]["authorization"] == "Bearer operator"
    assert seen["headers"]["x-own"] == "1" and "x-hop" not in seen["headers"]
    assert (seen["path"], seen["query"]) == ("/api/echo", "a=%20b")


def test_parameters_of_the_api_pass_to_it(api):
    with proxied(api, "--api-parameter", "limit", "--api-parameter", "offset") as proxy:
        seen = get(f"{proxy.url}/echo?limit=1000&offset=3&fields=query").json()
    assert seen["query"] == "limit=1000&offset=3"


def test_an_openapi_document_names_the_parameters_of_the_api(api, tmp_path):
    document = tmp_path / "openapi.yaml"
    document.write_text("openapi: 3.1.0\npaths:\n  /echo:\n    get:\n      parameters: [{name: limit, in: query}]\n")
    with proxied(api, "--openapi", str(document)) as proxy:
        seen = get(f"{proxy.url}/echo?limit=1000&fields=query").json()
        first = get(f"{proxy.url}/bookings?limit=2&fields=id").json()
    assert (seen["query"], [item["id"] for item in first]) == ("limit=1000", [1, 2])


def test_a_document_that_is_no_openapi_is_an_error(api, tmp_path):
    document = tmp_path / "openapi.json"
    for text, expect in [("{", "neither JSON nor YAML"), ("{}", "openapi"), (None, "No such file")]:
        document.unlink(missing_ok=True)
        if text is not None:
            document.write_text(text)
        command = [PORTION, "http", "--upstream", api.url, "--openapi", str(document), "--listen", "127.0.0.1:0"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert ended.returncode != 0 and expect in ended.stderr and str(document) in ended.stderr


def test_pages_in_a_browser_may_read_every_reply(api):
    origin = {**ADA, "Origin": "https://app.example"}
    with proxied(api, "--allow-origin", "https://app.example") as proxy:
        first = get(f"{proxy.url}/bookings", origin)
        follow_up = get(proxy.url + first.links["next"]["url"], origin)
        second = get(f"{proxy.url}/bookings?page=2", origin)
        error = get(f"{proxy.url}/bookings?limit=0", origin)
        preflight = requests.options(
            f"{proxy.url}/bookings", headers={**origin, "Access-Control-Request-Method": "GET"}, timeout=30
        )
    for response in (first, follow_up, second, error, preflight):
        assert response.headers["access-control-allow-origin"] == "https://app.example"
    for response in (first, follow_up, second, error):
        exposed = response.headers["access-control-expose-headers"].split(", ")
        assert {"X-Own", "Link", "X-Total-Count", "X-Portion-Next-Cursor"} <= {*exposed}
    assert error.status_code == 400 and second.links["next"]


def test_callers_do_not_see_each_other(url):
    callers = [{"Authorization": "Bearer a"}, {"X-API-Key": "a"}, {"Cookie": "s=a"}, {"X-API-Key": "b"}, {}]
    cursors = [get(f"{url}/bookings", caller).headers["x-portion-next-cursor"] for caller in callers]
    errors = set()
    for i, caller in enumerate(callers):
        for j, cursor in enumerate(cursors):
            response = get(f"{url}/bookings?cursor={cursor}", caller)
            assert response.ok == (i == j)
            if i != j:
                errors.add(response.content)
    assert len(errors) == 1


def test_a_connection_switches_to_another_protocol():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=shout, args=(listener,), daemon=True).start()
        with proxied(Address(listener)) as proxy:
            at = urlsplit(proxy.url)
            with socket.create_connection((at.hostname, at.port), 30) as connection:
                connection.sendall(
                    b"GET /shout HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"
                    % at.netloc.encode()
                )
                head = connection.recv(65_536)
                assert head.startswith(b"HTTP/1.1 101 ") and b"websocket" in head.lower()
                for word in (b"hello", b"again"):
                    connection.sendall(word)
                    assert connection.recv(64) == word.upper()


@pytest.mark.parametrize("fields", [b"", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"])
def test_a_switch_that_was_not_asked_for_is_an_error(fields):
    switch = b"HTTP/1.1 101 Switching Protocols\r\n" + fields + b"\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_with, args=(listener, switch), daemon=True).start()
        with proxied(Address(listener)) as proxy:
            refused = get(f"{proxy.url}/bookings")
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "upstream_invalid")


class Address:
    """The address of a listener."""

    def __init__(self, listener):
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"


def shout(listener):
    """Switches the protocol, then answers each message in capitals."""
    connection, _ = listener.accept()
    with connection:
        assert b"upgrade: websocket" in connection.recv(65_536).lower()
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while word := connection.recv(64):
            connection.sendall(word.upper())


def test_requests_at_once_do_not_mix(url):
    results = {}

    def ask(number):
        body = get(f"{url}/bookings?count={number}", {"X-API-Key": str(number)}).json()
        results[number] = [item["id"] for item in body]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 41)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: list(range(1, number + 1)) for number in range(1, 41)}

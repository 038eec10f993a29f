"""Between HTTP and HTTP: heads, streams, refusals and ends pass as a reverse proxy passes them."""

import base64
import gzip
import http.client
import json
import uuid
import zlib

import pytest

from fixture.raw_http import METADATA
from harness.command import RAW_FIXTURE
from harness.pairing import Listening, pairing
from harness.reply import lawful
from harness.talk import ACCEPT, OverHttp, events, exchange, messages

CALL = b'{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"say","arguments":{}}}'
MANY_ROWS = b'{"x":1.50,"jsonrpc":"2.0","id":"c-1","result":{"content":[{"type":"text","text":%ROWS%}]}}'
JSON = ("Content-Type", "application/json")
STREAM = ("Content-Type", "text/event-stream")


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def url(server):
    with pairing("http", "--url", f"{server.url}/mcp") as target:
        session = OverHttp(target["url"])
        session.open()
        session.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        told(server)
        yield target["url"]


def told(server):
    """The requests that came to the server since this was last asked."""
    with exchange(server.url, target="/requests") as response:
        return json.load(response)


def ordering(status=200, headers=(), chunks=(), then="end"):
    chunks = [base64.b64encode(chunk).decode() for chunk in chunks]
    order = {"status": status, "headers": headers, "chunks": chunks, "then": then}
    return ("X-Say", base64.b64encode(json.dumps(order).encode()).decode())


def posting(url, *headers, body=CALL):
    return exchange(url, "POST", [JSON, ("Accept", ACCEPT), *headers], body)


def fields(headers):
    """Name (in small letters) and value of each header, in order."""
    return [(name.lower(), value) for name, value in headers]


def test_headers_of_a_request_pass_and_those_of_a_connection_do_not(server, url):
    passed = [
        ("Authorization", "Bearer abc.def"),
        ("Mcp-Session-Id", "no-such-session"),
        ("MCP-Protocol-Version", "2099-01-01"),
        ("Mcp-Method", "x-vendor/unknown"),
        ("Mcp-Name", "=?base64?w6k=?="),
        ("Mcp-Param-Region", "eu"),
        ("Last-Event-ID", "e-7"),
        ("X-Unknown", "one"),
        ("X-Unknown", "two"),
        ("Cookie", "a=1; b=2"),
        ("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("User-Agent", "talk/1"),
    ]
    kept_back = [
        ("Connection", "X-Hop, keep-alive"),
        ("X-Hop", "1"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authorization", "Basic eDp5"),
        ("Proxy-Connection", "keep-alive"),
        ("TE", "trailers"),
        ("Upgrade", "h2c"),
    ]
    body = b'{"jsonrpc":"2.0","x":1.50,"method":"x-vendor/unknown","id":1}'
    with posting(url, *passed, *kept_back, body=body) as response:
        assert response.status == 200
        response.read()
    (request,) = told(server)
    came = fields(request["headers"])
    for name, value in fields(passed):
        assert (name, value) in came
    assert [value for name, value in came if name == "x-unknown"] == ["one", "two"]
    assert not {name for name, _ in came} & {name.lower() for name, _ in kept_back[1:]}
    assert ("host", server.url.split("//")[1]) in came
    assert request["body"].encode() == body


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 405, 409, 429, 500, 503])
def test_status_headers_and_body_of_an_answer_pass(url, status):
    passed = [
        ("WWW-Authenticate", 'Bearer resource_metadata="https://example.org/.well-known/oauth-protected-resource"'),
        ("WWW-Authenticate", 'Basic realm="x"'),
        ("Mcp-Session-Id", "s-1"),
        ("X-Vendor", "one"),
        ("X-Vendor", "two"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Retry-After", "7"),
        ("Content-Type", "application/json; x=1" if status == 200 else "text/x-vendor"),
    ]
    kept_back = [("Connection", "X-Gone"), ("X-Gone", "1"), ("Keep-Alive", "timeout=5"), ("TE", "x")]
    body = b'{"jsonrpc":"2.0","x":1.50,"id":"c-1","result":{"content":[]}}' if status == 200 else b"not \xff JSON"
    with posting(url, ordering(status, passed + kept_back, [body])) as response:
        assert (response.status, response.read()) == (status, body)
        came = fields(response.getheaders())
        for name in dict(passed):
            assert [v for n, v in came if n == name.lower()] == [v for n, v in passed if n == name]
        assert not {name for name, _ in came} & {"x-gone", "keep-alive", "te"}


ODD_STREAM = [
    b": a comment\n\n",
    b"retry: 1500\r\nid: v-1\r\nevent: message\r\n",
    b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.50}}\r\n\r\n',
    b"event: x-vendor\ndata: not JSON\ndata:\ndata:  two\n\n: another\n",
    b'id: v-2\ndata: {"jsonrpc":"2.0","id":"c-1",\ndata:  "result":{"content":[],"x":1.50}}\n\n',
    b"id\ndata: after the answer\n\n",
]


@pytest.mark.parametrize("size", [None, 1, 7], ids=["as sent", "byte by byte", "in sevens"])
def test_a_stream_keeps_every_byte(url, size):
    whole = b"".join(ODD_STREAM)
    chunks = ODD_STREAM if size is None else [whole[n : n + size] for n in range(0, len(whole), size)]
    order = ordering(200, [STREAM, ("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no")], chunks)
    with posting(url, order) as response:
        assert response.read() == whole
        assert response.headers["x-accel-buffering"] == "no"
    with exchange(url, "GET", [("Accept", "text/event-stream"), ("Last-Event-ID", "v-0"), order]) as response:
        assert response.read() == whole


def test_a_big_result_in_a_stream_is_reshaped_and_its_event_keeps_its_id(url):
    before = [b": hello\n\n", b'id: v-1\nretry: 9\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n']
    event = b"id: v-2\nevent: message\nretry: 8\ndata: " + MANY_ROWS + b"\n\n"
    with posting(url, ordering(200, [STREAM], [*before, event])) as response:
        body = response.read()
    assert body.startswith(b"".join(before))
    last = body.removeprefix(b"".join(before)).decode()
    assert "id: v-2\n" in last and "event: message\n" in last and "retry: 8\n" in last
    (data,) = [line.removeprefix("data: ") for line in last.splitlines() if line.startswith("data:")]
    reshaped = json.loads(data)
    assert reshaped["x"] == 1.5 and reshaped["id"] == "c-1"
    assert lawful(reshaped["result"]).next


def test_an_answer_that_comes_on_a_resumed_stream_is_reshaped(server, url):
    """The first stream ends after an event with an id; the answer comes on the GET that goes on from there."""
    session = OverHttp(url)
    session.open()
    with session.post(CALL.decode(), ordering(200, [STREAM], [b"id: v-1\ndata: \n\n"])) as response:
        assert response.read() == b"id: v-1\ndata: \n\n"
    event = b"id: v-2\ndata: " + MANY_ROWS + b"\n\n"
    with session.get(("Last-Event-ID", "v-1"), ordering(200, [STREAM], [event])) as response:
        (data,) = events(response)
    assert lawful(json.loads(data)["result"]).next


def test_an_event_is_passed_on_before_the_next_one_comes(server, url):
    key = uuid.uuid4().hex
    order = ordering(200, [STREAM], [b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'], "hold")
    with posting(url, order, ("X-Key", key)) as response:
        assert next(events(response)) == '{"jsonrpc":"2.0","method":"notifications/x"}'
    # leaving the block closed our side: the server is told at once
    with exchange(server.url, target=f"/closed?{key}") as response:
        assert response.status == 200


def test_a_client_that_leaves_before_the_answer_is_known_to_the_server(server, url):
    key = uuid.uuid4().hex
    held = b'{"jsonrpc":"2.0","id":"c-2","method":"tools/call","params":{"name":"hold","arguments":{}}}'
    with exchange(url, "POST", [JSON, ("Accept", ACCEPT), ("X-Key", key)], held) as response:
        assert '"held"' in next(events(response))
    with exchange(server.url, target=f"/closed?{key}") as response:
        assert response.status == 200


def test_an_answer_that_breaks_off_does_not_look_whole(url):
    half = b'{"jsonrpc":"2.0","id":"c-1","result":{"content":[{"type":"text",'
    whole = b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'
    for headers, chunks in (([STREAM], [whole]), ([STREAM], [whole, b'data: {"half']), ([JSON], [half])):
        with posting(url, ordering(200, headers, chunks, "abort")) as response:
            *_, last = messages(response)
        answer = json.loads(last)
        assert answer["id"] == "c-1"
        assert "error" in answer or answer["result"]["isError"] is True


def test_a_stream_that_can_be_resumed_breaks_off_as_it_did(url):
    """The client has seen an id, and can go on from there: an error would be the end of it."""
    session = OverHttp(url)
    session.open()
    order = ordering(200, [STREAM], ODD_STREAM[:3], "abort")
    with session.post(CALL.decode(), order) as response, pytest.raises((http.client.IncompleteRead, ConnectionError)):
        response.read()
    resume = ordering(200, [STREAM], ODD_STREAM[3:])
    with session.get(("Last-Event-ID", "v-1"), resume) as response:
        assert response.read() == b"".join(ODD_STREAM[3:])


def test_who_only_listens_does_not_keep_us_from_leaving(server):
    with pairing("http", "--url", f"{server.url}/mcp") as target:
        session = OverHttp(target["url"])
        session.open()
        with session.get() as response:
            target["process"].terminate()
            assert response.read() == b""


def test_an_id_is_taken_until_its_answer_has_come(server, url):
    session = OverHttp(url)
    session.open()
    line = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"hold","arguments":{}}}'
    with session.post(line % '"d"') as held:
        assert '"held"' in next(events(held))
        told(server)
        for spelled in ('"d"', '"\\u0064"'):
            with session.post(line % spelled) as response:
                (refusal,) = [json.loads(message) for message in messages(response)]
            assert refusal["id"] == "d" and "already" in refusal["error"]["message"]
        assert told(server) == []


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
def test_a_compressed_answer_is_read_and_reshaped(url, coding):
    order = ordering(200, [JSON, ("Content-Encoding", coding)], [MANY_ROWS])
    with posting(url, order, ("Accept-Encoding", "gzip, deflate")) as response:
        body = decoded(response)
    assert lawful(json.loads(body)["result"]).next


@pytest.mark.parametrize("kind", [JSON, STREAM], ids=["JSON", "a stream"])
def test_a_small_compressed_answer_says_what_it_said(url, kind):
    message = b'{"x":1.50,"jsonrpc":"2.0","id":"c-1","result":{"content":[]}}'
    whole = message if kind == JSON else b"id: 1\ndata: " + message + b"\n\n"
    order = ordering(200, [kind, ("Content-Encoding", "gzip")], [whole])
    with posting(url, order, ("Accept-Encoding", "gzip")) as response:
        assert decoded(response) == whole


def decoded(response):
    body = response.read()
    match response.headers.get("content-encoding", "identity"):
        case "gzip":
            return gzip.decompress(body)
        case "deflate":
            return zlib.decompress(body)
        case "identity":
            return body


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_server_may_refuse_streams_and_ends_of_sessions(server, url, method):
    order = ordering(405, [("Allow", "POST"), ("Content-Type", "text/plain")], [b"no"])
    with exchange(url, method, [("Accept", "text/event-stream"), order]) as response:
        assert (response.status, response.headers["allow"], response.read()) == (405, "POST", b"no")
    assert [request["method"] for request in told(server)][-1] == method


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
def test_metadata_of_the_protected_resource_pass(url, path):
    with exchange(url, target=path) as response:
        assert (response.status, response.read()) == (200, METADATA)
        assert response.headers["x-metadata"] == "yes"


def test_the_answer_after_a_reshaped_one_comes_on_the_same_connection(url):
    parts = url.split("/")[2]
    connection = http.client.HTTPConnection(parts, timeout=60)
    try:
        for number in range(5):
            call = {"name": "list_rows", "arguments": {}}
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            connection.request("POST", "/mcp", json.dumps(body), dict([JSON, ("Accept", ACCEPT)]))
            (data,) = events(connection.getresponse())
            message = json.loads(data)
            assert message["id"] == number and lawful(message["result"]).next
    finally:
        connection.close()

"""What is malformed, foreign, too large or dead is refused in so many words, and the server does not hear of it."""

import base64
import gzip
import json
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from harness.command import PORTION, RAW_FIXTURE
from harness.memory import MEBIBYTE, peak_bytes
from harness.pairing import Listening, pairing
from harness.ports import free_port
from harness.talk import ACCEPT, exchange, messages, talk, together
from harness.waiting import until

JSON = ("Content-Type", "application/json")
LIMIT = 4 << 20
CALL = b'{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"say","arguments":{}}}'
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def front(server):
    env = {"PORTION_UPSTREAM_MESSAGE_LIMIT": "4MiB", "PORTION_CLIENT_MESSAGE_LIMIT": "4MiB"}
    command = [PORTION, "serve", "--listen", "127.0.0.1:0", "--url", f"{server.url}/mcp"]
    with Listening(command, env=env) as front:
        yield front


@pytest.fixture
def url(server, front):
    told(server)
    return front.url


def told(server):
    with exchange(server.url, target="/requests") as response:
        return json.load(response)


def posting(url, body, *headers, method="POST"):
    return exchange(url, method, [JSON, ("Accept", ACCEPT), *headers], body)


def check_refused(server, response, status, code):
    """Refused with a JSON-RPC error, before the server saw anything."""
    assert response.status == status, response.read()
    refusal = json.load(response)
    assert refusal["jsonrpc"] == "2.0" and refusal["error"]["code"] == code and refusal["error"]["message"]
    assert told(server) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", PARSE_ERROR),
        (b"not JSON", PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}', PARSE_ERROR),
        (b'\xff{"jsonrpc":"2.0","id":1,"method":"ping"}', PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"1", INVALID_REQUEST),
        (b'"ping"', INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b"[1]", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2}]', INVALID_REQUEST),
    ],
)
def test_what_is_no_json_rpc_is_a_bad_request(server, url, body, code):
    with posting(url, body) as response:
        check_refused(server, response, 400, code)


@pytest.mark.parametrize(
    "lines",
    [
        b"GARBAGE\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_bad_request(server, url, lines):
    assert speak(url, lines).startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))
    assert told(server) == []


def test_a_head_without_end_is_cut_off(server, url):
    said = speak(url, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"x" * (1 << 20) + b"\r\n\r\n")
    assert said == b"" or said.split()[1] in (b"400", b"431")
    assert told(server) == []


def speak(url, data):
    """The bytes that come back for `data`."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        said = b""
        try:
            connection.sendall(data)
            with suppress(OSError):  # the other end may have answered and closed
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                said += more
        except OSError:
            pass  # cut off while we were still speaking
        return said


@pytest.mark.parametrize(
    "header",
    [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1.evil.example"),
        ("Host", "localhost.evil.example:8765"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost.evil.example"),
        ("Origin", "chrome-extension://localhost"),
    ],
    ids=": ".join,
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
def test_web_pages_of_strangers_are_turned_away(server, url, method, header):
    with posting(url, CALL if method == "POST" else None, header, method=method) as response:
        check_refused(server, response, 403, INVALID_REQUEST)
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("header", [("Host", "localhost:1"), ("Origin", "http://localhost:3000"), ("X-None", "1")])
def test_who_is_at_home_may_ask(server, url, header):
    with posting(url, b'{"jsonrpc":"2.0","id":1,"method":"ping"}', header) as response:
        assert response.status == 200
        assert json.loads(next(messages(response)))["result"] == {}
    assert len(told(server)) == 1


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in chunks"])
def test_a_body_over_the_limit_is_too_large(server, url, announced):
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":"' + b"x" * LIMIT + b'"}'
    headers = [] if announced else [("Transfer-Encoding", "chunked")]
    sent = body if announced else b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    try:
        with posting(url, sent, *headers) as response:
            check_refused(server, response, 413, INVALID_REQUEST)
    except ConnectionError:
        assert told(server) == []  # it was refused while it was still being sent


def test_a_compressed_request_is_refused(server, url):
    with posting(url, gzip.compress(CALL), ("Content-Encoding", "gzip")) as response:
        check_refused(server, response, 415, INVALID_REQUEST)


def test_a_path_that_is_not_served_says_which_are(server, url):
    with exchange(url, "POST", [JSON], CALL, target="/other") as response:
        assert response.status == 404
        assert "/mcp" in json.load(response)["error"]["message"]
    assert told(server) == []


def ordering(headers, chunks):
    order = {"headers": headers, "chunks": [base64.b64encode(chunk).decode() for chunk in chunks]}
    return ("X-Say", base64.b64encode(json.dumps(order).encode()).decode())


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_an_answer_that_expands_without_end_is_bounded(front, url, kind, coding):
    bomb = b'{"jsonrpc":"2.0","id":"c-1","result":{"content":[{"type":"text","text":"%SPACES%"}]}}'
    chunk = b"id: 1\ndata: " + bomb + b"\n\n" if kind == "text/event-stream" else bomb
    with posting(url, CALL, ordering([["Content-Type", kind], ["Content-Encoding", coding]], [chunk])) as response:
        (answer,) = [json.loads(message) for message in messages(response)]
    assert answer["id"] == "c-1"
    assert json.loads(answer["result"]["content"][0]["text"])["error"]["code"] == "message_too_large"
    assert peak_bytes(front.process) < 128 * MEBIBYTE
    with posting(url, b'{"jsonrpc":"2.0","id":1,"method":"ping"}') as response:
        assert json.loads(next(messages(response)))["result"] == {}


# --- servers that die -----------------------------------------------------------------------


class Mortal:
    """The command of a raw server that leaves marks of what becomes of it."""

    def __init__(self, file):
        self._file = file
        file.touch()
        self.command = [*RAW_FIXTURE, "--marks", str(file)]

    def count(self, mark):
        return self._file.read_text().split().count(mark)

    def wait_for(self, mark, count):
        seen = lambda: f"seen {self.count(mark)} times"
        until(lambda: self.count(mark) >= count, f"{count} times {mark}", seconds=60, pause=0.01, told=seen)


@pytest.fixture
def mortal(tmp_path):
    return Mortal(tmp_path / "marks")


def fate(session, number, tool):
    """Everything that answers a call, whatever its status."""
    line = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    with session.post(json.dumps(line)) as response:
        return [json.loads(message) for message in messages(response)]


def check_lost(answer, number):
    assert answer["id"] == number
    assert "error" in answer or answer["result"]["isError"] is True


def check_all_are_told(mortal, session, count):
    """`count` calls are under way when the server dies; each of them, and the fatal one, gets one error."""

    def call(number):
        if number < count:
            return fate(session, number, "hold")
        mortal.wait_for("held", count)
        return fate(session, number, "die")

    for number, came in enumerate(together(count + 1, call)):
        assert isinstance(came, list), came
        check_lost(came[-1], number)
        assert sum("method" not in message for message in came) == 1
    assert mortal.count("held") == count and mortal.count("died") == 1, "no call was repeated"


def test_a_dead_child_is_told_to_all_and_a_fresh_one_takes_over(mortal):
    with pairing("http", "--", *mortal.command) as target, talk(target) as session:
        session.open()
        check_all_are_told(mortal, session, 5)
        born = mortal.count("born")
        session.renew()
        told = '{"jsonrpc":"2.0","id":9,"result":{"content":[],"x":1.50}}'
        assert session.call(9, "say", say=[told]) == json.loads(told)
        assert mortal.count("born") > born and mortal.count("died") == 1


def test_a_dead_http_server_is_told_to_all_and_used_again_once_it_is_back(mortal):
    with Listening([*mortal.command, "--http"]) as first:
        port = urlsplit(first.url).port
        with pairing("http", "--url", f"{first.url}/mcp") as target, talk(target) as session:
            session.open()
            check_all_are_told(mortal, session, 5)
            (refusal,) = fate(session, 7, "say")
            check_lost(refusal, 7)
            with Listening([*mortal.command, "--http", "--port", str(port)]):
                session.renew()
                told = '{"jsonrpc":"2.0","id":9,"result":{"content":[],"x":1.50}}'
                assert session.call(9, "say", say=[told]) == json.loads(told)
            assert mortal.count("died") == 1


def test_a_server_that_is_not_there_is_named(mortal):
    address = f"127.0.0.1:{free_port()}"
    with pairing("http", "--url", f"http://{address}/mcp") as target:
        for body in (CALL, CALL.replace(b"tools/call", b"prompts/get")):
            with posting(target["url"], body) as response:
                (refusal,) = [json.loads(message) for message in messages(response)]
            check_lost(refusal, "c-1")
            assert address in str(refusal)
        with posting(target["url"], None, method="GET") as response:
            assert response.status == 502 and address in str(json.load(response))

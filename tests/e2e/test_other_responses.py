"""A server answers a call with something that is no response of MCP: the caller gets one answer, small and without secrets."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.pairing import FRONTS, pairing
from harness.talk import talk

SECRET = "hunter2xyz"
LINES = "\n".join(f"line {i} password={SECRET}" for i in range(2000))
RESULT = {"content": [{"type": "text", "text": LINES}]}
EVENTS = {"Content-Type": "text/event-stream"}


def result(number):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": RESULT}).encode()


# Status, header fields and body for the request with this id, and whether an error is due in place of the result.
ANSWERS = {
    "a result as text": lambda number: (200, {"Content-Type": "text/plain"}, result(number), True),
    "nothing": lambda number: (202, {}, b"", True),
    "a page": lambda number: (502, {"Content-Type": "text/html"}, f"<pre>{LINES}</pre>".encode(), True),
    "a small page": lambda number: (500, {"Content-Type": "text/html"}, f"password={SECRET}".encode(), True),
    "other JSON": lambda number: (500, {"Content-Type": "application/json"}, json.dumps({"detail": LINES}).encode(), True),
    "small JSON": lambda number: (400, {"Content-Type": "application/json"}, json.dumps({"password": SECRET}).encode(), True),
    "an event without an end": lambda number: (200, EVENTS, b"data: " + result(number) + b"\n", True),
    "an event that breaks off": lambda number: (200, EVENTS, b"data: " + result(number)[:9000], True),
    "another event": lambda number: (
        200,
        EVENTS,
        b'event: ping\ndata: {"method":"ping","password":"%b"}\n\ndata: %b\n\n' % (SECRET.encode(), result(number)),
        False,
    ),
    "content beside the data": lambda number: (
        200,
        EVENTS,
        b": %b\n\nid: %b\nretry: 5\n\nfoo: %b\nid: password=%b\ndata: %b\n\n"
        % (LINES.replace("\n", " ").encode(), LINES.replace("\n", " ").encode(), SECRET.encode(), SECRET.encode(), result(number)),
        False,
    ),
}


class Other(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, number = message.get("method"), message.get("id")
        if number is None:
            return self._answer(202, {}, b"")
        if method == "tools/call":
            status, headers, body, _ = ANSWERS[message["params"]["arguments"]["kind"]](number)
            return self._answer(status, headers, body)
        tool = {"name": "other", "inputSchema": {"type": "object"}}
        info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "other", "version": "1"}}
        known = {"initialize": info, "tools/list": {"tools": [tool]}}.get(method, {})
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": known}).encode()
        self._answer(200, {"Content-Type": "application/json"}, body)

    def do_GET(self):
        self._answer(405, {}, b"")

    do_DELETE = do_GET

    def _answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def other():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("front", FRONTS)
def test_the_answer_is_one_small_and_without_secrets(other, front, kind):
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "other", "arguments": {"kind": kind}}}
    with pairing(front, "--redact", "secrets", "--url", other) as target, talk(target) as session:
        session.open()
        if front == "http":
            with session.post(json.dumps(call)) as response:
                status, wire = response.status, response.read().decode()
            if status != 200:
                # As the server said it, but small.
                assert len(wire) <= 4096 and SECRET not in wire, wire[:500]
                return
            assert len(wire) <= 65_536 and SECRET not in wire, wire[:500]
        answers = [json.loads(message) for message in session.ask(json.dumps(call))]
        (answer,) = [answer for answer in answers if answer.get("id") == 7]
        assert SECRET not in json.dumps(answers), answer
        is_error = "error" in answer or answer["result"].get("isError", False)
        assert is_error is ANSWERS[kind](7)[3], answer

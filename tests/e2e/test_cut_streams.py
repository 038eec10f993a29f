"""A server's stream of events breaks off after each of its bytes: every request is answered once, with the result or an error."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.pairing import FRONTS, pairing
from harness.talk import talk

TEXT = "ten nights, ünpaid"
KINDS = ["one event", "comments and ids", "data in two lines", "line ends of Windows"]


def stream(kind, number):
    result = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": TEXT}]}}
    message = json.dumps(result, ensure_ascii=False)
    text = {
        "one event": f"data: {message}\n\n",
        "comments and ids": f": hello\n\nevent: message\ndata: {message}\n\n: bye\n\n",
        "data in two lines": f"data: {message[:17]}\ndata: {message[17:]}\n\n",
        "line ends of Windows": f"event: message\r\ndata: {message}\r\n\r\n",
    }[kind]
    return text.encode()


class Cutting(BaseHTTPRequestHandler):
    """Answers `cut` with the first `at` bytes of a stream, and ends the connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, number = message.get("method"), message.get("id")
        if number is None:
            return self._answer(202, b"")
        if method == "tools/call":
            self.server.calls.append(number)
            arguments = message["params"]["arguments"]
            return self._cut(stream(arguments["kind"], number)[: arguments["at"]])
        tool = {"name": "cut", "inputSchema": {"type": "object"}}
        info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "cutting", "version": "1"}}
        result = {"initialize": info, "tools/list": {"tools": [tool]}}.get(method, {})
        self._answer(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())

    def do_GET(self):
        self._answer(405, b"")

    do_DELETE = do_GET

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _cut(self, begin):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if begin:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(begin), begin))
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def cutting():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    server.daemon_threads, server.calls = True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("front", FRONTS)
def test_each_request_is_answered_once(cutting, front, kind):
    cutting.calls.clear()
    with pairing(front, "--url", f"http://127.0.0.1:{cutting.server_address[1]}/mcp") as target, talk(target) as session:
        session.open()
        whole = len(stream(kind, 100))
        results = 0
        for at in range(whole + 1):
            number = 100 + at
            call = {"name": "cut", "arguments": {"kind": kind, "at": at}}
            line = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            answers = [json.loads(message) for message in session.ask(json.dumps(line))]
            (answer,) = [answer for answer in answers if "method" not in answer]
            assert answer["id"] == number, (at, answer)
            if "result" in answer and not answer["result"].get("isError"):
                assert answer["result"]["content"] == [{"type": "text", "text": TEXT}], (at, answer)
                results += 1
            else:
                assert at < whole, (at, answer)
        assert results, "the whole stream has a result"
        # No call is repeated, because each may have acted.
        assert len(cutting.calls) == whole + 1

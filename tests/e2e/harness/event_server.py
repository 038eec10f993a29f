"""A server over streamable HTTP with one tool, whose calls a function of the test answers with bytes of a stream of events."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, number = message.get("method"), message.get("id")
        if number is None:
            return self._answer(202, b"")
        if method == "tools/call":
            return self._stream(number, message["params"]["arguments"])
        tool = {"name": self.server.tool, "inputSchema": {"type": "object"}}
        info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "events", "version": "1"}}
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

    def _stream(self, number, arguments):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if begin := self.server.stream(number, arguments):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(begin), begin))
        self.wfile.flush()
        if self.server.stays_open:
            self.server.ended.wait()
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def event_server(tool, stream, stays_open=False):
    """Yields the URL of the server. `stream`: returns the bytes for the id and the arguments of a call. After them the connection
    ends, or `stays_open` until the end of the test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.tool, server.stream = True, tool, stream
    server.stays_open, server.ended = stays_open, threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()

"""A small HTTP API in a thread of the test: routes are functions, and every request is remembered.

    stub = RestStub({"GET /items/{id}": lambda request: {"id": request.path["id"]}})
    with stub: requests.get(f"{stub.url}/items/7")

A route returns JSON data, bytes, or a `Response`. `stub.asked` has all requests, in order. Answers take `stub.delay` seconds.
"""

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit


@dataclass
class Request:
    method: str
    target: str
    headers: dict
    body: bytes
    path: dict = field(default_factory=dict)

    @property
    def query(self):
        """The parameters of the query; of several of one name, the last."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def queries(self):
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def form(self):
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def json(self):
        return json.loads(self.body)

    def echo(self):
        """The request as JSON, as echo services return it."""
        return {
            "method": self.method,
            "target": self.target,
            "headers": self.headers,
            "body": self.body.decode("latin-1"),
        }


@dataclass
class Response:
    body: object = b""
    status: int = 200
    headers: dict = field(default_factory=dict)
    media: str | None = "application/json"

    def encoded(self):
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()


class RestStub:
    def __init__(self, routes):
        self.asked, self.delay = [], 0
        self._routes = [(*pattern.split(" ", 1), answer) for pattern, answer in routes.items()]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def told(self):
        """The requests since this was last asked."""
        told, self.asked = self.asked, []
        return told

    def answer(self, request):
        path = urlsplit(request.target).path
        for method, template, answer in self._routes:
            names = re.escape(template).replace(r"\{", "{").replace(r"\}", "}")
            found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", names), path)
            if found and method in (request.method, "*"):
                request.path = {name: unquote(value) for name, value in found.groupdict().items()}
                return answer(request)
        return Response({"status": "fail", "message": "Resource not found"}, 404)

    def _handler(stub):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without this, a body waits for the acknowledgement of its header.
            disable_nagle_algorithm = True

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, body)
                stub.asked.append(request)
                time.sleep(stub.delay)
                response = stub.answer(request)
                if not isinstance(response, Response):
                    response = Response(response)
                content = response.encoded()
                self.send_response(response.status)
                if response.media and "content-type" not in {name.lower() for name in response.headers}:
                    self.send_header("content-type", response.media)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                if response.status != 204 and "content-length" not in response.headers:
                    self.send_header("content-length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD" and response.status != 204:
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any

            def log_message(self, *_):
                pass

        return Handler


def operation(name, *parameters, summary=None, body=None, media="application/json", **more):
    """An operation of an OpenAPI document; parameters are `(name, place, schema)`, required ones `(…, True)`."""
    listed = [
        {"name": one[0], "in": one[1], "schema": one[2], "required": one[1] == "path" or (len(one) > 3 and one[3])}
        for one in parameters
    ]
    described = {"operationId": name, "summary": summary or name, "parameters": listed, **more}
    if body:
        described["requestBody"] = {"required": True, "content": {media: {"schema": body}}}
    return described

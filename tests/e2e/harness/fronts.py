"""One API on three fronts: a wrapped MCP server, REST through `portion serve`, and `portion http`.

    with opened("portion http") as front:
        first = front.call("list_bookings")
        second = front.next(first)

Replies of all fronts have the same attributes, so that a scenario is written once.
"""

import itertools
import json
import re
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from . import tokens
from .command import FIXTURE, PORTION, wrapped
from .corpus_api import OPENAPI, OPERATIONS, CorpusApi
from .listening import Listening, served
from .peer import Peer
from .reply import BUDGET, WIRE_BYTES, Reply

FRONTS = ["wrapped", "REST through serve", "portion http"]
ADA = {"Authorization": "Bearer ada"}


@contextmanager
def opened(name, *options, env=None, admin="off", delay=0):
    """The payloads of the fixture on a front. `options`: of the command; `admin`: address of the admin listener.

    The server, or the API, answers after `delay` seconds.
    """
    with ExitStack() as stack:
        if name == "wrapped":
            options = [*([] if admin == "off" else ["--admin", admin]), *options]
            yield McpFront(stack.enter_context(Peer(wrapped(after(delay), *options), env=env)))
            return
        options = ["--admin", admin, *options]
        api = stack.enter_context(CorpusApi())
        api.delay = delay
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "openapi.json").write_text(json.dumps(OPENAPI))
        target = ["--openapi", str(folder / "openapi.json"), "--upstream", api.url, *options]
        if name == "REST through serve":
            process = stack.enter_context(Listening(served(*target), env=env))
            yield McpFront(stack.enter_context(Peer(process.url)), process, api)
        else:
            yield HttpFront(stack.enter_context(Listening(proxy(*target), env=env)), api)


def after(delay):
    """The command of the fixture server that answers after so many seconds."""
    return [*FIXTURE, *(["--delay", str(delay)] if delay else [])]


def proxy(*options):
    """The command of the reverse proxy."""
    return [PORTION, "http", "--listen", "127.0.0.1:0", *options]


def visit_sessions(name, visit, *options):
    """Calls `visit` with the front in session after session, until it returns true. A wrapped server has a process for each."""
    if name == "wrapped":
        while True:
            with opened(name, *options) as front:
                if visit(front):
                    return
    with opened(name, *options) as front:
        for number in itertools.count():
            with front.session(number) as session:
                if visit(session):
                    return


class McpFront:
    """Tools, through a wrapped server or through `portion serve`."""

    is_http = False

    def __init__(self, peer, process=None, api=None):
        self.peer, self._process, self.api = peer, process, api

    @contextmanager
    def session(self, number):
        # From 2026-07-28 on there are none: all clients without credentials are one.
        with Peer(self._process.url, mode="legacy") as peer:
            yield McpFront(peer, self._process, self.api)

    def call(self, tool, **arguments):
        return McpShown(self.peer.call(tool, **arguments))

    def read(self, shown, **controls):
        return self.at(shown, shown.meta["cursor"], **controls)

    def at(self, shown, cursor, **controls):
        return McpShown(self.peer.call("portion_read", cursor=cursor, **controls))

    def endpoint(self, tool):
        return tool

    def log(self):
        return "".join(self._process.said) if self._process else self.peer.said()

    def requests_of(self, tool):
        """Requests for a tool that reached the server."""
        if self.api:
            return self.api.requests_of(OPERATIONS[tool][0])
        return int(Reply(self.peer.call("count_calls", tool=tool)).text)


class HttpFront:
    """Paths, through `portion http`."""

    is_http = True

    def __init__(self, process, api, headers=ADA):
        self._process, self.api, self.url = process, api, process.url.split(" ")[0].rstrip("/")
        self._headers = headers

    @contextmanager
    def session(self, number):
        yield HttpFront(self._process, self.api, {"Authorization": f"Bearer {number}"})

    def call(self, tool, **arguments):
        if tool == "read_text":
            tool = "read_document"
        path = re.sub(r"{(\w+)}", lambda found: arguments.pop(found[1]), OPERATIONS[tool][0])
        return HttpShown(get(self.url + path, arguments, self._headers))

    def read(self, shown, **controls):
        return self.at(shown, shown.meta["cursor"], **controls)

    def at(self, shown, cursor, **controls):
        return HttpShown(get(shown.url, {"cursor": cursor} | controls, self._headers))

    def endpoint(self, tool):
        return f"GET {OPERATIONS['read_document' if tool == 'read_text' else tool][0]}"

    def log(self):
        return "".join(self._process.said)

    def requests_of(self, tool):
        return self.api.requests_of(OPERATIONS[tool][0])


def get(url, query, headers=ADA):
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    return requests.get(url, params=query, headers=headers, timeout=60)


class McpShown:
    """A reply over MCP."""

    def __init__(self, result):
        assert "error" not in result, result
        self.result, self._reply = result, Reply(result)
        self.notice, self.meta, self.next = self._reply.notice or {}, self._reply.meta, self._reply.next
        self.text = self._reply.text
        self.total = self.notice.get("totalCount", self.notice.get("total_count"))
        self.kind = self.meta.get("kind")
        self.wire = json.dumps(result, ensure_ascii=False).encode()
        self.sent = len(self.wire)
        self.cost = sum(map(tokens.count, self._reply.all_texts))

    @property
    def error(self):
        return self._reply.error

    def is_untouched(self, payload):
        return "_meta" not in self.result and [block["text"] for block in self.result["content"]] == [payload]


class HttpShown:
    """A reply over HTTP: the notice is in the object, or in the header of an array."""

    def __init__(self, response):
        self.response, self.wire, self.url = response, response.content, response.url.split("?")[0]
        headers = response.headers
        self.kind = headers.get("x-portion-kind")
        self.sent = len(response.content) + sum(len(name) + len(value) for name, value in headers.items())
        value = json.loads(response.text)
        self.cost = tokens.count(response.text) + tokens.count(headers.get("x-portion-notice", ""))
        self.notice = {}
        if self.kind and isinstance(value, dict):
            names = ["nextCursor", "next_cursor", "totalCount", "total_count", "cut", "notShown", "meta"]
            self.notice = value["portion"] if "portion" in value else {name: value[name] for name in names if name in value}
        elif self.kind:
            self.notice = json.loads(headers.get("x-portion-notice", "{}"))
        self.meta = {"cursor": headers.get("x-portion-cursor"), "kind": self.kind} | self.notice.get("meta", {})
        self.next = headers.get("x-portion-next-cursor")
        assert (self.next is None) == ("next" not in response.links), headers
        self.total = int(headers["x-total-count"]) if "x-total-count" in headers else None
        is_piece = self.kind in ("chunk", "range", "raw")
        self.text = value["content"] if is_piece else response.text

    @property
    def error(self):
        assert self.response.status_code >= 400, self.response.text[:400]
        error = self.response.json()["error"]
        assert set(error) >= {"code", "message", "advice"}, error
        return error

    def is_untouched(self, payload):
        return self.kind is None and self.wire == payload.encode()


def lawful(shown, budget=BUDGET):
    """A reply that was shaped and keeps the laws of size."""
    assert shown.kind and shown.meta["cursor"], shown.wire[:400]
    assert shown.cost <= budget, f"{shown.cost} of {budget} tokens"
    assert len(shown.wire) <= WIRE_BYTES
    return shown


def walk(front, shown, budget=BUDGET):
    """A reply and all that follow it."""
    seen = set()
    while True:
        yield shown
        if not shown.next:
            return
        assert shown.next not in seen and len(seen) < 2_000, "following nextCursor ends"
        seen.add(shown.next)
        shown = lawful(front.at(shown, shown.next), budget)


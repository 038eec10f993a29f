"""A client that sees bytes on either front: a line or a POST out, the messages that came back, nothing re-typed."""

import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from .wire import Wire

SECONDS = 60
ACCEPT = "application/json, text/event-stream"


@contextmanager
def talk(target):
    if "command" in target:
        with Wire(target["command"]) as wire:
            yield OverStdio(wire)
    else:
        yield OverHttp(target["url"])


class Talk:
    def ask(self, line):
        """All messages up to and with the answer to the request in `line`."""
        return list(self.asking(line))

    def open(self, revision="2025-11-25"):
        parameters = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "talk", "version": "1"}}
        line = {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": parameters}
        *_, answer = self.ask(json.dumps(line))
        self.revision = revision
        self.tell('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, number, tool, **arguments):
        line = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
        *_, answer = self.ask(json.dumps(line | {"params": {"name": tool, "arguments": arguments}}))
        return json.loads(answer)

    def seen(self):
        """What the raw server was told since this was last asked."""
        return json.loads(self.ask('{"jsonrpc":"2.0","id":"seen","method":"x-raw/seen"}')[-1])["result"]["seen"]


class OverStdio(Talk):
    def __init__(self, wire):
        self._wire = wire

    def tell(self, line):
        self._wire.send(line.encode())

    def asking(self, line):
        self.tell(line)
        while True:
            came = self._wire.line()
            assert came, f"the stream ended: {self._wire.stderr()}"
            yield came.decode().removesuffix("\n")
            if is_answer(came):
                return

    @contextmanager
    def listening(self):
        yield lambda: self._wire.line().decode().removesuffix("\n")


class OverHttp(Talk):
    def __init__(self, url):
        self._url = url
        self._session = {}
        self.revision = None

    def renew(self):
        """Goes on after the server was lost: with the same session where it still is one, else with a new one."""
        with self.post('{"jsonrpc":"2.0","id":"renew","method":"ping"}') as response:
            lost = response.status == 404
            response.read()
        if lost:
            self._session, revision, self.revision = {}, self.revision, None
            self.open(revision)

    def tell(self, line):
        with self.post(line) as response:
            assert response.status == 202, (response.status, response.read())

    def asking(self, line):
        with self.post(line) as response:
            assert response.status == 200, (response.status, response.read())
            if number := response.headers.get("mcp-session-id"):
                self._session = {"Mcp-Session-Id": number}
            yield from messages(response)

    @contextmanager
    def listening(self):
        """The stream that belongs to no request; what is given takes the next message off it."""
        with self.get() as response:
            assert response.status == 200, response.read()
            stream = events(response)
            yield lambda: next(stream)

    def post(self, line, *headers):
        kinds = [("Content-Type", "application/json"), ("Accept", ACCEPT)]
        return exchange(self._url, "POST", [*kinds, *self._headers(), *headers], line.encode())

    def get(self, *headers):
        return exchange(self._url, "GET", [("Accept", "text/event-stream"), *self._headers(), *headers])

    def end(self):
        """Ends the session, and gives the status."""
        with exchange(self._url, "DELETE", self._headers()) as response:
            return response.status

    def _headers(self):
        return [*self._session.items(), *([("MCP-Protocol-Version", self.revision)] if self.revision else [])]


@contextmanager
def exchange(url, method="GET", headers=(), body=None, target=None):
    """One request on a connection of its own; the response is read as it comes.

    `headers` may name one twice, as pairs; Host is the address unless they say otherwise.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
    pairs = list(headers.items() if isinstance(headers, dict) else headers)
    names = {name.lower() for name, _ in pairs}
    try:
        connection.putrequest(method, target or parts.path, skip_host="host" in names, skip_accept_encoding=True)
        for name, value in pairs:
            connection.putheader(name, value)
        if body is not None and not names & {"content-length", "transfer-encoding"}:
            connection.putheader("Content-Length", len(body))
        connection.endheaders(body)
        yield connection.getresponse()
    finally:
        connection.close()


def messages(response):
    """What answers a POST, as it comes: the body, or the data of events up to the answer."""
    if response.headers["content-type"].startswith("application/json"):
        yield response.read().decode()
        return
    for event in events(response):
        yield event
        if is_answer(event):
            return


def events(response):
    """The data of each event of a stream, as it comes; events without any only have an id."""
    data = []
    while line := response.readline():
        match line.rstrip(b"\r\n").decode().partition(":"):
            case ("data", _, value):
                data.append(value.removeprefix(" "))
            case ("", "", ""):
                if any(data):
                    yield "\n".join(data)
                data = []


def is_answer(message):
    value = json.loads(message)
    return isinstance(value, list) or "method" not in value


def together(count, work, seconds=3 * SECONDS):
    """What `work(n)` gives for each n below `count`, all at the same time."""
    results = [None] * count

    def one(number):
        try:
            results[number] = work(number)
        except Exception as failure:  # told by the caller's assertion
            results[number] = failure

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return results

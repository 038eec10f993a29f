"""Two hundred clients use the same request ids at the same time, and each gets its own answer."""

import http.client
import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

import pytest
from mcp_idprobe import prober

from harness.command import MEET_FIXTURE, RAW_FIXTURE
from harness.pairing import UPSTREAMS, Listening, pairing, upstream
from harness.talk import SECONDS, OverHttp, exchange, messages, talk, together

CLIENTS = 200
ROUNDS = int(os.environ.get("SAME_ID_ROUNDS", "5"))
"""Calls of each client, one after another."""
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module", params=UPSTREAMS)
def url(request, server):
    with pairing("http", *upstream(request.param, child=MEET_FIXTURE, base=server.url)) as target:
        yield target["url"]


class Meeting:
    """Callers of the raw server's `meet` wait here until all have come; the last is let go first."""

    def __init__(self, count):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._gather, args=(count,), daemon=True).start()

    def _gather(self, count):
        here = [self._listener.accept()[0] for _ in range(count)]
        for connection in reversed(here):
            connection.close()
        self._listener.close()


@contextmanager
def patient(post):
    """The response to what `post()` sends, which is repeated while the machine is too busy for it."""
    while True:
        with post() as response:
            if response.status != 503:
                yield response
                return
            pause = int(response.headers["retry-after"])
        time.sleep(pause)


class Session(OverHttp):
    def post(self, line, *headers):
        return patient(partial(super().post, line, *headers))


def meet(number, port):
    return {"name": "meet", "arguments": {"port": port, "text": f"for {number} alone"}}


def test_in_sessions_of_their_own(url):
    def open_session(_):
        session = Session(url)
        session.open()
        return session

    sessions = together(CLIENTS, open_session)
    meeting = Meeting(CLIENTS)

    def ask(number):
        line = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": meet(number, meeting.port)}
        return [json.loads(message) for message in sessions[number].ask(json.dumps(line))]

    check(together(CLIENTS, ask), 7)


def test_without_sessions(url, request):
    """2026-07-28: nothing but the connection tells one client from another."""
    if "sse" in request.node.callspec.id:
        pytest.skip("2026-07-28 has no HTTP+SSE transport")
    meeting = Meeting(CLIENTS)
    prefix = "io.modelcontextprotocol"
    version = {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}
    headers = HEADERS | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "meet"}

    def ask(number):
        parameters = meet(number, meeting.port) | {"_meta": version}
        body = json.dumps({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": parameters}).encode()
        with patient(partial(exchange, url, "POST", headers, body)) as response:
            assert response.status == 200, response.read()
            return [json.loads(message) for message in messages(response)]

    check(together(CLIENTS, ask), "same")


def check(answers, number):
    """Each client got the one answer to its own question."""
    for client, came in enumerate(answers):
        assert isinstance(came, list), came
        (answer,) = came
        assert answer["id"] == number and "result" in answer, answer
        assert answer["result"]["content"] == [{"type": "text", "text": f"for {client} alone"}]


def answered(connection, path, body, headers):
    """The answer to a post, which is repeated while the machine is too busy for it."""
    while True:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 503:
            return json.loads(answer)
        time.sleep(int(response.headers["retry-after"]))


def test_again_and_again(server):
    """Each client on a connection of its own, without a pause."""
    with pairing("http", "--admin", "off", "--url", f"{server.url}/json/mcp") as target:
        at = urlsplit(target["url"])

        def ask(number):
            session = Session(target["url"])
            session.open()
            headers = HEADERS | dict(session._headers())
            connection, crossed = http.client.HTTPConnection(at.hostname, at.port, timeout=SECONDS), 0
            for turn in range(ROUNDS):
                text = f"for {number} alone, turn {turn}"
                call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": text}}}
                answer = answered(connection, at.path, json.dumps(call), headers)
                crossed += answer["id"] != 7 or answer["result"]["content"] != [{"type": "text", "text": text}]
            connection.close()
            return crossed

        assert together(CLIENTS, ask, seconds=36_000) == [0] * CLIENTS


@pytest.mark.parametrize("kind", UPSTREAMS)
def test_on_one_stdio_connection_numbers_and_strings_are_different_ids(server, kind):
    count = CLIENTS // 2
    meeting = Meeting(2 * count)
    behind = upstream(kind, child=MEET_FIXTURE, base=server.url)
    with pairing("stdio", *behind) as target, talk(target) as session:
        session.open()
        for number in range(count):
            for spelled in (number, str(number)):
                call = meet(repr(spelled), meeting.port)
                session.tell(json.dumps({"jsonrpc": "2.0", "id": spelled, "method": "tools/call", "params": call}))
        with session.listening() as next_message:
            answers = [json.loads(next_message()) for _ in range(2 * count)]
    texts = {repr(answer["id"]): answer["result"]["content"][0]["text"] for answer in answers}
    assert texts == {repr(spelled): f"for {spelled!r} alone" for n in range(count) for spelled in (n, str(n))}


def test_the_published_probe_finds_every_answer_with_its_owner(url, monkeypatch):
    # It would wait on each session's own stream, where no answers come.
    monkeypatch.setattr(prober.StreamableHttpClient, "poll", lambda client: [])
    told = prober.run_probe(url, rounds=20, settle_time=0, timeout=SECONDS)
    assert told["verdict"] == "PASS" and not told["send_errors"]
    assert not told["evidence"]["crossed_responses"] and not told["evidence"]["missing_responses"]
    assert len(told["evidence"]["correctly_delivered"]) == 40

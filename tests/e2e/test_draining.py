"""After SIGTERM, running requests finish, new ones are told to come again, and `/health` says so."""

import json
import re
import socket
import subprocess
import threading
from contextlib import contextmanager

import pytest
import requests

from harness.command import MEET_FIXTURE, PORTION
from harness.listening import Listening, served
from harness.rest_stub import RestStub
from harness.talk import OverHttp
from harness.waiting import until

SECONDS = 60
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "done"}]}}


class Slow:
    """An endpoint that answers when it is let go."""

    def __init__(self):
        self.began, self.go = threading.Event(), threading.Event()

    def __call__(self, request):
        if request.method == "POST" and request.json["method"] == "tools/call":
            self.began.set()
            self.go.wait(SECONDS)
        return RESULT


def admin_of(front):
    """The address of the admin listener; its health is good."""
    admin = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")[1]
    assert requests.get(f"{admin}/health", timeout=SECONDS).json()["status"] == "ok"
    return admin


def wait_until_draining(admin):
    def is_draining():
        health = requests.get(f"{admin}/health", timeout=SECONDS)
        return health.status_code == 503 and health.json()["status"] == "draining"

    until(is_draining, "health says so", seconds=SECONDS)


def check_refused(refused):
    assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
    assert refused.headers["connection"] == "close" and "shutting down" in refused.text


@pytest.mark.parametrize("kind", ["serve", "http"])
def test_running_requests_finish_and_new_ones_are_refused(kind):
    slow = Slow()
    with RestStub({"* /mcp": slow}) as stub:
        upstream = {"serve": ["--url", f"{stub.url}/mcp"], "http": ["--upstream", stub.url]}[kind]
        command = [PORTION, kind, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *upstream]
        with Listening(command) as front:
            url = front.url if kind == "serve" else f"{front.url}/mcp"
            admin = admin_of(front)
            answers = []
            ask = lambda: requests.post(url, json=CALL, headers={"Accept": "application/json"}, timeout=SECONDS)  # noqa: E731
            running = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
            running.start()
            assert slow.began.wait(SECONDS)
            front.process.terminate()
            wait_until_draining(admin)
            for _ in range(5):
                check_refused(ask())
            assert not answers, "the running request goes on"
            slow.go.set()
            running.join(SECONDS)
            assert answers[0].status_code == 200 and "done" in answers[0].text
            assert front.process.wait(SECONDS) == 143


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_running_call_of_a_command_finishes_and_new_ones_are_refused(revision):
    """The server answers the call when the test lets it go."""
    command = [PORTION, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--", *MEET_FIXTURE]
    with socket.create_server(("127.0.0.1", 0)) as meeting, Listening(command) as front:
        meeting.settimeout(SECONDS)
        admin, headers, meta = admin_of(front), {"Accept": "application/json, text/event-stream"}, {}
        if revision == "2025-11-25":
            session = OverHttp(front.url)
            session.open(revision)
            headers |= session._headers()
        else:
            meta = {f"io.modelcontextprotocol/{name}": value for name, value in [("protocolVersion", revision), ("clientCapabilities", {})]}
            headers |= {"MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": "meet"}
        arguments = {"port": meeting.getsockname()[1], "text": "done"}
        call = CALL | {"params": {"name": "meet", "arguments": arguments, "_meta": meta}}
        answers = []
        ask = lambda: requests.post(front.url, json=call, headers=headers, timeout=SECONDS)  # noqa: E731
        running = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
        running.start()
        held, _ = meeting.accept()
        front.process.terminate()
        wait_until_draining(admin)
        for _ in range(5):
            check_refused(ask())
        assert not answers, "the running call goes on"
        held.sendall(b"g")
        running.join(SECONDS)
        held.close()
        assert answers[0].status_code == 200 and "done" in answers[0].text
        assert front.process.wait(SECONDS) == 143


@contextmanager
def cut_off(front, ask):
    """A call that the server does not answer runs in the block; then Portion is ended, and the call is told why."""
    answers = []
    running = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    running.start()
    yield
    front.process.terminate()
    running.join(SECONDS)
    (answer,) = answers
    told = answer.json()
    assert answer.status_code == 200 and told["id"] == 1 and told["result"]["isError"] is True
    assert "the gateway is stopping" in answer.text and "may have acted" in answer.text
    assert front.process.wait(SECONDS) == 143


def test_a_call_of_a_url_that_does_not_finish_in_time_is_told_so():
    slow = Slow()
    with RestStub({"* /mcp": slow}) as stub, Listening(served("--drain-timeout", "1s", "--url", f"{stub.url}/mcp")) as front:
        ask = lambda: requests.post(front.url, json=CALL, headers={"Accept": "application/json"}, timeout=SECONDS)  # noqa: E731
        with cut_off(front, ask):
            assert slow.began.wait(SECONDS)
        slow.go.set()


def test_a_call_of_a_command_that_does_not_finish_in_time_is_told_so():
    command = served("--drain-timeout", "1s", "--", *MEET_FIXTURE)
    with socket.create_server(("127.0.0.1", 0)) as meeting, Listening(command) as front:
        meeting.settimeout(SECONDS)
        session = OverHttp(front.url)
        session.open("2025-11-25")
        headers = {"Accept": "application/json, text/event-stream"} | dict(session._headers())
        call = CALL | {"params": {"name": "meet", "arguments": {"port": meeting.getsockname()[1], "text": "done"}}}
        with cut_off(front, lambda: requests.post(front.url, json=call, headers=headers, timeout=SECONDS)):
            held, _ = meeting.accept()
        held.close()


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
@pytest.mark.parametrize(("method", "may_retry"), [("GET", True), ("POST", False)])
def test_a_request_to_an_api_that_does_not_finish_in_time_is_told_so(version, method, may_retry):
    began, go = threading.Event(), threading.Event()

    def wait(_):
        began.set()
        go.wait(SECONDS)
        return {}

    with RestStub({"* /slow": wait}) as stub:
        command = [PORTION, "http", "--listen", "127.0.0.1:0", "--admin", "off", "--upstream", stub.url, "--drain-timeout", "1s"]
        with Listening(command) as front:
            ask = ["curl", "-sS", "-i", "--noproxy", "*", version, "-X", method, f"{front.url}/slow"]
            with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as client:
                assert began.wait(SECONDS)
                front.process.terminate()
                said = client.communicate(timeout=SECONDS)[0]
            head, _, body = said.partition("\n\n")
            error = json.loads(body)["error"]
            assert head.split()[1] == "503" and error["code"] == "busy" and "the gateway is stopping" in error["message"]
            assert ("retry-after: 1" in head.lower()) == may_retry and ("may have acted" in error["advice"]) != may_retry
            assert front.process.wait(SECONDS) == 143
        go.set()

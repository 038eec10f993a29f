"""After SIGTERM, running requests finish, new ones are told to come again, and `/health` says so."""

import re
import threading

import pytest
import requests

from harness.command import PORTION
from harness.listening import Listening
from harness.rest_stub import RestStub
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


@pytest.mark.parametrize("kind", ["serve", "http"])
def test_running_requests_finish_and_new_ones_are_refused(kind):
    slow = Slow()
    with RestStub({"* /mcp": slow}) as stub:
        upstream = {"serve": ["--url", f"{stub.url}/mcp"], "http": ["--upstream", stub.url]}[kind]
        command = [PORTION, kind, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *upstream]
        with Listening(command) as front:
            url = front.url if kind == "serve" else f"{front.url}/mcp"
            admin = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")[1]
            assert requests.get(f"{admin}/health", timeout=SECONDS).json()["status"] == "ok"
            answers = []
            ask = lambda: requests.post(url, json=CALL, headers={"Accept": "application/json"}, timeout=SECONDS)  # noqa: E731
            running = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
            running.start()
            assert slow.began.wait(SECONDS)
            front.process.terminate()

            def draining():
                health = requests.get(f"{admin}/health", timeout=SECONDS)
                return health.status_code == 503 and health.json()["status"] == "draining"

            until(draining, "health says so", seconds=SECONDS)
            for _ in range(5):
                refused = ask()
                assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
                assert refused.headers["connection"] == "close" and "shutting down" in refused.text
            assert not answers, "the running request goes on"
            slow.go.set()
            running.join(SECONDS)
            assert answers[0].status_code == 200 and "done" in answers[0].text
            assert front.process.wait(SECONDS) == 143

"""A server on stdio dies after each byte of its response: every pending request is answered once, at once."""

import json
import os
import shlex
import time

from harness.command import wrapped
from harness.figures import at_most
from harness.wire import Wire, request

DEATHS = int(os.environ.get("DEATHS", "48"))
"""Places in the response, evenly spread."""
PENDING = 3
INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
TEXT = "ten nights, ünpaid, and more. " * 10
RESPONSE = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": TEXT}]}}, ensure_ascii=False).encode() + b"\n"


def test_each_pending_request_is_answered_once(tmp_path):
    (tmp_path / "response").write_bytes(RESPONSE)
    hello = shlex.quote(json.dumps({"jsonrpc": "2.0", "id": 0, "result": INITIALIZED}))
    slowest = 0
    for at in [*range(0, len(RESPONSE), max(len(RESPONSE) // DEATHS, 1)), len(RESPONSE) - 1, len(RESPONSE)]:
        reads = "; ".join("read line" for _ in range(PENDING + 1))
        script = f"read line; echo {hello}; {reads}; head -c {at} {tmp_path}/response; exit 3"
        with Wire(wrapped(["sh", "-c", script])) as wire:
            wire.open()
            begun = time.monotonic()
            for number in range(1, PENDING + 1):
                wire.send(request(number, "tools/call", {"name": "t", "arguments": {}}))
            answers = []
            while line := wire.line():
                answers.append(json.loads(line))
            slowest = max(slowest, time.monotonic() - begun)
            assert wire.exit_code() == 3
        assert sorted(answer["id"] for answer in answers) == list(range(1, PENDING + 1)), (at, answers)
        whole = [answer["id"] for answer in answers if not answer.get("result", {}).get("isError") and "error" not in answer]
        # The last byte is the end of the line, which the end of the stream replaces.
        assert whole == ([1] if at >= len(RESPONSE) - 1 else []), (at, answers)
    print(f"the slowest end after {slowest * 1000:.0f} ms")
    assert slowest < at_most(0.5)

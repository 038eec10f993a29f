"""What a server writes between messages, and a line without end, harm no message and take no memory."""

import json
import os
import random

import pytest

from harness.command import CLIENT_BIN, wrapped
from harness.memory import MEBIBYTE, peak_bytes
from harness.wire import Wire

MESSAGES = 10_000
MEBIBYTES = 400
"""The most that may ever be resident."""
LINE_MEBIBYTES = int(os.environ.get("LINE_MEBIBYTES", "300"))
GARBAGE = [
    b"Server listening on stdio", b"\x1b[32mINFO\x1b[0m ready", b"\xff\xfe\x00\x01", b"{", b"]", b'{"jsonrpc":"2.0"', b"[[[[[[", b"null",
    b'{"jsonrpc":"1.0","method":"x"}', b"Traceback (most recent call last):", b'"', b"\\", b"{}" * 500, b"\xc3\x28", b"NaN",
]


def test_as_much_garbage_as_messages(tmp_path):
    chance = random.Random(7)
    lines = []
    for number in range(MESSAGES):
        noise = chance.randbytes(chance.randrange(1, 200)).replace(b"\n", b"") if number % 3 == 0 else chance.choice(GARBAGE)
        lines += [noise, b'{"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d}}' % number]
    (tmp_path / "lines").write_bytes(b"\n".join(lines) + b"\n")
    with Wire(wrapped(["sh", "-c", f"cat {tmp_path}/lines; cat >/dev/null"])) as wire:
        for number in range(MESSAGES):
            assert json.loads(wire.line())["params"]["n"] == number
        assert peak_bytes(wire.process) < MEBIBYTES * MEBIBYTE


FILLED = {
    "letters": "b'x' * (1 << 20)",
    "base64": "base64.b64encode(os.urandom(3 << 18))",
    "JSON": "(b'{\"a\":[1,2,3]},' * 80_000)[:1 << 20]",
}
ENDLESS = """
import base64, json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}}), flush=True)
    elif message["method"] == "ping":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
    else:
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":' + json.dumps(message["id"]).encode() + b',"result":[')
        for _ in range(int(sys.argv[1])):
            sys.stdout.buffer.write(FILLED)
        sys.stdout.buffer.write(b"\\n")
        sys.stdout.flush()
"""


@pytest.mark.parametrize("filled", FILLED)
def test_a_line_without_end(filled):
    server = [str(CLIENT_BIN / "python"), "-c", ENDLESS.replace("FILLED", FILLED[filled]), str(LINE_MEBIBYTES)]
    with Wire(wrapped(server)) as wire:
        wire.open()
        assert b"message_too_large" in wire.call(1, "anything")
        assert json.loads(wire.ask(b'{"jsonrpc":"2.0","id":2,"method":"ping"}'))["result"] == {}
        assert peak_bytes(wire.process) < MEBIBYTES * MEBIBYTE

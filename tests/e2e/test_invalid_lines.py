"""A server answers with a line that is no message, or not UTF-8: the call is answered at once, and says so, in both revisions."""

import json
import sys
import time

import pytest

from harness.listening import Listening, served
from harness.talk import ACCEPT, exchange, messages

PREFIX = "io.modelcontextprotocol"
SERVER = r"""
import json, sys
LINES = {
    "neither": b'{"jsonrpc":"2.0","id":%b}',
    "both": b'{"jsonrpc":"2.0","id":%b,"result":{},"error":{"code":1,"message":"x"}}',
    "NaN": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[],"structuredContent":{"a":NaN}}}',
    "two results": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]},"result":{"content":[]}}',
    "another version": b'{"jsonrpc":"1.0","id":%b,"result":{"content":[]}}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"caf\xe9 \xff\xfe"}]}}',
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    number, result = json.dumps(message["id"]).encode(), {}
    if message["method"] == "tools/call":
        sys.stdout.buffer.write(LINES[message["params"]["arguments"]["kind"]] % number + b"\n")
        sys.stdout.buffer.flush()
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture(scope="module")
def url():
    with Listening(served("--request-timeout", "50s", "--", sys.executable, "-c", SERVER)) as portion:
        yield portion.url


def called(url, era, kind):
    """The response to a call in one revision."""
    params = {"name": "odd", "arguments": {"kind": kind}}
    headers = [("Content-Type", "application/json"), ("Accept", ACCEPT)]
    if era == "2026-07-28":
        params["_meta"] = {f"{PREFIX}/protocolVersion": era, f"{PREFIX}/clientCapabilities": {}}
        headers += [("MCP-Protocol-Version", era), ("Mcp-Method", "tools/call"), ("Mcp-Name", "odd")]
    else:
        opening = {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        _, session = posted(url, headers, "initialize", opening)
        headers += [("Mcp-Session-Id", session), ("MCP-Protocol-Version", era)]
    return posted(url, headers, "tools/call", params)[0]


def posted(url, headers, method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).encode()
    with exchange(url, "POST", headers, body) as response:
        assert response.status == 200, response.read()
        return [json.loads(each) for each in messages(response)][-1], response.headers.get("mcp-session-id")


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("kind", ["neither", "both", "NaN", "two results", "another version"])
def test_a_line_that_is_no_message_is_an_error_at_once(url, era, kind):
    began = time.monotonic()
    answer = called(url, era, kind)
    assert "upstream_invalid" in json.dumps(answer), answer
    assert answer["id"] == "a" and time.monotonic() - began < 25, "it waited for the timeout"


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_replaced_bytes_are_reported(url, era):
    answer = called(url, era, "no UTF-8")
    assert "caf\ufffd \ufffd\ufffd" in answer["result"]["content"][0]["text"], answer
    assert "3 invalid sequences" in json.dumps(answer["result"]), answer

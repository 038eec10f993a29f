"""A server answers with a line or an event that is no message, or not UTF-8: the call is answered at once, and says so, in both revisions."""

import json
import sys

import pytest

from harness.command import wrapped
from harness.event_server import event_server
from harness.listening import Listening, served
from harness.pairing import FRONTS, pairing
from harness.talk import ACCEPT, exchange, messages, talk
from harness.wire import Wire, request

PREFIX = "io.modelcontextprotocol"
LINES = {
    "neither": b'{"jsonrpc":"2.0","id":%b}',
    "both": b'{"jsonrpc":"2.0","id":%b,"result":{},"error":{"code":1,"message":"x"}}',
    "NaN": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[],"structuredContent":{"a":NaN}}}',
    "two results": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]},"result":{"content":[]}}',
    "two ids, the other last": b'{"jsonrpc":"2.0","id":%b,"id":"other","result":{"content":[]}}',
    "two ids, the other first": b'{"jsonrpc":"2.0","id":"other","id":%b,"result":{"content":[]}}',
    "another version": b'{"jsonrpc":"1.0","id":%b,"result":{"content":[]}}',
    "a batch with a number": b'[{"jsonrpc":"2.0","id":%b,"result":{"content":[]}}, 5]',
    "a batch with both": b'[{"jsonrpc":"2.0","id":%b,"result":{},"error":{"code":1,"message":"x"}}]',
    "long and NaN": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"' + b"x" * 9_000 + b'"}],"a":NaN}}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"caf\xe9 \xff\xfe"}]}}',
}
INVALID = [kind for kind in LINES if kind != "no UTF-8"]
SERVER = f"import json, sys\nLINES = {LINES!r}" + r"""
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


def event(number, arguments):
    return b"data: " + LINES[arguments["kind"]] % json.dumps(number).encode() + b"\n\n"


@pytest.fixture(scope="module")
def events():
    with event_server("odd", event, stays_open=True) as url:
        yield url


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
@pytest.mark.parametrize("kind", INVALID)
def test_a_line_that_is_no_message_is_an_error_at_once(url, era, kind):
    answer = called(url, era, kind)
    assert "upstream_invalid" in json.dumps(answer), answer
    assert answer["id"] == "a"


@pytest.mark.parametrize("front", FRONTS)
def test_an_event_that_is_no_message_is_an_error_at_once(events, front):
    with pairing(front, "--request-timeout", "50s", "--url", events) as target, talk(target) as session:
        session.open()
        for number, kind in enumerate(INVALID, 100):
            params = {"name": "odd", "arguments": {"kind": kind}}
            answers = session.ask(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
            (answer,) = [json.loads(answer) for answer in answers]
            assert answer["id"] == number and "upstream_invalid" in json.dumps(answer), (kind, answer)


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_replaced_bytes_are_reported(url, era):
    answer = called(url, era, "no UTF-8")
    assert "caf\ufffd \ufffd\ufffd" in answer["result"]["content"][0]["text"], answer
    assert "3 invalid sequences" in json.dumps(answer["result"]), answer


@pytest.fixture(scope="module")
def wire():
    with Wire(wrapped([sys.executable, "-c", SERVER], "--request-timeout", "50s")) as wire:
        wire.open()
        yield wire


@pytest.mark.parametrize("kind", INVALID)
def test_a_line_to_wrap_that_is_no_message_is_an_error_at_once(wire, kind):
    answer = json.loads(wire.call(kind, "odd", kind=kind))
    assert "upstream_invalid" in json.dumps(answer), answer


def test_a_request_with_two_ids_is_an_error_without_an_id_at_once(wire):
    wire.send(b'{"jsonrpc":"2.0","id":"first","id":"second","method":"ping"}')
    line = wire.until(lambda message: "error" in message)[-1]
    error = json.loads(line)
    assert error["id"] is None and error["error"]["code"] == -32600, line
    assert "result" in json.loads(wire.ask(request("next", "ping", {}))), "it goes on"

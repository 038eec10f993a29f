"""`wrap --url`: a stdio client on a server that only speaks HTTP; Portion is the HTTP client, and behaves like one."""

import json
import uuid

import pytest

from harness.command import PORTION, RAW_FIXTURE
from harness.pairing import Listening
from harness.reply import lawful
from harness.talk import OverStdio, exchange
from harness.wire import Wire

PREFIX = "io.modelcontextprotocol"


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture
def base(server):
    told(server.url)
    return server.url


def told(base):
    """The requests that came to the server since this was last asked, header names in small letters."""
    with exchange(base, target="/requests") as response:
        requests = json.load(response)
    for request in requests:
        request["headers"] = {name.lower(): value for name, value in request["headers"]}
    return requests


def wrapping(url, *options, env=None):
    return Wire([PORTION, "wrap", *options, "--url", url], env=env)


def modern(number, method, **parameters):
    meta = {f"{PREFIX}/protocolVersion": "2026-07-28", f"{PREFIX}/clientCapabilities": {}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {**parameters, "_meta": meta}})


def test_a_session_is_begun_kept_and_ended(base):
    with wrapping(f"{base}/mcp") as wire:
        session = OverStdio(wire)
        session.open("2025-06-18")
        session.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        wire.close()
        assert wire.exit_code() == 0
    first, *rest = told(base)
    assert first["method"] == "POST" and '"initialize"' in first["body"]
    assert "mcp-session-id" not in first["headers"]
    assert {"application/json", "text/event-stream"} <= set(first["headers"]["accept"].replace(" ", "").split(","))
    assert first["headers"]["content-type"].startswith("application/json")
    number = rest[0]["headers"]["mcp-session-id"]
    assert {request["headers"]["mcp-session-id"] for request in rest} == {number}
    assert {request["headers"]["mcp-protocol-version"] for request in rest} == {"2025-06-18"}
    assert [request["method"] for request in rest].count("GET") == 1
    assert rest[-1]["method"] == "DELETE"


def test_requests_of_2026_07_28_say_in_their_heads_what_they_are(base):
    with wrapping(f"{base}/mcp") as wire:
        session = OverStdio(wire)
        (known,) = session.ask(modern(0, "server/discover"))
        assert "2026-07-28" in known
        session.ask(modern(1, "tools/list"))
        answer = '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}'
        assert session.ask(modern(2, "tools/call", name="say", arguments={"say": [answer]})) == [answer]
        session.ask(modern(3, "resources/read", uri="x:é y"))
        session.ask(modern(4, "x-vendor/unknown"))
    requests = [request for request in told(base) if request["method"] == "POST"]
    for request in requests:
        message = json.loads(request["body"])
        assert request["headers"]["mcp-protocol-version"] == "2026-07-28"
        assert request["headers"]["mcp-method"] == message["method"]
        assert "mcp-session-id" not in request["headers"]
    named = {json.loads(request["body"])["id"]: request["headers"].get("mcp-name") for request in requests}
    assert named[2] == "say" and named[4] is None
    # what a head cannot carry is in base64, as the revision has it
    assert named[3] == "=?base64?eDrDqSB5?="


def test_a_cancellation_in_2026_07_28_closes_the_stream(base):
    with wrapping(f"{base}/mcp") as wire:
        session = OverStdio(wire)
        session.ask(modern(0, "server/discover"))
        session.tell(modern("held", "tools/call", name="hold", arguments={}))
        wire.until(lambda message: message.get("method") == "notifications/message")
        session.tell('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"held"}}')
        with exchange(base, target="/closed?/mcp") as response:
            assert response.status == 200


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_headers_are_added_with_what_the_environment_holds(base, path):
    options = ["--header", "Authorization: Bearer ${TOKEN_FOR_TEST}", "--header", "X-Team: blue"]
    with wrapping(base + path, *options, env={"TOKEN_FOR_TEST": "s3cr et"}) as wire:
        session = OverStdio(wire)
        session.open()
        session.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    requests = told(base)
    assert {request["method"] for request in requests} >= {"POST", "GET"}
    for request in requests:
        assert request["headers"]["authorization"] == "Bearer s3cr et"
        assert request["headers"]["x-team"] == "blue"


def test_a_header_whose_variable_is_not_set_is_an_error_that_names_it(base):
    with wrapping(f"{base}/mcp", "--header", "Authorization: Bearer ${NO_SUCH_VARIABLE}") as wire:
        assert wire.exit_code() != 0
        assert wire.line() == b""
    assert "NO_SUCH_VARIABLE" in wire.stderr()
    assert told(base) == []


def test_a_refusal_is_told_with_its_status_and_the_secret_is_not(base):
    key = uuid.uuid4().hex
    with wrapping(f"{base}/refuse", "--header", f"Authorization: Bearer {key}") as wire:
        session = OverStdio(wire)
        line = {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        (answer,) = session.ask(json.dumps(line))
        error = json.loads(answer)["error"]
        assert "401" in error["message"] and "--header" in error["message"]
        assert json.loads(answer)["id"] == "i"
    assert key not in wire.stderr() and key not in answer


def test_a_stream_that_breaks_off_is_resumed_from_its_last_event(base):
    with wrapping(f"{base}/mcp") as wire:
        session = OverStdio(wire)
        session.open()
        note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.50}}'
        answer = '{"jsonrpc":"2.0","id":5,"result":{"content":[],"x":1.50}}'
        line = {"jsonrpc": "2.0", "id": 5, "method": "tools/call"}
        call = {"name": "say", "arguments": {"say": [note, "@break", note, answer]}}
        assert session.ask(json.dumps(line | {"params": call})) == [note, note, answer]
    resumed = [request for request in told(base) if "last-event-id" in request["headers"]]
    assert [request["method"] for request in resumed] == ["GET"]


def test_a_stream_that_breaks_off_for_good_is_an_error(base):
    with wrapping(f"{base}/mcp") as wire:
        session = OverStdio(wire)
        session.open()
        line = {"jsonrpc": "2.0", "id": 5, "method": "tools/call"}
        call = {"name": "say", "arguments": {"say": ["@break without an id"]}}
        (answer,) = session.ask(json.dumps(line | {"params": call}))
        assert json.loads(answer)["id"] == 5
        assert "error" in json.loads(answer) or json.loads(answer)["result"]["isError"] is True
        ping = '{"jsonrpc":"2.0","id":6,"method":"ping"}'
        assert json.loads(session.ask(ping)[-1])["result"] == {}


def test_pretty_json_becomes_one_line_with_the_same_values(base):
    answer = '{\n  "jsonrpc": "2.0",\r\n\t"id": 7,\n  "result": {"content": [], "n": 1.50, "s": "a\\nb"}\n}'
    with wrapping(f"{base}/json/mcp") as wire:
        session = OverStdio(wire)
        session.open()
        line = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
        (came,) = session.ask(json.dumps(line | {"params": {"name": "say", "arguments": {"say": [answer]}}}))
    assert "\n" not in came and "".join(came.split()) == "".join(answer.split())


@pytest.mark.parametrize("path", ["/mcp", "/json/mcp", "/sse"])
def test_big_results_are_portioned(base, path):
    with wrapping(base + path) as wire:
        session = OverStdio(wire)
        session.open()
        first = lawful(session.call(1, "list_rows")["result"])
        second = lawful(session.call(2, "portion_read", cursor=first.next)["result"])
        assert second.json[0]["id"] != first.json[0]["id"]


def test_a_server_that_is_not_there_is_told_to_each_request():
    with wrapping("http://127.0.0.1:9/mcp") as wire:
        session = OverStdio(wire)
        for number in (1, 2):
            (answer,) = session.ask(f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}')
            assert "127.0.0.1:9" in json.loads(answer)["error"]["message"]

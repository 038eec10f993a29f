"""What a client reads is one JSON message a line, a body or an event, whatever white space the server writes.

The earlier test of `server-memory` (`test_a_big_memory_graph_is_served_in_portions`) missed raw line breaks in the
merged `structuredContent`: its 400 long entities overflow a page, and the first thing done to such a page is to
minify it. A page that fits as it is, like the 50 short entities here, kept the server's indentation. It also read
results through an SDK client, which reports a line that is no JSON only as a log message.
"""

import json

import pytest

from harness.command import PORTION, TYPED_FIXTURE, TYPED_FIXTURE_1, wrapped
from harness.pairing import pairing
from harness.published import MEMORY
from harness.talk import ACCEPT, exchange
from harness.wire import Wire, request

OPTIONS = [[], ["--metadata", "always"], ["--envelope", "wrap"], ["--lean"], ["--metadata-style", "snake", "--rows", "auto"]]
NAMES = [" ".join(options) or "usual" for options in OPTIONS]
ENTITIES = [{"name": f"Guest {n}", "entityType": "guest", "observations": [f"stayed {n} nights"]} for n in range(120)]
TYPED = {"python 1": TYPED_FIXTURE_1, "python 2": TYPED_FIXTURE}


def one_line(line):
    assert line.endswith(b"\n") and not set(line[:-1]) & set(b"\r\n"), line[:300]
    return json.loads(line)


def talked(wire, calls):
    """The answers to calls, each of which must be the very next line."""
    answers = []
    for number, (tool, arguments) in enumerate(calls, 1):
        wire.send(request(number, "tools/call", {"name": tool, "arguments": arguments}))
        answer = one_line(wire.line())
        assert answer["id"] == number, answer
        answers.append(answer["result"])
    return answers


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
def test_a_memory_graph_is_one_line(tmp_path, options):
    home = tmp_path / "home"
    MEMORY.fresh(home)
    command = [PORTION, "wrap", *options, "--", *MEMORY.command(home)]
    with Wire(command, env=MEMORY.env(home)) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        calls = [("create_entities", {"entities": ENTITIES}), ("read_graph", {}), ("open_nodes", {"names": ["Guest 1"]})]
        _, graph, _ = talked(wire, calls)
        assert len(json.dumps(graph)) > 500 and "structuredContent" in graph


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
@pytest.mark.parametrize("sdk", TYPED)
def test_a_typed_model_is_one_line(sdk, options):
    with Wire([PORTION, "wrap", *options, "--", *TYPED[sdk]]) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        calls = [(tool, {"count": count}) for tool in ("list_guests", "list_bare") for count in (1, 20, 120)]
        talked(wire, [*calls, ("add", {"a": 1, "b": 2}), ("is_open", {"count": 1})])


@pytest.mark.parametrize("accept", [ACCEPT, "text/event-stream, application/json"], ids=["json", "stream"])
@pytest.mark.parametrize("options", OPTIONS[:3], ids=NAMES[:3])
def test_bodies_and_events_are_one_message(options, accept):
    with pairing("http", *options, "--", *TYPED["python 2"]) as target:
        fields = [("Content-Type", "application/json"), ("Accept", accept)]

        def post(number, method, parameters, *more):
            with exchange(target["url"], "POST", [*fields, *more], request(number, method, parameters)) as response:
                return response.headers, response.read()

        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        headers, _ = post(0, "initialize", opening)
        session = [("Mcp-Session-Id", headers["Mcp-Session-Id"])]
        post(1, "tools/list", {}, *session)
        for count in (1, 20, 120):
            headers, body = post(2, "tools/call", {"name": "list_guests", "arguments": {"count": count}}, *session)
            if headers["Content-Type"].startswith("text/event-stream"):
                events = [event for event in body.decode().split("\n\n") if "data: {" in event]
                data = [[line for line in event.split("\n") if line.startswith("data:")] for event in events]
                assert all(len(lines) == 1 for lines in data) and "\r" not in body.decode()
                messages = [json.loads(lines[0][5:]) for lines in data]
            else:
                assert not set(body.strip()) & set(b"\r\n")
                messages = [json.loads(body)]
            assert messages[-1]["id"] == 2 and messages[-1]["result"]["structuredContent"]


def test_two_portions_in_a_row_write_one_line():
    with Wire(wrapped(wrapped(TYPED["python 1"]))) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        talked(wire, [("list_guests", {"count": 120})])

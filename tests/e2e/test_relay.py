"""What is no payload is relayed as it came; the process in between dies, drains and refuses as it should."""

import json
import re
import sys
from pathlib import Path

import pytest

from harness.command import FIXTURE, wrapped
from harness.memory import MEBIBYTE, peak_bytes
from harness.waiting import until
from harness.wire import Wire, request


def through(*options, env=None):
    return Wire(wrapped([*FIXTURE, *options]), env=env)


def result(line):
    return json.loads(line)["result"]


def error(line):
    """Portion's own error in a tool's result."""
    assert result(line)["isError"] is True
    return json.loads(result(line)["content"][0]["text"])["error"]


def child_of(wire):
    children = Path(f"/proc/{wire.process.pid}/task/{wire.process.pid}/children").read_text().split()
    every = [task.read_text().split() for task in Path(f"/proc/{wire.process.pid}/task").glob("*/children")]
    return int((children or [pid for pids in every for pid in pids])[0])


def gone(pid):
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"a\\u0062/1","method":"x-fixture/echo","params":{"n":1.50,"big":12345678901234567890}}',
        b'{"id":0,"params":{"deep":[[[{"k":"\\ud800"}]]]},"method":"x-fixture/echo","jsonrpc":"2.0","extra":true}',
        b' { "jsonrpc" : "2.0" , "id" : -7 , "method" : "x-fixture/unknown" } ',
        b'{"jsonrpc":"2.0","id":3,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no_such_tool","arguments":{"limit":5}}}',
    ],
)
def test_unknown_methods_fields_and_ids_come_back_in_the_same_bytes(line):
    answers = []
    for command in (FIXTURE, wrapped(FIXTURE)):
        with Wire(command) as wire:
            # Portion adds instructions.
            opening = re.sub(rb',"instructions":"Ask in the first call:[^"]*"', b"", wire.open("2099-01-01"))
            answers.append((opening, wire.ask(line)))
    direct, by_portion = answers
    assert by_portion == direct


def test_progress_and_cancellation_pass():
    with through() as wire:
        wire.open()
        ask = {"name": "take_steps", "arguments": {}, "_meta": {"progressToken": "t-1"}}
        wire.send(request(1, "tools/call", ask))
        *steps, _ = wire.until(lambda message: message.get("id") == 1)
        assert [json.loads(step)["params"]["progress"] for step in steps] == [1, 2, 3]
        wire.send(request("held", "tools/call", {"name": "hold", "arguments": {}}))
        wire.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"held"}}')
        *before, told = wire.until(lambda message: message.get("method") == "notifications/message")
        assert json.loads(told)["params"]["data"] == "cancelled held"
        # The server answers a cancelled request, too. Its answer is dropped, and later ones pass.
        after = wire.until_answer(request("later", "tools/call", {"name": "take_steps", "arguments": {}}))
        assert not [line for line in before + after if json.loads(line).get("id") == "held"]


def test_a_server_without_tools_gains_ours():
    with through("--without-tools") as wire:
        capabilities = result(wire.open())["capabilities"]
        assert "tools" in capabilities and {"resources", "prompts", "logging"} <= set(capabilities)
        tools = result(wire.ask(request(1, "tools/list", {})))["tools"]
        assert [tool["name"] for tool in tools] == ["portion_read", "portion_query"]


def test_our_tools_end_the_one_list_of_all_pages():
    with through() as wire:
        wire.open()
        whole = result(wire.ask(request(1, "tools/list", {})))
    with through("--tools-per-page", "5") as wire:
        wire.open()
        listed = result(wire.ask(request(1, "tools/list", {})))
    assert listed == whole
    names = [tool["name"] for tool in listed["tools"]]
    assert names[-2:] == ["portion_read", "portion_query"] and len(names) == len(set(names)) > 10


def test_the_schema_is_looked_up_before_controls_are_taken_from_a_call():
    """A client that never listed the tools gets them stripped all the same; the strict server does not see them."""
    with through() as wire:
        wire.open()
        listed = result(wire.call(1, "list_bookings", count=100, limit=5))
        assert not listed.get("isError") and len(json.loads(listed["content"][0]["text"])) == 5


def test_the_end_of_input_ends_the_server_and_passes_its_exit_code():
    with through("--exit-code", "7") as wire:
        wire.open()
        child = child_of(wire)
        wire.close()
        assert wire.exit_code() == 7
        assert wire.line() == b"" and gone(child)


def test_sigterm_leaves_no_orphan():
    with through() as wire:
        wire.open()
        child = child_of(wire)
        wire.terminate()
        wire.exit_code()
        assert wire.line() == b"" and gone(child)


def test_every_pending_request_is_answered_once_when_the_server_dies():
    with through() as wire:
        wire.open()
        for name in ("one", "two"):
            wire.send(request(name, "tools/call", {"name": "hold", "arguments": {}}))
        wire.send(request("three", "tools/call", {"name": "die", "arguments": {}}))
        lines = list(iter(wire.line, b""))
        assert sorted(json.loads(line)["id"] for line in lines) == ["one", "three", "two"]
        assert all("error" in json.loads(line) or result(line)["isError"] for line in lines)
        assert wire.exit_code() == 3


def test_garbage_on_the_servers_stdout_is_survived_and_kept_from_ours():
    with through() as wire:
        wire.open()
        wire.send(request(1, "tools/call", {"name": "garble", "arguments": {}}))
        lines = wire.until(lambda message: message.get("id") == 1)
        assert all(json.loads(line).get("jsonrpc") == "2.0" for line in lines)
        assert result(wire.ask(request(2, "ping", {}))) == {}


GIANT = """
import base64, json, os, sys
def words(n):
    return "".join(f"{n}-{i} worker {i * 7919 % 1009} took {i * i % 8191} ms, " for i in range(32_000))[:1 << 20]
block = {
    "words": words,
    "hex": lambda n: os.urandom(1 << 19).hex(),
    "base64": lambda n: base64.b64encode(os.urandom(3 << 18)).decode(),
}[sys.argv[1]]
blocks = [block(n) for n in range(8)]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    head = '{"jsonrpc":"2.0","id":%s,"result":' % json.dumps(message["id"])
    if message["method"] != "tools/call":
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "giant", "version": "1"}}
        print(head + json.dumps(result) + "}", flush=True)
        continue
    print(head + '{"content":[{"type":"text","text":"', end="")
    for n in range(message["params"]["arguments"]["mebibytes"]):
        print(blocks[n % 8], end="")
    print('"}]}}', flush=True)
"""


@pytest.mark.parametrize(("content", "mebibytes"), [("words", 1024), ("words", 300), ("hex", 300), ("base64", 300)])
def test_a_line_over_the_limit_is_refused_in_bounded_memory(content, mebibytes):
    """What cannot be compressed goes to a temporary file."""
    with Wire(wrapped([sys.executable, "-c", GIANT, content])) as wire:
        wire.open()
        assert error(wire.call(1, "tell", mebibytes=mebibytes))["code"] == "message_too_large"
        assert peak_bytes(wire.process) < 400 * MEBIBYTE
        assert "result" in json.loads(wire.ask(request(2, "ping", {})))


BATCHES = r"""
import json, sys
def answer(message):
    result = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "x" * message["params"]["arguments"]["n"]}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}
for line in sys.stdin:
    message = json.loads(line)
    if isinstance(message, list):
        print(json.dumps([answer(one) for one in message]), flush=True)
    elif "id" in message:
        print(json.dumps(answer(message)), flush=True)
"""


def test_each_request_of_a_batch_over_a_limit_gets_an_error():
    def batch(ids, **arguments):
        calls = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "x", "arguments": arguments}} for number in ids]
        return json.dumps(calls).encode()

    limits = ["--client-message-limit", "64KiB", "--upstream-message-limit", "64KiB"]
    with Wire(wrapped([sys.executable, "-c", BATCHES], *limits)) as wire:
        wire.open("2025-03-26")
        ids = [f"b{number}" for number in range(100)]
        wire.send(batch(ids, n=1, tag="z" * 1000))
        answers = json.loads(wire.line())
        assert [answer["id"] for answer in answers] == ids
        assert {answer["error"]["data"]["error"]["code"] for answer in answers} == {"message_too_large"}
        for line in (b"x" * 100_000, b'{"jsonrpc":"2.0","method":"ping","id":"%b"}' % (b"i" * 100_000)):
            wire.send(line)
            assert json.loads(wire.line())["id"] is None
        wire.send(batch(["c", "d"], n=40_000))
        lines = [wire.line(), wire.line()]
        assert [json.loads(line)["id"] for line in lines] == ["c", "d"]
        assert {error(line)["code"] for line in lines} == {"message_too_large"}
        assert "result" in json.loads(wire.ask(request(2, "ping", {})))


def test_a_server_gets_the_environment_of_the_user():
    """Portion sets variables for its own memory, and a server gets none of them; one that the user set stays."""
    names = ["MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_"]
    script = f"import os, sys; print('got', *map(os.environ.get, {names}), file=sys.stderr); sys.stdin.read()"
    for env, ours, theirs in [({}, ["2", "69632"], "None None"), ({names[0]: "5"}, ["5", None], "5 None")]:
        with Wire(wrapped([sys.executable, "-c", script]), env=env) as wire:
            until(lambda: f"got {theirs}\n" in wire.stderr(), "the server says what it got", told=wire.stderr)
            told = Path(f"/proc/{wire.process.pid}/environ").read_text().split("\0")
            variables = dict(variable.split("=", 1) for variable in told if variable)
            assert [variables.get(name) for name in names] == ours


def test_the_servers_stderr_is_ours():
    with through() as wire:
        wire.open()
        wire.close()
        wire.exit_code()
        while wire.line():
            pass
    assert "fixture: ready" in wire.stderr()


def test_a_message_over_the_limit_gets_an_error_and_the_connection_lives_on():
    with through(env={"PORTION_UPSTREAM_MESSAGE_LIMIT": "4MiB"}) as wire:
        wire.open()
        assert error(wire.call(1, "flood", mebibytes=512))["code"] == "message_too_large"
        assert result(wire.call(2, "fail_briefly"))["isError"] is True
        assert peak_bytes(wire.process) <= 128 * MEBIBYTE


def test_a_snapshot_is_freed_when_it_expires_though_nothing_is_asked():
    command = wrapped(FIXTURE, "--snapshot-ttl", "1s")
    with Wire(command, env={"PORTION_LOG": "debug"}) as wire:
        wire.open()
        assert "nextCursor" in str(result(wire.call(1, "read_text", name="manual")))
        until(lambda: "snapshot expired" in wire.stderr(), "the snapshot expires", seconds=60, told=wire.stderr)


def test_a_command_that_does_not_exist_is_named():
    with Wire(wrapped(["no-such-command-at-all"])) as wire:
        assert wire.exit_code() != 0
        assert wire.line() == b""
    assert "no-such-command-at-all" in wire.stderr()

"""A server that cannot start, or dies at once: the client reads why, in answer to each request, and so does the user."""

import json
import os
import subprocess
import urllib.request

import pytest

from harness.command import RAW_FIXTURE, wrapped
from harness.listening import Listening, served
from harness.talk import OverHttp
from harness.waiting import has_reaped, until
from harness.wire import request as asked

RUNS = int(os.environ.get("DYING_RUNS", "10"))
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n'
)
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}\n'
HELLO = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'

SERVERS = {
    "false": (["false"], 1, ["`false`", "code 1"]),
    "true": (["true"], 0, ["`true`", "code 0"]),
    "boom": (["sh", "-c", "echo boom >&2; exit 3"], 3, ["`sh`", "code 3", "\nboom"]),
    "missing": (["no-such-server"], 1, ["cannot start `no-such-server`: not found on PATH"]),
    "not executable": (["/etc/passwd"], 1, ["cannot start `/etc/passwd`: not executable"]),
    "after a byte": (["sh", "-c", "head -c 1 >/dev/null; echo last >&2; exit 4"], 4, ["code 4", "\nlast"]),
    "by a signal": (["sh", "-c", "kill -9 $$"], 137, ["signal 9"]),
}
# The others do not start, or wait for a byte.
DEAD_AT_ONCE = ["false", "true", "boom", "by a signal"]


def started(command, **more):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def write(process, *lines):
    for line in lines:
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            return


def told(process, code, parts):
    """The one answer that came; the process has ended with this code and one line on stderr."""
    out, err = process.communicate(timeout=60)
    (answer,) = [json.loads(line) for line in out.splitlines()]
    text = answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]
    assert all(part in text for part in parts), text
    ours = [line for line in err.decode().splitlines() if line.startswith("portion:")]
    assert len(ours) == 1 and parts[0] in ours[0] and "\n" not in ours[0], err
    assert process.returncode == code, err
    return answer


@pytest.mark.parametrize("when", ["before", "after", "and leaves"])
@pytest.mark.parametrize("name", SERVERS)
def test_the_client_and_the_user_are_told(name, when):
    command, code, parts = SERVERS[name]
    for _ in range(RUNS):
        process = started(wrapped(command))
        if when == "after" and name in DEAD_AT_ONCE:
            until(lambda: has_reaped(process.pid), "the server has ended")
        write(process, INITIALIZE)
        if when == "and leaves":
            process.stdin.close()
            process.stdin = None
        assert told(process, code, parts)["id"] == 0


def test_a_server_that_dies_after_initialize_answers_no_call_and_portion_does():
    script = f"read a; echo '{HELLO}'; read b; echo gone wrong >&2; exit 9"
    for _ in range(RUNS):
        process = started(wrapped(["sh", "-c", script]))
        write(process, INITIALIZE)
        assert json.loads(process.stdout.readline())["id"] == 0
        write(process, CALL)
        assert told(process, 9, ["`sh`", "code 9", "gone wrong"])["id"] == 1


def test_a_client_that_asks_nothing_leaves_at_once():
    for command in (["false"], ["no-such-server"]):
        process = started(wrapped(command))
        out, err = process.communicate(timeout=60)
        assert out == b"" and err.startswith(b"portion:") and process.returncode == 1


def test_what_is_told_of_stderr_is_little_and_all_of_it_passes():
    script = "i=0; while [ $i -lt 2000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 1"
    process = started(wrapped(["sh", "-c", script]))
    write(process, INITIALIZE)
    out, err = process.communicate(timeout=60)
    message = json.loads(out)["error"]["message"]
    assert len(message) < 2400 and "line 1999" in message and "line 1900" not in message
    assert sum(line.startswith(b"line ") for line in err.splitlines()) == 2000


def test_serve_fails_at_start_where_there_is_no_such_command():
    command = served("--", "no-such-server")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "cannot start `no-such-server`: not found on PATH" in ended.stderr
    assert "listening" not in ended.stderr


@pytest.mark.parametrize("name", ["false", "boom", "after a byte", "by a signal"])
def test_serve_tells_each_request(name):
    command, _, parts = SERVERS[name]
    with Listening(served("--admin", "off", "--", *command)) as server:
        for _ in range(RUNS):
            headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            request = urllib.request.Request(server.url, INITIALIZE, headers)
            with urllib.request.urlopen(request, timeout=60) as response:
                body = response.read().decode()
            message = json.loads(body)["error"]["message"]
            assert all(part in message for part in parts), message


@pytest.mark.parametrize("path", ["/mcp", "/json/mcp", "/sse"])
def test_over_http_nobody_is_told_to_restart_a_server_that_is_lost(path):
    """A client over HTTP cannot start the server, and has not started Portion."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    with Listening([*RAW_FIXTURE, "--http"]) as server, Listening(served("--admin", "off", "--url", server.url + path)) as front:
        session, said = OverHttp(front.url), []
        session.open()
        running = session.asking(asked("held", "tools/call", {"name": "hold", "arguments": {}}).decode())
        if path != "/json/mcp":
            assert "held" in next(running)
        server.process.kill()
        server.process.wait()
        if path != "/json/mcp":
            said += running
        for method, parameters in (
            ("tools/call", {"name": "list_rows", "arguments": {}}),
            ("tools/list", {}),
            ("resources/read", {"uri": "x:y"}),
            ("ping", {}),
            ("initialize", opening),
        ):
            client = OverHttp(front.url) if method == "initialize" else session
            with client.post(asked(1, method, parameters).decode()) as response:
                said.append(response.read().decode())
        with session.get() as response:
            assert response.status != 200
            said.append(response.read().decode())
        assert all("error" in text for text in said), said
        assert not any("restart" in text or "start the" in text for text in said), said

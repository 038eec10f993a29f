"""`portion doctor` finds what is wrong and names the command that fixes it; `portion try` shows the difference."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fixture import corpus
from harness import tokens
from harness.command import FIXTURE, PORTION
from harness.machine import Machine
from harness.peer import Peer
from harness.published import node
from harness.reply import lawful


COSTLY = """
import json, sys
described = "The tool finds the records of one kind by their names and dates. " * 40
tools = [{"name": f"find_{n}", "description": described, "inputSchema": {"type": "object"}} for n in range(40)]
server = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "costly", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"initialize": server, "tools/list": {"tools": tools}}.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    machine.env |= {"PORTION_TELEMETRY": str(tmp_path / "telemetry.db"), "XDG_DATA_HOME": str(tmp_path / "data")}
    return machine


def cursor(machine, **servers):
    path = machine.home / ".cursor/mcp.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def entry(*command, **members):
    program, *arguments = command
    return {"command": program, "args": arguments} | members


def findings(machine, *options, code=0):
    report = json.loads(machine.portion("doctor", "--json", *options, code=code))
    found = report["findings"]
    assert report["errors"] == sum(one["level"] == "error" for one in found) == (code and report["errors"])
    return {(one["check"], one["subject"]): one for one in found}


def typed(machine, finding, code=0, **env):
    """Runs the command of a finding in a shell."""
    env = machine.env | {"PATH": f"{Path(PORTION).parent}:{machine.env['PATH']}"} | env
    done = subprocess.run(["sh", "-c", finding["fix"]], cwd=machine.project, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (finding, done.stdout, done.stderr)
    return done.stdout + done.stderr


def mend(machine, finding, text):
    """Does what a user does with a command that opens an editor."""
    new = machine.folder / "new.txt"
    new.write_text(text)
    typed(machine, finding, EDITOR=f"cp {new}")


def test_a_server_that_is_installed_is_well(machine):
    cursor(machine, fixture=entry(*FIXTURE))
    before = findings(machine)[("wrapped", "fixture (Cursor)")]
    assert before["level"] == "warning"
    machine.run(PORTION, *shlex.split(before["fix"])[1:], "--yes")
    after = findings(machine)
    assert ("wrapped", "fixture (Cursor)") not in after
    started = after[("starts", "fixture (Cursor)")]
    with Peer([PORTION, "wrap", "--telemetry", "off", "--", *FIXTURE]) as peer:
        listed = len(peer.tools()["tools"])
    assert started["level"] == "ok" and f"its list of {listed} tools costs " in started["message"]
    assert not any(machine.folder.glob("telemetry.db*")), "nothing is recorded"


def test_what_does_not_start_is_an_error(machine):
    cursor(
        machine,
        broken=entry(PORTION, "wrap", "--server", "broken", "--", "sh", "-c", "echo no key >&2; exit 3"),
        gone=entry("/no/such/portion", "wrap", "--server", "gone", "--", "sh"),
        asks=entry("sh", env={"KEY": "${input:key}"}),
    )
    found = findings(machine, code=1)
    broken = found[("starts", "broken (Cursor)")]
    assert broken["level"] == "error" and "code 3" in broken["message"] and "no key" in broken["message"]
    assert broken["fix"] == "sh -c 'echo no key >&2; exit 3'" and "no key" in typed(machine, broken, code=3)
    gone = found[("wrapped", "gone (Cursor)")]
    assert gone["level"] == "error" and gone["fix"] == "portion install gone --client cursor"
    assert "${input:key}" in found[("starts", "asks (Cursor)")]["message"]
    assert not any(check == "starts" for check, _ in findings(machine, "--no-start", code=1))
    told = machine.portion("doctor", code=1)
    assert told.startswith("error ") and "2 errors, 1 warning" in told and "\x1b" not in told


def test_a_file_that_the_client_wrote_again_is_noticed(machine):
    path = cursor(machine, fixture=entry(*FIXTURE), other=entry(*FIXTURE))
    machine.portion("install", "--yes")
    cursor(machine, fixture=entry(*FIXTURE))
    found = findings(machine, "--no-start")
    dropped = found[("dropped", "fixture (Cursor)")]
    assert dropped["level"] == "warning" and dropped["fix"] == "portion install fixture --client cursor"
    assert found[("dropped", "other (Cursor)")]["level"] == "info"
    path.write_text('{\n"mcpServers": }')
    broken = findings(machine, "--no-start", code=1)[("client-file", str(path))]
    assert "line 2" in broken["message"]
    mend(machine, broken, '{"mcpServers": {}}')
    assert ("client-file", str(path)) not in findings(machine, "--no-start")


def test_the_configuration_is_checked(machine):
    file = machine.project / "portion.yaml"
    file.write_text("endpoints:\n  list_*: {pageSize: 10}\n  lost_tool: {pageSize: 10}\n")
    cursor(machine, fixture=entry(*FIXTURE))
    found = findings(machine)
    assert ("rule", "endpoints: list_*") not in found
    lost = found[("rule", "endpoints: lost_tool")]
    assert lost["level"] == "warning" and lost["message"].startswith("portion.yaml:3:15: ")
    assert "did you mean" not in lost["message"]
    mend(machine, lost, "endpoints:\n  serch_bookings: {pageSize: 10}\nupstreams:\n  fixture:\n    command: [cat]\n"
         "    endpoints:\n      list_*: {pageSize: 5}\n      nosuch_tool: {pageSize: 5}\n")
    found = findings(machine)
    assert ("rule", "endpoints: lost_tool") not in found
    assert "did you mean search_bookings?" in found[("rule", "endpoints: serch_bookings")]["message"]
    assert ("rule", "upstreams.fixture.endpoints: nosuch_tool") in found
    assert ("rule", "upstreams.fixture.endpoints: list_*") not in found
    file.write_text("pageSise: 10\n")
    invalid = findings(machine, code=1)[("configuration", "configuration")]
    assert "portion.yaml:1:1" in invalid["message"] and invalid["fix"] == "portion config check"
    assert "pageSise" in typed(machine, invalid, code=2)
    refused = machine.portion("try", "--tool", "list_bookings", "--", *FIXTURE, code=2)
    assert "portion.yaml:1:1" in refused and "ended" not in refused


def test_oversized_results_are_listed(machine):
    telemetry = machine.env["PORTION_TELEMETRY"]
    assert findings(machine, "--no-start")[("records", telemetry)]["level"] == "info"
    with Peer([PORTION, "wrap", "--", *FIXTURE], env={"PORTION_TELEMETRY": telemetry}) as peer:
        lawful(peer.call("list_bookings"))
        peer.call("get_small_booking")
    found = findings(machine, "--no-start")
    oversized = found[("oversized", "list_bookings")]
    assert "1 of 1 results" in oversized["message"]
    assert "list_bookings" in machine.run(PORTION, *shlex.split(oversized["fix"])[1:])
    assert ("oversized", "get_small_booking") not in found
    (machine.folder / "telemetry.db").write_bytes(b"no database" * 1000)
    damaged = findings(machine, "--no-start", code=1)[("records", telemetry)]
    assert damaged["level"] == "error"
    typed(machine, damaged)
    assert findings(machine, "--no-start")[("records", telemetry)]["level"] == "info"


@pytest.mark.parametrize("text", [None, "hardCap: 9000"])
def test_a_costly_list_of_tools_is_made_shorter_by_its_command(machine, text):
    costly = machine.folder / "costly.py"
    costly.write_text(COSTLY)
    cursor(machine, costly=entry(PORTION, "wrap", "--server", "costly", "--", sys.executable, str(costly)))
    file = machine.home / ".config/portion/portion.yaml"
    if text is not None:
        file.parent.mkdir(parents=True)
        file.write_text(text)
    found = findings(machine)[("catalogue", "costly (Cursor)")]
    assert found["level"] == "warning" and "tokens (o200k)" in found["message"]
    mend(machine, found, "catalog: lazy\n")
    assert findings(machine)[("starts", "costly (Cursor)")]["level"] == "ok"


def test_a_machine_without_clients_is_told_what_to_do(machine):
    none = findings(machine)[("clients", "clients")]
    assert "--file" in typed(machine, none)


def test_try_shows_both(machine):
    told = json.loads(machine.portion("try", "--json", "--tool", "list_bookings", "--", *FIXTURE).partition("fixture:")[0])
    (call,) = told["calls"]
    assert call["directly"]["tokens"] == tokens.count(corpus.bookings())
    assert call["directly"]["bytes"] > 20 * call["portion"]["bytes"]
    text = machine.portion("try", "--tool", "list_bookings", "--", *FIXTURE)
    assert "72,449 tokens" in text and " times fewer" in text and "BK-0001" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert not any(machine.folder.glob("telemetry.db*")), "nothing is recorded"


def test_try_calls_only_what_reads(machine):
    everything = node("server-everything", "stdio")
    told = machine.portion("try", "--tool", "echo", "--args", '{"message": "hi"}', "--", *everything)
    assert "small: not shortened" in told
    assert "--allow-writes" in machine.portion("try", "--tool", "toggle-simulated-logging", "--", *everything, code=1)
    assert "requires message" in machine.portion("try", "--tool", "echo", "--", *everything, code=1)
    assert "ended before it answered initialize" in machine.portion("try", "--", "false", code=1)


def test_a_shared_store_that_does_not_answer_is_an_error(machine):
    (machine.home / "cursor.keys").write_text("A" * 43 + "=\n")
    file = machine.home / "portion.yaml"
    file.write_text("store: redis://127.0.0.1:9\ncursorKeys: cursor.keys\n")
    found = findings(machine, "--config", str(file), code=1)
    [store] = [one for (check, _), one in found.items() if check == "store"]
    assert store["level"] == "error" and "cannot be used" in store["message"], store
    assert store["subject"] == "redis://127.0.0.1:9", store

"""`portion install`: the real clients add their servers, Portion wraps them, and the clients still read and start them."""

import json
import os
import pty
import shutil
import subprocess
import tomllib

import pytest

from fixture import corpus
from harness.command import FIXTURE, PORTION, SDK_FIXTURE
from harness.machine import Machine
from harness.pairing import Listening
from harness.peer import Peer
from harness.reply import exact, lawful, pages_joined

WRAPPED = [PORTION, "wrap", "--server", "fixture", "--", *FIXTURE]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def start(entry, project):
    """The server of an entry, as a client starts it: by the official SDK."""
    return Peer([entry["command"], *entry["args"]], env=entry.get("env"), cwd=project)


def first_object(text):
    """The JSON object in an output that also has warnings."""
    return json.JSONDecoder().raw_decode(text, text.index("{"))[0]


def serves_portions(entry, project):
    with start(entry, project) as peer:
        first = lawful(peer.call("list_bookings"))
        assert first.next, "a page, not the whole"
        assert pages_joined(peer, first) == exact(corpus.bookings())


def test_claude_code_keeps_and_starts_its_servers(machine):
    for scope in ("user", "local", "project"):
        machine.client("claude", "mcp", "add", "-s", scope, f"fixture-{scope}", "--", *FIXTURE)
    machine.client("claude", "mcp", "add", "-s", "user", "--transport", "http", "remote", "https://127.0.0.1:9/mcp")
    files = [machine.home / ".claude.json", machine.project / ".mcp.json"]
    before = [json.loads(file.read_text()) for file in files]
    told = machine.portion("install", "--yes")
    assert told.count(": wrapped\n") == 2 and "--http" in told
    assert machine.portion("install", "--project", "--yes").count(": wrapped\n") == 1
    entry = json.loads(files[1].read_text())["mcpServers"]["fixture-project"]
    assert entry["command"] == "portion", "others have it elsewhere"
    listed = machine.client("claude", "mcp", "list")
    for scope in ("user", "local"):
        line = next(line for line in listed.splitlines() if line.startswith(f"fixture-{scope}:"))
        assert f"{PORTION} wrap --server fixture-{scope} -- " in line
        assert "Connected" in line, "Claude Code started the server through Portion"
    assert "https://127.0.0.1:9/mcp" in listed
    serves_portions(json.loads(files[0].read_text())["mcpServers"]["fixture-user"], machine.project)
    machine.portion("uninstall", "--yes")
    after = [json.loads(file.read_text()) for file in files]
    # Claude Code has written its file since: counters of its own may differ.
    assert after[0]["mcpServers"] == before[0]["mcpServers"]
    project = str(machine.project)
    assert after[0]["projects"][project]["mcpServers"] == before[0]["projects"][project]["mcpServers"]
    assert after[1] == before[1]
    assert PORTION not in machine.client("claude", "mcp", "list")


def test_codex_reads_what_was_written(machine):
    machine.client("codex", "mcp", "add", "fixture", "--env", "A=b", "--", *FIXTURE)
    file = machine.home / ".codex/config.toml"
    before = file.read_bytes()
    machine.portion("install", "--client", "codex", "--yes")
    entry = first_object(machine.client("codex", "mcp", "get", "fixture", "--json"))["transport"]
    assert [entry["command"], *entry["args"]] == WRAPPED and entry["env"] == {"A": "b"}
    serves_portions(tomllib.loads(file.read_text())["mcp_servers"]["fixture"], machine.project)
    machine.portion("uninstall", "--yes")
    assert file.read_bytes() == before


def test_gemini_reads_what_was_written(machine):
    program, *arguments = FIXTURE
    machine.client("gemini", "mcp", "add", "-s", "user", "fixture", program, *arguments)
    file = machine.home / ".gemini/settings.json"
    before = file.read_bytes()
    machine.portion("install", "--client", "gemini-cli", "--yes")
    assert f"fixture: {' '.join(WRAPPED)} (stdio)" in machine.client("gemini", "mcp", "list")
    serves_portions(json.loads(file.read_text())["mcpServers"]["fixture"], machine.project)
    machine.portion("uninstall", "--yes")
    assert file.read_bytes() == before


def test_the_name_of_the_server_is_recorded(machine):
    file = machine.project / "servers.json"
    program, *arguments = FIXTURE
    file.write_text(json.dumps({"mcpServers": {"my server": {"command": program, "args": arguments}}}))
    machine.portion("install", "--file", "servers.json", "--yes")
    entry = json.loads(file.read_text())["mcpServers"]["my server"]
    telemetry = str(machine.home / "telemetry.db")
    with start(entry | {"env": {"PORTION_TELEMETRY": telemetry}}, machine.project) as peer:
        lawful(peer.call("list_bookings"))
    told = machine.portion("stats", "--telemetry", telemetry, "--requests", "--format", "json")
    assert "my server" in told


def test_a_server_with_a_url_is_wrapped_on_request(machine):
    file = machine.home / ".cursor/mcp.json"
    file.parent.mkdir()
    with Listening([*SDK_FIXTURE, "--http"]) as server:
        servers = {"remote": {"type": "http", "url": f"{server.url}/mcp", "headers": {"X-Team": "a $b"}}}
        file.write_text(json.dumps({"mcpServers": servers}))
        before = file.read_bytes()
        assert "add --http" in machine.portion("install", "--yes")
        assert file.read_bytes() == before
        told = machine.portion("install", "--http", "--yes")
        assert "OAuth" in told and "become variables" in told
        entry = json.loads(file.read_text())["mcpServers"]["remote"]
        assert entry["type"] == "stdio" and "X-Team: ${MCP_HEADER_X_TEAM}" in entry["args"]
        assert entry["env"] == {"MCP_HEADER_X_TEAM": "a $b"}
        with start(entry, machine.project) as peer:
            assert lawful(peer.call("list_bookings", count=70)).next
    machine.portion("uninstall", "--yes")
    assert file.read_bytes() == before


def write_servers(machine):
    path = machine.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{ // mine\n  "mcpServers": {"a": {"command": "x"}}\n}')
    return path


def test_nothing_is_written_without_consent(machine):
    path = write_servers(machine)
    before = path.read_bytes()
    told = machine.portion("install", "--dry-run")
    assert '+  "mcpServers": {"a": {"command": "' + PORTION in told and "Nothing was written." in told
    assert "--yes" in machine.portion("install", code=2)
    told = json.loads(machine.portion("install", "--dry-run", "--json"))
    assert told["written"] is False
    assert told["files"][0]["servers"][0] | {"after": None} == {
        "name": "a", "scope": None, "line": 2, "status": "wrapped", "reason": None, "before": ["x"], "after": None,
        "offeredProfile": None,
    }
    for answer, code in ((b"n\n", 1), (b"\n", 1), (b"y\n", 0)):
        assert path.read_bytes() == before
        assert on_a_terminal(machine, answer, "install")[0] == code
    assert PORTION.encode() in path.read_bytes()


def ends(machine, *arguments, **streams):
    """The exit code and the stderr of a command with these streams."""
    done = subprocess.run([PORTION, *arguments], cwd=machine.project, env=machine.env, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=60, **streams)
    return done.returncode, done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_stdout_that_cannot_be_written_stops_no_edit(machine, options):
    path = write_servers(machine)
    before = path.read_bytes()
    reader, writer = os.pipe()
    os.close(reader)
    assert ends(machine, "install", "--yes", *options, stdout=writer) == (0, "")
    os.close(writer)
    assert PORTION.encode() in path.read_bytes()
    with open("/dev/full", "w") as full:
        code, told = ends(machine, "uninstall", "--yes", *options, stdout=full)
        assert code == 1 and "the files were changed, but stdout cannot be written: No space left" in told
        assert path.read_bytes() == before
        code, told = ends(machine, "config", "init", *options, stdout=full)
        assert code == 1 and "portion.schema.json were written, but stdout cannot be written: No space left" in told
        assert (machine.project / "portion.yaml").exists()


def test_consequences_are_said_before_the_question(machine):
    path = machine.project / ".mcp.json"
    servers = {"remote": {"type": "http", "url": "https://127.0.0.1:9/mcp", "headers": {"X-Team": "a"}}}
    path.write_text(json.dumps({"mcpServers": servers}))
    code, told = on_a_terminal(machine, b"n\n", "install", "--project", "--http")
    asked = told.index("[y/N]")
    assert code == 1
    for consequence in ("does not sign in", "become variables", "belongs to a project"):
        assert 0 <= told.index(consequence) < asked
    plan = json.loads(machine.portion("install", "--project", "--http", "--dry-run", "--json"))
    assert [note.split(" ")[0] for note in plan["files"][0]["notes"]] == ["this", "Portion", "the"]
    servers["remote"] = {"command": "x"}
    path.write_text(json.dumps({"mcpServers": servers}))
    plan = json.loads(machine.portion("install", "--project", "--http", "--dry-run", "--json"))
    assert [note.split(" ")[0] for note in plan["files"][0]["notes"]] == ["this"]


def test_a_profile_is_offered_and_set(machine):
    file = machine.project / "servers.json"
    servers = {"rentals": {"command": "uvx", "args": ["hostaway-mcp"]}, "git": {"command": "uvx", "args": ["mcp-server-git"]}}
    file.write_text(json.dumps({"mcpServers": servers}, indent=2))
    before = file.read_bytes()
    told = machine.portion("install", "--file", "servers.json", "--yes")
    assert "portion install rentals --profile hostaway" in told and "install git --profile" not in told
    told = first_object(machine.portion("install", "--file", "servers.json", "--dry-run", "--json"))
    assert [server["offeredProfile"] for server in told["files"][0]["servers"]] == ["hostaway", None]
    machine.portion("install", "rentals", "--profile", "hostaway", "--file", "servers.json", "--yes")
    arguments = ["wrap", "--profile", "hostaway", "--server", "rentals", "--", "uvx", "hostaway-mcp"]
    assert json.loads(file.read_text())["mcpServers"]["rentals"]["args"] == arguments
    assert "is for it" not in machine.portion("install", "--file", "servers.json", "--yes")
    machine.portion("install", "rentals", "--profile", "lean", "--file", "servers.json", "--yes")
    assert json.loads(file.read_text())["mcpServers"]["rentals"]["args"][2] == "lean"
    machine.portion("uninstall", "--file", "servers.json", "--yes")
    assert file.read_bytes() == before
    machine.portion("install", "--profile", "nosuch", "--file", "servers.json", code=2)


def test_options_are_checked_and_their_change_is_said(machine):
    file = machine.project / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}))
    machine.portion("install", "--file", "servers.json", "--yes", "--redact")
    arguments = ["wrap", "--redact", "secrets", "--server", "git", "--", "uvx", "mcp-server-git"]
    assert json.loads(file.read_text())["mcpServers"]["git"]["args"] == arguments
    assert "updated: its options were others" in machine.portion("install", "--file", "servers.json", "--yes", "--redact", "a,b")
    assert json.loads(file.read_text())["mcpServers"]["git"]["args"][2] == "a,b"
    machine.portion("install", "--file", "servers.json", "--yes", "--redact", "", code=2)


def test_a_second_install_says_why_nothing_changes(machine):
    write_servers(machine)
    assert "a: unchanged: Portion is not in front of it" in machine.portion("uninstall", "--yes")
    machine.portion("install", "--yes")
    assert "a: unchanged: Portion is in front of it" in machine.portion("install", "--yes")


@pytest.mark.parametrize("value", ["null", "[]"])
def test_a_key_without_servers_is_named(machine, value):
    path = write_servers(machine)
    path.write_text(f'{{"mcpServers": {value}}}')
    for command in (["install", "--yes"], ["uninstall", "--yes"]):
        assert "  mcpServers: skipped: it is not an object with servers\n" in machine.portion(*command)
    assert "mcpServers (Cursor)\n        cannot be wrapped: it is not an object with servers\n" in machine.portion("doctor", "--no-start")
    assert path.read_text() == f'{{"mcpServers": {value}}}'


def test_the_change_of_a_file_without_line_ends_is_shown(machine):
    path = machine.home / ".claude.json"
    history = [f"a question, with {{brackets}} {n}" for n in range(50)]
    text = json.dumps({"history": history, "mcpServers": {"git": {"command": "uvx", "args": ["x"]}}}, separators=(",", ":"))
    path.write_text(text)
    told = machine.portion("install", "--dry-run")
    assert f'-"command":"uvx",\n+"command":"{PORTION}",' in told and '+"--",\n+"uvx",\n "x"\n' in told and "more characters" not in told
    assert path.read_text() == text


def on_a_terminal(machine, answer, *arguments):
    """The exit code and the output of a command that reads this from a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(machine.project)
        os.execve(PORTION, [PORTION, *arguments], machine.env)
    os.write(terminal, answer)
    told = b""
    try:
        while said := os.read(terminal, 4096):
            told += said
    except OSError:
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told.decode()


def test_an_error_names_the_file_the_line_and_the_next_step(machine):
    path = write_servers(machine)
    before = path.read_bytes()
    assert "no server b in" in machine.portion("install", "b", "--yes", code=1)
    assert "did you mean a?" in machine.portion("install", "aa", "--yes", code=1)
    assert "searched" in machine.portion("install", "--client", "zed", "--yes", code=1)
    assert "[possible values: claude-desktop, " in machine.portion("install", "--client", "emacs", code=2)
    bad = machine.home / ".gemini/settings.json"
    bad.parent.mkdir()
    bad.write_text('{\n  "mcpServers": {,\n}')
    told = machine.portion("install", "--yes", code=1)
    assert f"{bad}:2:18: " in told and "--client" in told
    assert path.read_bytes() == before


def test_a_program_that_uninstall_would_not_recognise_is_not_written(machine):
    path = write_servers(machine)
    before = path.read_bytes()
    renamed = shutil.copy(PORTION, machine.folder / "gateway")
    assert "name the program portion" in machine.run(renamed, "install", "--yes", code=1)
    assert path.read_bytes() == before


def test_no_configuration_is_no_server(machine):
    told = machine.portion("install", "--yes", code=1)
    assert "--file" in told


def test_output_for_a_pipe_has_no_colours(machine):
    write_servers(machine)
    del machine.env["NO_COLOR"]
    assert "\x1b" not in machine.portion("install", "--dry-run")


def test_a_configured_server_is_chosen_by_its_name(machine):
    servers = {name: {"command": [*FIXTURE]} for name in ("one", "two")}
    (machine.project / "portion.json").write_text(json.dumps({"upstreams": servers}))
    with Peer([PORTION, "wrap", "--server", "two"], cwd=machine.project) as peer:
        assert lawful(peer.call("list_bookings")).next
    told = machine.portion("wrap", code=2)
    assert "one, two: choose one with --server NAME" in told
    assert "has no server three, but one, two" in machine.portion("wrap", "--server", "three", code=2)


def test_a_terminal_is_told_that_a_client_is_missing(machine):
    _, told = on_a_terminal(machine, b"\x04", "wrap", *FIXTURE)
    assert "waiting for an MCP client" in told and "portion try -- " in told
    with Peer([PORTION, "wrap", *FIXTURE], cwd=machine.project) as peer:
        assert lawful(peer.call("list_bookings")).next
    assert "waiting" not in peer.said()


def test_completions_and_manual_pages_are_written(machine):
    for shell in ("bash", "elvish", "fish", "powershell", "zsh"):
        assert "uninstall" in machine.portion("completions", shell)
    machine.run("bash", "-n", "-c", machine.portion("completions", "bash"))
    fish = machine.portion("completions", "fish")
    assert "copilot-cli" in fish and "o200k" in fish, "the values of options are completed"
    machine.portion("man", "--dir", "pages")
    pages = {page.name for page in (machine.project / "pages").iterdir()}
    assert {"portion.1", "portion-wrap.1", "portion-config-check.1"} <= pages
    assert (machine.project / "pages/portion.1").read_text() == machine.portion("man")

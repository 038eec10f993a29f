"""`portion doctor` finds what is wrong and names the command that fixes it; `portion try` shows the difference."""

import json
import math
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fixture import corpus
from harness import tokens
from harness.command import CLIENT_BIN, E2E, FIXTURE, PORTION, SDK_FIXTURE, with_sdk, wrapped
from harness.machine import Machine
from harness.pairing import Listening
from harness.peer import Peer
from harness.published import node
from harness.recorded import Recorded
from harness.reply import lawful
from harness.waiting import until


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
    assert broken["reproduce"] == "sh -c 'echo no key >&2; exit 3'"
    assert "no key" in typed(machine, broken | {"fix": broken["reproduce"]}, code=3)
    assert broken["fix"] == f"${{EDITOR:-vi}} {machine.home}/.cursor/mcp.json"
    gone = found[("wrapped", "gone (Cursor)")]
    assert gone["level"] == "error" and gone["fix"] == "portion install gone --client cursor"
    assert "${input:key}" in found[("starts", "asks (Cursor)")]["message"]
    assert not any(check == "starts" for check, _ in findings(machine, "--no-start", code=1))
    told = machine.portion("doctor", code=1)
    assert told.startswith("error ") and "2 errors, 1 warning" in told and "\x1b" not in told


SERVER = """
import json, os, sys
if os.environ.get("MODE") != "a b" or os.environ.get("FROM_FILE") != "1" or not os.path.exists("here"):
    sys.exit("not as the client starts it: " + str(sorted(os.environ)))
print("a greeting")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        server = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        result = {"initialize": server, "tools/list": {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result.get(message["method"], {})}), flush=True)
"""


def test_a_server_is_started_as_its_client_does(machine):
    (machine.folder / "server.py").write_text(SERVER)
    (machine.project / "sub").mkdir()
    (machine.project / "sub/here").touch()
    (machine.project / ".env").write_text("# for the server\nFROM_FILE=1\n")
    command = [sys.executable, "${workspaceFolder}/../server.py"]
    members = {"env": {"MODE": "a b"}, "envFile": "${workspaceFolder}/.env", "cwd": "sub"}
    cursor(machine, direct=entry(*command, **members),
           wrapped=entry(PORTION, "wrap", "--server", "wrapped", "--", *command, **members),
           bare=entry(*command, env={"API_KEY": "s3cret", "MODE": "${MODE:-c d}"}), off=entry("nosuch", disabled=True),
           lost=entry(*command, cwd="nosuch"), no_file=entry(*command, envFile="nosuch.env"), absent=entry("no-such-program"))
    found = findings(machine, code=1)
    direct = found[("starts", "direct (Cursor)")]
    assert direct["level"] == "ok" and "its list of 1 tool " in direct["message"] and "`a greeting`" in direct["message"]
    assert "its list of 3 tools" in found[("starts", "wrapped (Cursor)")]["message"]
    assert found[("disabled", "off (Cursor)")]["level"] == "info" and ("starts", "off (Cursor)") not in found
    bare = found[("starts", "bare (Cursor)")]
    assert "not as the client starts it" in bare["message"], "the end of stderr"
    assert bare["reproduce"].startswith('API_KEY="${API_KEY:?}" MODE="${MODE:-c d}" ') and "s3cret" not in json.dumps(found[("starts", "bare (Cursor)")])
    assert "API_KEY" in typed(machine, bare | {"fix": bare["reproduce"]}, code=2), "the shell says what is not set"
    assert "'MODE'" in typed(machine, bare | {"fix": bare["reproduce"]}, code=1, API_KEY="x")
    file = f"{machine.home}/.cursor/mcp.json"
    for name, why in (("lost", "/nosuch does not exist"), ("no_file", "its envFile"), ("absent", "not found on PATH")):
        one = found[("starts", f"{name} (Cursor)")]
        assert one["level"] == "error" and why in one["message"] and one["fix"] == f"${{EDITOR:-vi}} {file}"


def test_the_variables_of_an_entry_stand_for_themselves(machine):
    with Listening([*SDK_FIXTURE, "--http"]) as server:
        remote = {"type": "http", "url": f"{server.url}/mcp", "headers": {"X-Team": "a"}}
        cursor(machine, remote=remote)
        machine.portion("install", "--http", "--yes")
        assert findings(machine)[("starts", "remote (Cursor)")]["level"] == "ok"


def test_the_options_of_an_entry_count_for_its_limits(machine):
    file = machine.home / ".codex/config.toml"
    file.parent.mkdir()
    entries = {"plain": [], "listed": ["--preset", "codex-gpt"], "wide": ["--hard-byte-limit", "100KiB"]}
    lines = [f"[mcp_servers.{name}]\ncommand = {json.dumps(PORTION)}\nargs = {json.dumps(['wrap', *options, '--server', name, '--', *FIXTURE])}\n"
             for name, options in entries.items()]
    file.write_text("".join(lines))
    found = findings(machine, "--no-start")
    limits = {subject: (one["level"], one["message"]) for (check, subject), one in found.items() if check == "client-limits"}
    below = {"Codex": ("ok", "10,821"), "listed (Codex)": ("ok", "43,221"), "wide (Codex)": ("warning", "102,400")}
    assert limits.keys() == below.keys()
    for subject, (level, message) in limits.items():
        assert level == below[subject][0] and f"stay below {below[subject][1]} bytes" in message


def test_entries_that_a_user_wrote_are_mended_by_the_user(machine):
    path = cursor(
        machine,
        gone=entry("/gone/portion", "wrap", "--", "cat"),
        option=entry(PORTION, "wrap", "--no-such-option", "--", "cat"),
        slow=entry("sleep", "60"),
        url=entry(PORTION, "wrap", "--server", "url", "--url", "http://127.0.0.1:9/mcp"),
    )
    found = findings(machine, "--timeout", "2", code=1)
    gone = found[("wrapped", "gone (Cursor)")]
    assert "/gone/portion does not exist: write another path in line 1" in gone["message"]
    mend(machine, gone, json.dumps({"mcpServers": {"gone": entry(PORTION, "wrap", "--", *FIXTURE)}}))
    assert findings(machine)[("starts", "gone (Cursor)")]["level"] == "ok"
    assert "--no-such-option" in found[("starts", "option (Cursor)")]["message"]
    assert found[("starts", "slow (Cursor)")]["fix"] == "portion doctor --timeout 120"
    assert found[("starts", "url (Cursor)")]["fix"] == f"${{EDITOR:-vi}} {path}"


def test_a_server_that_codex_does_not_start_is_left(machine):
    path = machine.home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text("[mcp_servers.off]\ncommand = 'nosuch'\nenabled = false\n")
    found = findings(machine)
    assert found[("disabled", "off (Codex)")]["level"] == "info"
    assert not {("wrapped", "off (Codex)"), ("starts", "off (Codex)")} & found.keys()


@pytest.mark.parametrize("text", ["[]", "null"])
def test_a_file_without_an_object_is_an_error(machine, text):
    path = machine.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(text)
    wrong = findings(machine, "--no-start", code=1)[("client-file", str(path))]
    assert "expected an object" in wrong["message"]
    refused = machine.portion("install", "--yes", code=1)
    assert f"{path}:1:1: expected an object" in refused and path.read_text() == text


@pytest.mark.parametrize("kind, reason", [("link", "Too many levels of symbolic links"), ("file", "Not a directory")])
def test_a_directory_that_cannot_be_read_is_named(machine, kind, reason):
    folder = machine.home / ".cursor"
    if kind == "link":
        folder.symlink_to(".cursor")
    else:
        folder.write_text("")
    path = folder / "mcp.json"
    unreadable = findings(machine, "--no-start", code=1)[("client-file", str(path))]
    assert unreadable["level"] == "error" and reason in unreadable["message"]
    for command in ("install", "uninstall"):
        assert f"cannot read {path}: {reason}" in machine.portion(command, "--yes", code=1)


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
    assert "portion.yaml:1:1" in invalid["message"]
    refused = machine.portion("try", "--tool", "list_bookings", "--", *FIXTURE, code=2)
    assert "portion.yaml:1:1" in refused and "ended" not in refused
    mend(machine, invalid, "hardCap: 9000\n")
    assert ("configuration", "configuration") not in findings(machine)
    machine.env["PORTION_HARD_CAP"] = "many"
    assert findings(machine, code=1)[("configuration", "configuration")]["fix"] == "unset PORTION_HARD_CAP"
    del machine.env["PORTION_HARD_CAP"]
    file.unlink()
    file.mkdir()
    directory = findings(machine, code=1)[("configuration", "configuration")]
    assert "Is a directory" in directory["message"]
    typed(machine, directory)
    assert ("configuration", "configuration") in findings(machine)


def test_oversized_results_name_their_server(machine):
    telemetry = machine.env["PORTION_TELEMETRY"]
    for server in (["--server", "a"], ["--server", "b"], []):
        with Peer([PORTION, "wrap", *server, "--", *FIXTURE], env={"PORTION_TELEMETRY": telemetry}) as peer:
            lawful(peer.call("list_bookings"))
    found = findings(machine, "--no-start")
    for subject, server in {"a/list_bookings": "a", "b/list_bookings": "b", "list_bookings": None}.items():
        oversized = found[("oversized", subject)]
        assert "1 of 1 results" in oversized["message"]
        rows = json.loads(machine.run(PORTION, *shlex.split(oversized["fix"])[1:], "--json"))
        assert [row["upstream"] for row in rows] == [server], subject


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
    # A file that the user has named may be one of another program.
    (machine.folder / "telemetry.db").write_bytes(b"no database" * 1000)
    foreign = findings(machine, "--no-start", code=1)[("records", telemetry)]
    assert foreign["level"] == "error" and foreign["fix"] == "unset PORTION_TELEMETRY"
    machine.env["PORTION_TELEMETRY"] = str(machine.folder)
    folder = findings(machine, "--no-start", code=1)[("records", str(machine.folder))]
    assert folder["fix"] == "unset PORTION_TELEMETRY"
    (machine.project / "portion.yaml").write_text(f"telemetry: {telemetry}\n")
    del machine.env["PORTION_TELEMETRY"]
    configured = findings(machine, "--no-start", code=1)[("records", telemetry)]
    mend(machine, configured, "hardCap: 9000\n")
    default = machine.folder / "data/portion/telemetry.db"
    default.parent.mkdir(parents=True, exist_ok=True)
    default.write_bytes(b"no database" * 1000)
    damaged = findings(machine, "--no-start", code=1)[("records", str(default))]
    typed(machine, damaged)
    assert findings(machine, "--no-start")[("records", str(default))]["level"] == "info"


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


def test_a_server_with_the_tools_of_a_profile_is_offered_it(machine):
    cursor(machine, rentals=entry(*with_sdk("fixture/rentals.py")))
    offer = findings(machine)[("profile", "rentals (Cursor)")]
    assert offer["level"] == "info" and "profile hostaway" in offer["message"]
    machine.run(PORTION, *shlex.split(offer["fix"])[1:], "--yes")
    after = findings(machine)
    assert ("profile", "rentals (Cursor)") not in after and after[("starts", "rentals (Cursor)")]["level"] == "ok"


def test_try_fills_arguments_as_check_does(machine):
    server = with_sdk("fixture/rentals.py")
    # Warnings come after the object.
    report = lambda command: json.JSONDecoder().raw_decode(machine.portion(command, "--json", "--", *server).lstrip())[0]  # noqa: E731
    tried, checked = report("try"), report("check")
    names = [call["tool"] for call in tried["calls"]]
    assert names == [tool["tool"] for tool in checked["tools"]][:8] and len(names) == 8


def test_try_counts_what_a_client_shows_of_both_forms(machine):
    server = [str(CLIENT_BIN / "python"), str(E2E / "fixture/both_forms.py"), "beside"]
    (call,) = json.JSONDecoder().raw_decode(machine.portion("try", "--json", "--", *server).lstrip())[0]["calls"]
    assert call["directly"]["tokens"] > 20_000 > 10 * call["portion"]["tokens"]
    text = machine.portion("try", "--", *server)
    assert " times fewer" in text and "not shortened" not in text


def test_try_calls_what_the_directory_of_a_command_allows(machine):
    notes = machine.project / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("tiny")
    text = machine.portion("try", "--", *node("server-filesystem"), str(notes))
    assert "directory_tree(" in text and "search_files(" in text
    assert "small results stay as they are, and portion demo shows large ones" in " ".join(text.split())


def test_try_shows_both(machine):
    told = json.loads(machine.portion("try", "--json", "--tool", "list_bookings", "--", *FIXTURE).partition("fixture:")[0])
    (call,) = told["calls"]
    assert call["directly"]["tokens"] == tokens.count(corpus.bookings())
    # A page uses its budget of tokens, whatever its bytes.
    assert call["directly"]["tokens"] > 20 * call["portion"]["tokens"]
    assert call["directly"]["bytes"] > 17 * call["portion"]["bytes"]
    text = machine.portion("try", "--tool", "list_bookings", "--", *FIXTURE)
    assert "72,449 tokens" in text and " times fewer" in text and "BK-0001" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert not any(machine.folder.glob("telemetry.db*")), "nothing is recorded"


def test_every_command_has_the_same_size_of_one_file_and_names_the_counter(machine, tmp_path):
    file, records = tmp_path / "bookings.json", Recorded(tmp_path / "records.db")
    file.write_text(corpus.bookings())
    exact = tokens.count(corpus.bookings())
    padded = math.ceil(1.1 * exact)
    tried = json.loads(machine.portion("try", "--json", "--tool", "list_bookings", "--", *FIXTURE).partition("fixture:")[0])
    assert (tried["tokenizer"], tried["calls"][0]["directly"]["tokens"]) == ("o200k", exact)
    shaped = json.loads(machine.portion("shape", "--json", str(file)))
    assert shaped["measured"] == {"tokenizer": "o200k", "tokens": exact}
    assert (shaped["tokenizer"], shaped["tokens"], shaped["estimated"]) == ("auto", padded, False)
    with Peer(wrapped(FIXTURE, "--telemetry", str(records.path))) as peer:
        peer.call("list_bookings")
    [figures] = records.stats()
    assert figures["counter"] == "auto" and figures["originalTokens"] == pytest.approx(padded, rel=0.05)


def test_try_calls_only_what_reads(machine):
    everything = node("server-everything", "stdio")
    told = machine.portion("try", "--tool", "echo", "--args", '{"message": "hi"}', "--", *everything)
    assert "small: not shortened" in told
    assert "--allow-writes" in machine.portion("try", "--tool", "toggle-simulated-logging", "--", *everything, code=1)
    assert "requires message" in machine.portion("try", "--tool", "echo", "--", *everything, code=1)
    assert "ended before it answered initialize" in machine.portion("try", "--", "false", code=1)
    meant = machine.portion("try", "--tool", "ecoh", "--", *everything, code=1)
    assert "no tool ecoh; did you mean echo?" in meant


def test_try_skips_what_a_server_prints_beside_its_messages(machine):
    greeting = ["sh", "-c", 'echo "starting on stdio"; exec "$@"', "sh", *FIXTURE]
    told = machine.portion("try", "--tool", "list_bookings", "--", *greeting)
    assert "times fewer" in told and "such as `starting on stdio`" in told
    silent = machine.portion("try", "--timeout", "1", "--", "sh", "-c", "echo hello; sleep 5", code=1)
    assert "no answer to initialize within 1 s; its stdout has lines that are no messages, such as `hello`" in silent


def test_a_shared_store_that_does_not_answer_is_an_error(machine):
    (machine.home / "cursor.keys").write_text("A" * 43 + "=\n")
    file = machine.home / "portion.yaml"
    file.write_text("store: redis://127.0.0.1:9\ncursorKeys: cursor.keys\n")
    found = findings(machine, "--config", str(file), code=1)
    [store] = [one for (check, _), one in found.items() if check == "store"]
    assert store["level"] == "error" and "cannot be used" in store["message"], store
    assert store["subject"] == "redis://127.0.0.1:9", store


def test_servers_start_as_their_clients_start_them(machine):
    """References of Gemini CLI are followed, equal servers have one finding, and what a client leaves out is left out."""
    stops = entry("sh", "-c", "echo stopped: $0 >&2; exit 3", "$WORD")
    gemini = machine.home / ".gemini/settings.json"
    gemini.parent.mkdir()
    gemini.write_text(json.dumps({"mcp": {"excluded": ["off"]}, "mcpServers": {"on": stops, "off": stops}}))
    same = entry("sh", "-c", "exit 4")
    cursor(machine, same=same)
    projects = {str(machine.project): {"disabledMcpServers": ["user"]}, "/gone": {"mcpServers": {"old": same}}}
    claude = machine.home / ".claude.json"
    claude.write_text(json.dumps({"mcpServers": {"user": same, "also": same}, "projects": projects}))
    machine.env["WORD"] = "resolved"
    found = findings(machine, code=1)
    assert "stopped: resolved" in found[("starts", "on (Gemini CLI)")]["message"], found
    equal = found[("starts", "also (Claude Code), same (Cursor)")]["message"]
    assert "code 4" in equal.replace("exit status: ", "code "), found
    for name in ["off (Gemini CLI)", "user (Claude Code)", "old (Claude Code)"]:
        assert ("starts", name) not in found and found[("disabled", name)]["level"] == "info", found


def test_secrets_among_the_arguments_are_not_shown(machine):
    words = ["--api-key", "sk-ant-api03-k9Xq7Lm2", "--token=ghp_k9Xq7Lm2k9Xq7Lm2", "--header", "Authorization: Bearer k9Xq7Lm2aa"]
    cursor(machine, keyed=entry("sh", "-c", "exit 3", *words, env={"TOK": "k9Xq7Lm2k9Xq"}))
    for options in ([], ["--json"]):
        told = machine.portion("doctor", *options, code=1)
        assert "k9Xq7Lm2" not in told and "--api-key" in told, told


FLOODS = {
    "lines without a pause": "exec yes",
    "a line without end": "exec cat /dev/zero",
    "lines at times": "while :; do echo x; sleep 0.3; done",
    "notifications": """while :; do echo '{"jsonrpc":"2.0","method":"notifications/message"}'; sleep 0.3; done""",
}


@pytest.mark.parametrize("command", ["doctor", "try"])
@pytest.mark.parametrize("kind", FLOODS)
def test_a_server_that_writes_on_ends_with_its_time(machine, command, kind):
    words = ["sh", "-c", FLOODS[kind]]
    cursor(machine, floods=entry(*words))
    options = ["--timeout", "1"] if command == "doctor" else ["--timeout", "1", "--", *words]
    told = machine.portion(command, *options, code=1)
    assert "within 1 s" in told or "256 MiB" in told, told


@pytest.mark.parametrize("script", ["exit 3", "echo $TOK $2; sleep 60"])
def test_secrets_that_a_server_prints_are_not_shown(machine, script):
    words = ["--api-key", "sk-ant-k9Xq7Lm2", "Authorization: Bearer k9Xq7Lm2aa"]
    cursor(machine, echoes=entry("sh", "-c", f"echo token=$TOK key=$2 $3 >&2; {script}", "sh", *words, env={"TOK": "k9Xq7Lm2k9Xq"}))
    for options in ([], ["--json"]):
        told = machine.portion("doctor", "--timeout", "2", *options, code=1)
        assert "k9Xq7Lm2" not in told and "token=[redacted] key=[redacted]" in " ".join(told.split()), told


def test_a_name_makes_no_lines_of_its_own(machine):
    name = "ok\nok      git (Cursor)\n  starts"
    path = cursor(machine, **{name: entry(*FIXTURE)})
    shown = "ok\ufffdok      git (Cursor)\ufffd  starts"
    told = machine.portion("doctor", "--no-start")
    assert f"warning {shown} (Cursor)\n" in told and "\nok      git" not in told, told
    found = findings(machine, "--no-start")[("wrapped", f"{name} (Cursor)")]
    assert "control characters" in found["message"] and found["fix"] == f"${{EDITOR:-vi}} {path}"
    told = machine.portion("install", "--dry-run")
    assert f"\n  {shown}: skipped: its name has control characters: rename it\n" in told and "\nok      git" not in told, told


@pytest.mark.parametrize("command", ["doctor", "try"])
def test_descendants_of_a_server_end(machine, command):
    marks = machine.folder / "marks"
    hangs = f"import os, time; open({str(marks)!r}, 'a').write(str(os.getpid()) + '\\n'); time.sleep(600)"
    words = ["sh", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(hangs)}; true"]
    cursor(machine, hangs=entry(*words))
    options = ["--timeout", "2"] if command == "doctor" else ["--timeout", "2", "--", *words]
    machine.portion(command, *options, code=1)
    numbers = [int(line) for line in marks.read_text().split()]
    assert numbers

    def running(number):
        stat = Path(f"/proc/{number}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"

    until(lambda: not any(map(running, numbers)), "the servers have ended", seconds=20)

"""Manners on a terminal and in a pipe: colours, widths, exit codes, messages without stack traces."""

import json
import os
import pty
import re
import select
import struct
import subprocess
import fcntl
import termios

import pytest

from harness.command import FIXTURE, PORTION
from harness.peer import Peer

ESCAPE = re.compile(r"\x1b\[")
COMMANDS = ["demo", "wrap", "install", "uninstall", "try", "check", "doctor", "serve", "http", "login", "logout", "fetch", "shape",
            "config", "stats", "top", "token", "dashboard", "calibrate", "completions", "man"]


def environment(home, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PORTION_", "XDG_"))}
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, "HOME": str(home), "TERM": "xterm-256color", **more}


def piped(home, *line, **more):
    return subprocess.run([PORTION, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                          cwd=home, env=environment(home, **more))


def on_terminal(home, *line, columns=80, **more):
    """The exit code and all output of a command on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PORTION, *line], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=home,
                               env=environment(home, **more), start_new_session=True)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home directory with a client, a file and a configuration with errors."""
    home = tmp_path_factory.mktemp("home")
    rows = [{"id": i, "status": "confirmed", "note": "The guest arrives late. " * 6} for i in range(200)]
    (home / "rows.json").write_text(json.dumps(rows))
    (home / "wrong.yaml").write_text("pageSize: many\nnosuch: 1\n")
    (home / ".cursor").mkdir()
    servers = {"fixture": {"command": FIXTURE[0], "args": FIXTURE[1:]}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=2))
    return home


LINES = [
    (["--version"], 0), (["--help"], 0), ([], 2), (["nosuch"], 2), (["shape"], 2),
    (["shape", "rows.json"], 0), (["shape", "nosuch.json"], 1), (["shape", "rows.json", "--limit", "0"], 2),
    (["shape", "rows.json", "--sql", "SELECT nosuch FROM items"], 1), (["shape", "rows.json", "--explain"], 0),
    (["config", "check", "--config", "wrong.yaml"], 2), (["config", "show", "--config", "nosuch.yaml"], 2),
    (["install", "--dry-run"], 0), (["install"], 2), (["uninstall"], 0), (["doctor", "--no-start"], 0),
    (["stats"], 1), (["stats", "--since", "nonsense"], 2), (["wrap", "--", "no-such-command"], 1),
    (["wrap", "--hard-cap", "x", "--", "cat"], 2), (["fetch", "--tool", "x", "--", "no-such-command"], 1),
    (["wrap"], 2), (["serve"], 2), (["check"], 2), (["login", "nosuch"], 2), (["token", "a b"], 2),
    (["try", "--", "no-such-command"], 1), (["calibrate", "nosuch.log"], 1), (["top"], 1), (["completions", "bash"], 0),
]


@pytest.mark.parametrize("line,code", LINES, ids=[" ".join(line) or "nothing" for line, _ in LINES])
def test_a_pipe_gets_no_colour_and_a_failure_one_message(home, line, code):
    done = piped(home, *line)
    assert done.returncode == code, (done.returncode, done.stdout[-500:], done.stderr[-500:])
    assert not ESCAPE.search(done.stdout + done.stderr)
    for word in ("panicked", "RUST_BACKTRACE", "stack backtrace", "Error {", "Os {"):
        assert word not in done.stdout + done.stderr
    if code:
        assert done.stderr.strip(), "a failure says why"


@pytest.mark.parametrize("line", [["--help"], ["nosuch"], ["config", "check", "--config", "wrong.yaml"], ["install", "--dry-run"],
                                  ["doctor", "--no-start"], ["demo"]], ids=" ".join)
def test_no_color_is_heeded_on_a_terminal(home, line):
    _, plain = on_terminal(home, *line, NO_COLOR="1")
    colours = re.findall(r"\x1b\[[0-9;]*m", plain)
    assert [colour for colour in colours if colour not in ("\x1b[m", "\x1b[0m")] == []


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_the_terminal(home, command, columns):
    code, shown = on_terminal(home, command, "--help", columns=columns, NO_COLOR="1")
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    # The line of the usage is not folded.
    wide = [line for line in lines if len(line) > columns and " " in line.strip()[:columns] and not line.startswith("Usage: ")]
    assert code == 0 and len(lines) > 5
    assert wide == [], "\n".join(wide[:5])


WIDE = 40


@pytest.mark.parametrize("line", [["demo"], ["doctor"], ["try", "--tool", "list_bookings", "--", *FIXTURE]], ids=lambda line: line[0])
def test_reports_fit_a_narrow_terminal(home, line):
    code, shown = on_terminal(home, *line, columns=WIDE, NO_COLOR="1")
    lines = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) for line in shown.splitlines()]
    # Commands are not folded, so that they can be copied.
    free = re.compile(r"^\s*[$>] ")
    wide = [line for line in lines if len(line) > WIDE and " " in line.strip()[:WIDE] and not free.match(line)]
    assert code == 0 and len(lines) > 5, shown
    assert wide == [], "\n".join(wide[:5])


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("line", [line for line, code in LINES if code and line != ["install"]], ids=lambda line: " ".join(line) or "nothing")
def test_messages_fit_the_terminal(home, line, columns):
    _, shown = on_terminal(home, *line, columns=columns, NO_COLOR="1", PORTION_LOG="off")
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", text) for text in shown.splitlines()]
    assert lines and [text for text in lines if len(text) > columns and " " in text.strip()[:columns]] == []


def test_what_takes_long_is_said_on_a_terminal_only(home):
    line = ["try", "--tool", "list_bookings", "--", *FIXTURE]
    _, shown = on_terminal(home, *line)
    assert "portion: calling list_bookings through Portion" in shown
    assert "portion: starting 1 server, at most 30 s each" in on_terminal(home, "doctor")[1]
    assert "calling" not in piped(home, *line).stderr
    assert "portion: 1 of 1: " in piped(home, "doctor").stderr, "it may take minutes"
    assert "starting" not in piped(home, "doctor", "--json").stderr


def test_what_a_server_sends_does_not_control_the_terminal(tmp_path):
    noise = "printf 'a\\033[2Jb\\342\\200\\256c\\n'; exit 3"
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"noisy": {"command": "sh", "args": ["-c", noise]}}}))
    for line in (["try", "--", "sh", "-c", noise], ["doctor"]):
        done = piped(tmp_path, *line)
        shown = done.stdout + done.stderr
        assert done.returncode == 1 and "a\ufffd[2Jb\ufffdc" in " ".join(shown.split()), shown
        assert not any(character in shown for character in "\x1b\u202e"), shown


CONTROLS = "evil\x1b[2J\x9b\u202e"


@pytest.mark.parametrize("line", [["stats", "--format", "csv"], ["stats", "--requests", "--format", "csv"], ["stats", "--json"],
                                  ["shape", "evil.txt"], ["shape", "evil.txt", "--json"]], ids=" ".join)
def test_data_is_whole_in_a_pipe_and_does_not_control_a_terminal(tmp_path, line):
    (tmp_path / "evil.txt").write_text(CONTROLS)
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                                       "clientInfo": {"name": "evil", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": CONTROLS, "arguments": {}}},
    ]
    subprocess.run([PORTION, "wrap", "--", *FIXTURE], input="".join(json.dumps(call) + "\n" for call in calls), text=True,
                   capture_output=True, timeout=60, cwd=tmp_path, env=environment(tmp_path))
    whole = piped(tmp_path, *line).stdout
    assert CONTROLS in whole.replace("\\u001b", "\x1b"), whole
    code, shown = on_terminal(tmp_path, *line)
    assert code == 0 and "evil" in shown and "\ufffd\ufffd" in shown, shown
    assert not any(control in shown for control in "\x1b\x9b\u202e"), shown


def test_manual_pages_have_the_usual_sections(home):
    piped(home, "man", "--dir", "man")
    pages = {page.name: page.read_text() for page in (home / "man").iterdir()}
    assert "portion-config-check.1" in pages and not any(".SH EXTRA" in page for page in pages.values())
    doctor = pages["portion-doctor.1"]
    assert ".SH EXAMPLES\n.nf\nportion doctor\nportion doctor" in doctor and '.SH "EXIT STATUS"\n0 without errors' in doctor


def test_json_is_one_value_on_stdout(home):
    for line in (["install", "--dry-run", "--json"], ["doctor", "--no-start", "--json"]):
        done = piped(home, *line)
        json.loads(done.stdout)
    wrong = piped(home, "config", "check", "wrong.yaml", "--json")
    assert wrong.returncode == 2 and wrong.stderr == ""
    errors = json.loads(wrong.stdout)["errors"]
    assert len(errors) == 2 and all(error["place"].startswith("wrong.yaml:") and error["fix"] for error in errors)


def as_json(home, *line):
    done = piped(home, *line, "--json")
    assert done.returncode == 0 and done.stderr == "", (line, done.stderr)
    return json.loads(done.stdout)


def test_shape_prints_the_reply_and_its_figures_as_json(home):
    shown = as_json(home, "shape", "rows.json")
    assert shown["detected"].startswith("a list of 200 items") and shown["bytes"] == (home / "rows.json").stat().st_size
    reply = shown["reply"]
    assert (reply["shaped"], reply["kind"]) == (True, "page") and reply["tokens"] <= reply["budget"] < shown["tokens"]
    plain = piped(home, "shape", "rows.json")
    assert "".join(f"{block}\n" for block in reply["content"]) == plain.stdout
    assert json.loads(reply["content"][-1])["totalCount"] == 200
    counted = as_json(home, "shape", "rows.json", "--sql", "SELECT count(*) AS n FROM items")
    assert json.loads(counted["reply"]["content"][0])[0]["n"] == 200
    (home / "small.json").write_text('{"a":  1}')
    small = as_json(home, "shape", "small.json")
    assert small["reply"] == {"shaped": False, "content": ['{"a":  1}']}


@pytest.mark.parametrize("text, detected", [
    ('[{"a": 1}]', "a list of 1 item at the root"),
    ('{"a": 1}', "an object of 1 member"),
    ('{"a": 1, "b": 2}', "an object of 2 members"),
])
def test_one_is_no_plural(home, text, detected):
    (home / "counted.json").write_text(text)
    assert as_json(home, "shape", "counted.json")["detected"].startswith(detected)


def test_each_command_of_configurations_prints_json(home):
    made = as_json(home, "config", "init", "made.yaml")
    assert made == {"file": "made.yaml", "schema": "made.schema.json"}
    as_json(home, "config", "init", "made.json")
    assert json.loads((home / "made.json").read_text()) == {"$schema": "made.schema.json", "profile": "default"}
    assert as_json(home, "config", "check", "made.json")["errors"] == []
    schema = as_json(home, "config", "schema")
    assert schema == json.loads((home / "made.schema.json").read_text()) and "hardCap" in schema["properties"]
    (home / "new.yaml").write_text("hardCap: 9000\nendpoints:\n  list_*:\n    pageSize: 20\n")
    shown = as_json(home, "config", "show", "--config", "new.yaml")
    assert (shown["hardCap"], shown["tokenBudgetThreshold"]) == (9000, 4000)
    assert shown["endpoints"] == {"list_*": {"pageSize": 20}}
    origins = as_json(home, "config", "show", "--config", "new.yaml", "--origin", "--endpoint", "list_x")
    assert origins["hardCap"] == {"value": 9000, "origin": "new.yaml:1:1"}
    differences = as_json(home, "config", "diff", "--config", "made.yaml", "new.yaml")
    assert differences["forecasts"] is None
    assert {"key": "hardCap", "old": 12000, "new": 9000} in differences["changes"]
    assert as_json(home, "config", "check", "new.yaml") == {"file": "new.yaml", "errors": [], "warnings": []}
    assert as_json(home, "config", "history", "--config", "new.yaml") == []
    empty = piped(home, "config", "history", "--config", "new.yaml")
    assert (empty.returncode, empty.stdout) == (0, "") and "no version of new.yaml has been in force yet" in empty.stderr


def test_versions_of_a_configuration_are_listed_and_restored_as_json(home):
    file = home / "versions.yaml"
    for text in ("hardCap: 9000\n", "hardCap: 8000\n"):
        file.write_text(text)
        piped(home, "wrap", "--config", "versions.yaml", "--", "true")
    listed = as_json(home, "config", "history", "--config", "versions.yaml")
    assert [version["version"] for version in listed] == [2, 1]
    changes = [{"key": "hardCap", "old": 9000, "new": 8000}]
    assert listed[0]["changes"] == changes and listed[1]["changes"] is None
    restored = as_json(home, "config", "rollback", "--config", "versions.yaml")
    back = [{"key": "hardCap", "old": 8000, "new": 9000}]
    assert restored == {"file": "versions.yaml", "version": 1, "kept": None, "changes": back}
    assert file.read_text() == "hardCap: 9000\n"


def test_content_that_was_never_in_force_is_kept_by_a_rollback(home):
    file = home / "edited.yaml"
    named = ("--config", "edited.yaml")
    file.write_text("hardCap: 9000\n")
    piped(home, "wrap", *named, "--", "true")
    file.write_text("hardCap: 7000\n")
    done = piped(home, "config", "rollback", *named)
    assert done.stdout.startswith("edited.yaml is restored to version 1\nwhat it contained is kept as version 2\n"), done
    assert file.read_text() == "hardCap: 9000\n"
    assert as_json(home, "config", "rollback", *named)["version"] == 2 and file.read_text() == "hardCap: 7000\n"
    # What is not valid is kept, too, and is not restored unless it is named.
    file.write_text("hardCap: [\n")
    restored = as_json(home, "config", "rollback", *named, "1")
    assert (restored["kept"], restored["changes"]) == (3, None)
    assert as_json(home, "config", "rollback", *named)["version"] == 2
    file.write_text("hardCap: 6000\n")
    file.chmod(0o444)
    refused = piped(home, "config", "rollback", *named)
    assert refused.returncode == 1 and "read-only: make it writable" in refused.stderr
    assert file.read_text() == "hardCap: 6000\n" and len(as_json(home, "config", "history", *named)) == 3


def test_verbose_gives_reasons(home):
    explained = piped(home, "shape", "rows.json", "--verbose")
    assert explained.stderr == piped(home, "shape", "rows.json", "--explain").stderr != ""
    for options, logged in (([], False), (["--verbose"], True)):
        with Peer([PORTION, "wrap", *options, *FIXTURE], cwd=home) as peer:
            peer.call("list_bookings")
        assert ("list_bookings" in peer.said()) is logged


def test_a_closed_pipe_is_no_failure(home):
    done = subprocess.run(["sh", "-c", f"'{PORTION}' completions bash | head -n 1; exit 0"], capture_output=True, text=True,
                          env=environment(home), timeout=60)
    assert done.stderr == "" and done.stdout


def ends(home, line, stdout):
    """The exit code and the stderr of a command with this stdout."""
    done = subprocess.run([PORTION, *line], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60,
                          cwd=home, env=environment(home))
    return done.returncode, done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("line, usual", [
    (["doctor", "--no-start"], 0), (["doctor", "--no-start", "--config", "wrong.yaml"], 1), (["config", "check"], 0),
    (["config", "check", "wrong.yaml"], 2), (["config", "show"], 0), (["config", "schema"], 0), (["shape", "rows.json"], 0),
    (["install", "--dry-run"], 0), (["calibrate", "rows.json"], 1), (["token", "ci"], 0),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_a_stdout_that_cannot_be_written_makes_a_success_a_failure(home, line, usual, options):
    reader, writer = os.pipe()
    os.close(reader)
    code, told = ends(home, [*line, *options], writer)
    os.close(writer)
    assert code == usual and "cannot be written" not in told
    with open("/dev/full", "w") as full:
        code, told = ends(home, [*line, *options], full)
    # Errors of a configuration are text on stderr.
    is_printed = line != ["config", "check", "wrong.yaml"] or options
    assert code == (usual or 1) and ("portion: stdout cannot be written: No space left" in told) == bool(is_printed), told


def test_a_rollback_that_cannot_be_reported_is_named(home):
    file = home / "unreported.yaml"
    named = ("--config", "unreported.yaml")
    for text in ("hardCap: 9000\n", "hardCap: 8000\n"):
        file.write_text(text)
        piped(home, "wrap", *named, "--", "true")
    with open("/dev/full", "w") as full:
        code, told = ends(home, ["config", "rollback", *named], full)
    assert code == 1 and "unreported.yaml is restored to version 1, but stdout cannot be written: No space left" in told
    assert file.read_text() == "hardCap: 9000\n"


@pytest.mark.parametrize("line", [
    ("shape", "nothing.json"),
    ("wrap", "--", "/nonexistent/server"),
    ("wrap", "--", "sh", "-c", "exit 7"),
    ("try", "--", "false"),
    ("fetch", "nosuch"),
    ("stats", "--since", "x"),
    ("config", "check", "nothing.yaml"),
    ("config", "rollback"),
    ("serve", "--listen", "no address", "--", "cat"),
])
def test_a_full_disk_behind_stderr_changes_no_exit_code(home, line):
    usual = piped(home, *line).returncode
    with open("/dev/full", "w") as full:
        ended = subprocess.run([PORTION, *line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=full, timeout=60,
                               cwd=home, env=environment(home))
    assert ended.returncode == usual != 101


def test_a_server_is_relayed_although_nothing_can_be_logged(home):
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                                       "clientInfo": {"name": "full", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    with open("/dev/full", "w") as full:
        ended = subprocess.run([PORTION, "wrap", "--", *FIXTURE], input=text, stdout=subprocess.PIPE, stderr=full, text=True,
                               timeout=60, cwd=home, env=environment(home, PORTION_LOG="debug"))
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1, 2]

"""Reports on a terminal of 40 columns: prose and tables fit; paths, commands, diffs and configurations stay as they are."""

import json
import re
import subprocess
import unicodedata

import pytest

from harness.command import FIXTURE, PORTION
from test_terminal import environment, on_terminal, piped

WIDE = 40
# Commands and lines to copy, differences, and paths of files.
FREE = re.compile(r"^(\s*[$>#] |[-+@]|\s+[\"{}\[\]]|set keys in it|Cursor, /)")
CALLS = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                                   "clientInfo": {"name": "narrow", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_bookings", "arguments": {}}},
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home directory with a client, records, versions of a configuration and an API log."""
    home = tmp_path_factory.mktemp("home")
    (home / ".cursor").mkdir()
    servers = {"fixture": {"command": FIXTURE[0], "args": FIXTURE[1:]},
               "remote": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer x"}}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=2))
    lines = [json.dumps({"model": "claude-x", "text": "word " * n, "tokens": n + 20}) for n in range(5, 45)]
    (home / "log.jsonl").write_text("\n".join([*lines, "{}"]))
    (home / "new.yaml").write_text("hardCap: 7000\n")
    for text in ("hardCap: 9000\n", "hardCap: 8000\n"):
        (home / "portion.yaml").write_text(text)
        subprocess.run([PORTION, "wrap", "--", *FIXTURE], input="".join(json.dumps(call) + "\n" for call in CALLS), text=True,
                       capture_output=True, timeout=60, cwd=home, env=environment(home))
    return home


@pytest.mark.parametrize("line", [
    ["check", "--tool", "list_bookings", "--", *FIXTURE],
    ["install", "--dry-run", "--http"],
    ["uninstall", "--dry-run"],
    ["stats"],
    ["stats", "--requests"],
    ["stats", "--advise"],
    ["config", "diff", "new.yaml", "--against", "telemetry"],
    ["config", "history"],
    ["config", "init", "made.yaml"],
    ["calibrate", "log.jsonl"],
    ["fetch", "--tool", "list_bookings", "--text-field", "id", "--max-context-tokens", "100", "--", *FIXTURE],
], ids=lambda line: " ".join(line[:2]))
def test_reports_fit(home, line):
    code, shown = on_terminal(home, *line, columns=WIDE, NO_COLOR="1", PORTION_LOG="off")
    assert code == 0 and shown, shown
    # What follows is to be copied.
    report = shown.split("\nendpoints:\n")[0]
    wide = [text for text in report.splitlines() if len(text) > WIDE and " " in text.strip()[:WIDE] and not FREE.match(text)]
    assert wide == [], "\n".join(wide[:5])


def test_a_pipe_gets_whole_lines(home):
    shown = piped(home, "install", "--dry-run", "--http").stdout
    assert "note: the values of the headers become variables of the server\n" in shown
    assert "  remote: wrapped\n" in shown
    assert "Not shown" not in piped(home, "stats").stdout


@pytest.mark.parametrize("line, figure", [(["stats"], "requests"), (["stats", "--requests"], "came")], ids=["stats", "requests"])
def test_wide_names_leave_room_for_figures(tmp_path, line, figure):
    other = CALLS[2] | {"id": 3, "params": {"name": "查询客房列表的名字" * 3, "arguments": {}}}
    text = "".join(json.dumps(call) + "\n" for call in [*CALLS, other])
    subprocess.run([PORTION, "wrap", "--", *FIXTURE], input=text, text=True, capture_output=True, timeout=60, cwd=tmp_path,
                   env=environment(tmp_path))
    head, *rows = on_terminal(tmp_path, *line, columns=WIDE, NO_COLOR="1")[1].split("\n\n")[0].splitlines()
    assert head.endswith(figure) and len(rows) == 2, rows
    widths = {sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in row) for row in (head, *rows)}
    assert len(widths) == 1 and widths.pop() <= WIDE, "figures are aligned at the right"


def test_columns_that_are_left_out_are_named(home):
    for line in (["stats"], ["config", "diff", "new.yaml", "--against", "telemetry"]):
        shown = " ".join(on_terminal(home, *line, columns=WIDE)[1].split())
        assert "Not shown, because the terminal is too narrow:" in shown and "; --json has all." in shown

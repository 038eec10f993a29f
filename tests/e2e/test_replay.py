"""`portion replay`: what recorded sessions of each client would have been with Portion."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest

from harness.command import E2E, PORTION
from harness.tokens import count

TRANSCRIPTS = E2E / "fixture/transcripts"
CLIENTS = {
    "claude-code/projects": "claude-code",
    "codex/sessions": "codex-mcp-client",
    "gemini-cli/tmp/app/chats/session-2026-11-02T10-00-a1.json": "gemini-cli-mcp-client",
    "gemini-cli/tmp/app/chats/session-2026-11-02T10-01-a2.jsonl": "gemini-cli-mcp-client",
    "opencode/storage": "opencode",
    "opencode/export/ses_2.json": "opencode",
}
# First replies that do not show the last invoices.
LEAN = ["--reply-target", "600", "--token-budget-threshold", "800"]
PRICE, WRITE, READ = 3 / 1e6, 1.25, 0.1


def replay(*arguments, home=None, code=0):
    env = {"PATH": os.environ["PATH"], "HOME": str(home or "/nonexistent")}
    done = subprocess.run([PORTION, "replay", *map(str, arguments)], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def report(*arguments, **options):
    return json.loads(replay(*arguments, "--format", "json", **options).stdout)


def by_tool(rows):
    return {(row["server"], row["tool"]): row for row in rows}


def invoices():
    """The list that the server returned in every session."""
    lines = (next((TRANSCRIPTS / "claude-code/projects").rglob("*.jsonl"))).read_text().splitlines()
    return json.loads(lines[4])["message"]["content"][0]["content"][0]["text"]


@pytest.mark.parametrize("path", CLIENTS)
def test_the_sessions_of_each_client_are_read(path):
    told = report(TRANSCRIPTS / path, *LEAN)
    (session,) = told["sessions"]
    assert (session["client"], session["turns"], session["results"]) == (CLIENTS[path], 4, 4)
    tools = by_tool(session["tools"])
    listing = {("billing", "(tools of Portion)"), (None, "(tools of Portion)")}
    called = {("billing", name) for name in ("list_invoices", "get_invoice", "send_mail")}
    own = set(tools) - listing - called
    assert called < set(tools) and len(own) == 1 and {server for server, _ in own} == {None}
    listed = tools["billing", "list_invoices"]
    assert (listed["results"], listed["shortened"]) == (1, 1)
    sent = invoices()
    if path.startswith("codex"):
        # Codex records all of a result, and sends the beginning and the end of it.
        sent = f"{sent[:6012]}…{sent[-6012:]}"
    tokens = count(sent)
    assert listed["without"]["tokens"] == tokens
    # It is written to the cache with the second of four requests, and read with the last two.
    assert listed["without"]["sent"] == 3 * tokens
    assert listed["without"]["cost"] == pytest.approx(tokens * PRICE * (WRITE + 2 * READ))
    small = tools["billing", "send_mail"]
    assert small["without"] == small["with"] and small["without"]["sent"] == 1
    places = {used["string"]: used["place"] for used in session["strings"]}
    assert places["INV-0071"] == "followUp" and places["INV-0001"] == "firstReply"
    assert "lost" not in places.values()


def test_a_follow_up_is_charged_with_its_request():
    path = TRANSCRIPTS / "claude-code"
    (session,) = report(path, *LEAN)["sessions"]
    row = by_tool(session["tools"])["billing", "list_invoices"]
    (other,) = report(path, *LEAN, "--cache-write", "0", "--cache-read", "0", "--output-price", "0")["sessions"]
    assert by_tool(other["tools"])["billing", "list_invoices"]["with"]["cost"] == 0
    assert row["followUps"] == 1
    # The second request had 18,504 tokens with the list; the search repeats it.
    assert row["with"]["sent"] > 18504
    assert row["with"]["cost"] > 18504 * READ * PRICE


def test_what_is_hidden_and_was_used_is_lost():
    told = report(TRANSCRIPTS / "claude-code", "--redact", "email")
    assert told["strings"]["lost"] == 1
    text = replay(TRANSCRIPTS / "claude-code", "--redact", "email").stdout
    assert "1 lost" in text and "lost: mail71@example.com of billing/get_invoice" in text


@pytest.mark.parametrize(("client", "setting"), [("claude-code", "fullBelow"), ("codex", "rollout")])
def test_the_named_setting_mends_what_cost_more(tmp_path, client, setting):
    # Without a cache, a request costs more than the list: one search is too much.
    options = [TRANSCRIPTS / client, *LEAN, "--cache-write", "1", "--cache-read", "1"]
    told = report(*options)
    settings = {(row["server"], row["tool"]): row["setting"] for row in told["advice"]}
    line = settings["billing", "list_invoices"]
    assert setting in line and line in replay(*options).stdout
    worse = by_tool(told["tools"])["billing", "list_invoices"]
    assert worse["with"]["cost"] > worse["without"]["cost"]
    file = tmp_path / "portion.yaml"
    file.write_text(line.removeprefix("portion.yaml: ") + "\n")
    mended = report(*options, "--config", file)
    row = by_tool(mended["tools"])["billing", "list_invoices"]
    assert row["with"] == row["without"] and row["followUps"] == 0
    # What is left is the list of tools, for a server with nothing to save.
    assert [row["setting"] for row in mended["advice"]] == ["portion uninstall billing"]


def test_the_sessions_of_the_user_are_found(tmp_path):
    shutil.copytree(TRANSCRIPTS / "claude-code", tmp_path / ".claude")
    shutil.copytree(TRANSCRIPTS / "codex", tmp_path / ".codex")
    shutil.copytree(TRANSCRIPTS / "gemini-cli", tmp_path / ".gemini")
    opencode = tmp_path / ".local/share/opencode"
    shutil.copytree(TRANSCRIPTS / "opencode/storage", opencode / "storage")
    copied = tmp_path / ".claude/projects/-home-me-app"
    (original,) = copied.iterdir()
    # A resumed session repeats what was before it.
    shutil.copy(original, copied / "resumed.jsonl")
    told = report(home=tmp_path)
    assert sorted(session["client"] for session in told["sessions"]) == sorted(
        ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "gemini-cli-mcp-client", "opencode"]
    )
    assert told["servers"]["results"] == 5 * 3 and told["ownTools"]["results"] == 5


def test_the_database_of_opencode_is_read(tmp_path):
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        document = json.loads((TRANSCRIPTS / "opencode/export/ses_2.json").read_text())
        for message in document["messages"]:
            info = message["info"]
            database.execute("INSERT INTO message VALUES (?,?,1,?)", [info["id"], "ses_2", json.dumps(info)])
            for part in message["parts"]:
                row = [part["id"], info["id"], "ses_2", json.dumps(part)]
                database.execute("INSERT INTO part VALUES (?,?,?,1,?)", row)
    exported = report(TRANSCRIPTS / "opencode/export/ses_2.json")
    assert report(path) == exported


def test_a_summary_ends_what_is_sent(tmp_path):
    lines = next((TRANSCRIPTS / "claude-code").rglob("*.jsonl")).read_text().splitlines()
    boundary = json.dumps({"type": "system", "subtype": "compact_boundary", "uuid": "c1"})
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join([*lines[:-1], boundary, lines[-1]]) + "\n")
    (session,) = report(path)["sessions"]
    row = by_tool(session["tools"])["billing", "list_invoices"]
    assert row["without"]["sent"] == 2 * row["without"]["tokens"]


def test_without_sessions_it_says_what_to_name(tmp_path):
    (tmp_path / "notes.json").write_text('{"a": 1}')
    assert "Name transcripts" in replay(tmp_path, code=1).stdout
    assert "cannot read" in replay(tmp_path / "none", code=1).stderr
    assert report(tmp_path, code=1)["sessions"] == []

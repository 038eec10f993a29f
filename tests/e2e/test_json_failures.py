"""Commands with --json that fail: stdout has one JSON document with the reason, and the exit code is the usual one."""

import json
import os
import subprocess

import pytest

from harness.command import PORTION

FAILED, CONFIGURATION, USAGE = "failed", "invalid_configuration", "invalid_usage"
CODES = {FAILED: 1, CONFIGURATION: 2, USAGE: 2}

LINES = [
    (["demo", "--nosuch"], USAGE),
    (["install", "--file", "nosuch.json"], FAILED),
    (["install", "nosuch", "--file", "mcp.json"], FAILED),
    (["install", "--file", "mcp.json"], USAGE),
    (["install", "--client", "nosuch"], USAGE),
    (["uninstall", "--file", "nosuch.json"], FAILED),
    (["uninstall", "--file", "mcp.json", "--client", "cursor", "--client", "zed"], USAGE),
    (["try", "--", "no-such-command"], FAILED),
    (["try", "--config", "wrong.yaml", "--", "cat"], CONFIGURATION),
    (["try", "--", "false"], FAILED),
    (["try"], USAGE),
    (["check", "--", "no-such-command"], FAILED),
    (["check", "--", "false"], FAILED),
    (["check"], USAGE),
    (["doctor", "--timeout", "0"], USAGE),
    (["login", "nosuch"], USAGE),
    (["login", "https://127.0.0.1:9/mcp", "--config", "nosuch.yaml"], CONFIGURATION),
    (["logout", "nosuch"], USAGE),
    (["fetch", "--tool", "x", "--", "no-such-command"], FAILED),
    (["fetch", "--tool", "x", "--", "false"], FAILED),
    (["fetch", "--tool", "x", "--url", "ftp://x/"], USAGE),
    (["fetch"], USAGE),
    (["shape", "nosuch.json"], FAILED),
    (["shape", "image.png"], FAILED),
    (["shape", "rows.json", "--limit", "0"], USAGE),
    (["shape", "rows.json", "--sql", "SELECT nosuch FROM items"], FAILED),
    (["shape", "rows.json", "--config", "wrong.yaml"], CONFIGURATION),
    (["config"], USAGE),
    (["config", "chek"], USAGE),
    (["config", "init", "wrong.yaml"], FAILED),
    (["config", "check", "nosuch.yaml"], CONFIGURATION),
    (["config", "show", "--config", "wrong.yaml"], CONFIGURATION),
    (["config", "diff", "nosuch.yaml"], USAGE),
    (["config", "history"], FAILED),
    (["config", "rollback"], FAILED),
    (["stats"], FAILED),
    (["stats", "--telemetry", "rows.json"], FAILED),
    (["stats", "--config", "wrong.yaml"], CONFIGURATION),
    (["stats", "--since", "nonsense"], USAGE),
    (["token", "a b"], USAGE),
    (["calibrate", "nosuch.log"], FAILED),
    (["calibrate", "rows.json"], FAILED),
    (["calibrate"], USAGE),
    (["nosuch"], USAGE),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "rows.json").write_text(json.dumps([{"id": i} for i in range(200)]))
    (home / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (home / "wrong.yaml").write_text("pageSize: many\n")
    (home / "mcp.json").write_text('{"mcpServers": {"one": {"command": "cat"}}}')
    return home


def run(home, *line):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PORTION_", "XDG_"))}
    return subprocess.run([PORTION, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                          cwd=home, env={**kept, "HOME": str(home)})


def failure(home, line, code):
    """The document of a command that fails."""
    done = run(home, *line)
    assert done.returncode == CODES[code], (done.returncode, done.stdout, done.stderr)
    document = json.loads(done.stdout)
    assert document["error"]["code"] == code and document["error"]["message"], document
    assert done.stderr, "people are told, too"
    return document


@pytest.mark.parametrize("line,code", LINES, ids=[" ".join(line) for line, _ in LINES])
def test_a_failure_is_one_document(home, line, code):
    document = failure(home, [line[0], "--json", *line[1:]], code)
    assert set(document["error"]) == {"code", "message", "hint"}
    plain = run(home, *line)
    assert plain.returncode == CODES[code], (plain.returncode, plain.stderr)
    assert "invalid_" not in plain.stdout, "prose without --json"
    # Without any option, `config` prints its help. How a server ended may be said in another way the next time.
    if code != FAILED and line != ["config"]:
        assert " ".join(document["error"]["message"].split()) in " ".join(plain.stderr.split())


@pytest.mark.parametrize("line", [["stats", "--format", "json"], ["stats", "--format=json"], ["calibrate", "--format", "json", "nosuch"]],
                         ids=" ".join)
def test_a_format_counts_as_well(home, line):
    failure(home, line, FAILED)
    failure(home, [*line, "--nosuch"], USAGE)


@pytest.mark.parametrize("command", ["login", "logout"])
@pytest.mark.parametrize("url", ["http://ann:canary@127.0.0.1:1/mcp", "ftp://host/mcp?key=canary", "http://example.com/mcp?key=canary"])
def test_credentials_of_a_url_are_not_shown(home, command, url):
    done = run(home, command, "--json", url)
    assert done.returncode == CODES[USAGE] and "canary" not in done.stdout + done.stderr, done


def test_a_hint_is_a_member(home):
    hint = failure(home, ["config", "chek", "--json"], USAGE)["error"]["hint"]
    assert "similar" in hint and "'check'" in hint


def test_a_log_without_usage_has_its_report_with_the_failure(home):
    document = failure(home, ["calibrate", "--json", "rows.json"], FAILED)
    assert document["families"] == [] and document["unusable"][0]["entries"] == 200


@pytest.mark.parametrize("line", [["wrap", "--json"], ["wrap", "--", "no-such-command", "--json"], ["stats", "--since", "nonsense"],
                                  ["try", "--", "no-such-command", "--json"]], ids=" ".join)
def test_what_asks_for_no_json_gets_prose(home, line):
    done = run(home, *line)
    assert done.returncode and done.stdout == "" and done.stderr, done

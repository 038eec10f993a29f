"""Real clients before a stand-in for the API of their model: what arrives there, with and without Portion."""

import json
import subprocess

import pytest

from harness.command import CLIENT_BIN, E2E, PORTION
from harness.machine import Machine
from harness.model_stand_in import ModelStandIn
from harness.tokens import count

SERVER = [str(CLIENT_BIN / "python"), "-I", "-S", str(E2E / "fixture/both_forms.py")]


def codex(machine, model, command):
    provider = f'model_providers.stand_in={{name="stand_in",base_url="{model.url}/v1",wire_api="responses",env_key="KEY"}}'
    server = f"mcp_servers.forms={{command={json.dumps(command[0])},args={json.dumps(command[1:])}}}"
    options = ["-c", "model_provider=stand_in", "-c", provider, "-c", server, "-m", "unlisted-model"]
    unattended = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    machine.env |= {"KEY": "x"}
    machine.client("codex", "exec", *unattended, *options, "go")


def claude(machine, model, command):
    file = machine.project / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"forms": {"command": command[0], "args": command[1:]}}}))
    machine.env |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    servers = ["--mcp-config", str(file), "--strict-mcp-config", "--allowedTools", "mcp__forms__rows"]
    machine.client("claude", "-p", "go", *servers, "--model", "claude-sonnet-4-5")


def shown(tmp_path, client, result, *options, through):
    """What the model is shown of a result, as text."""
    command = [*SERVER, result]
    with ModelStandIn() as model:
        client(Machine(tmp_path), model, [PORTION, "wrap", *options, "--", *command] if through else command)
        return model.shown if isinstance(model.shown, str) else json.dumps(model.shown)


@pytest.mark.parametrize(("client", "most"), [(codex, 12_100), (claude, 2_500)])
def test_a_large_result_is_cut_without_portion(tmp_path, client, most):
    text = shown(tmp_path, client, "large", through=False)
    assert "STRUCTURED row" in text and "TEXT row" not in text, "the model sees structuredContent alone"
    assert len(text.encode()) <= most and "totalCount" not in text


@pytest.mark.parametrize(("client", "most"), [(codex, 10_821), (claude, 45_000)])
def test_a_large_result_arrives_whole_as_a_portion(tmp_path, client, most):
    text = shown(tmp_path, client, "large", through=True)
    portion = json.loads(text[text.index("{") :])
    assert len(text.encode()) <= most and list(portion)[:2] == ["nextCursor", "totalCount"]
    assert portion["totalCount"] == 2_000 and portion["rows"][0]["name"] == "STRUCTURED row 0"


def test_claude_code_cuts_no_error_of_portion(tmp_path):
    for folder in ("direct", "through"):
        (tmp_path / folder).mkdir()
    assert "nextCursor" not in shown(tmp_path / "direct", claude, "error", through=False)
    text = shown(tmp_path / "through", claude, "error", through=True)
    assert '"totalCount":2000' in text and "nextCursor" in text and 5_000 < len(text) < 10_000


@pytest.mark.parametrize("client", [codex, claude])
@pytest.mark.parametrize("through", [False, True])
def test_an_image_beside_structured_content_reaches_the_model_through_portion_only(tmp_path, client, through):
    text = shown(tmp_path, client, "image", through=through)
    assert "STRUCTURED" in text
    assert ("iVBORw0KGgo" in text) == ("TEXT" in text) == through


def test_claude_code_files_no_reply_of_a_tool_that_states_its_size(tmp_path):
    limits = ["--preset", "none", "--hard-byte-limit", "200KiB"]
    for limit in ("hard-cap", "token-budget-threshold", "full-below"):
        limits += [f"--{limit}", "60000"]
    (tmp_path / "direct").mkdir()
    assert "persisted-output" in shown(tmp_path / "direct", claude, "medium", through=False)
    text = shown(tmp_path / "through", claude, "medium", *limits, through=True)
    assert "TEXT row 0" in text and "TEXT row 699" in text and len(text) > 80_000


@pytest.mark.parametrize("client", [codex, claude])
def test_the_session_that_a_client_records_can_be_replayed(tmp_path, client):
    machine = Machine(tmp_path)
    with ModelStandIn() as model:
        client(machine, model, [*SERVER, "large"])
        shown = model.shown if isinstance(model.shown, str) else json.dumps(model.shown)
    done = subprocess.run([PORTION, "replay", "--json"], capture_output=True, text=True, timeout=60, env=machine.env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (row,) = [row for row in told["tools"] if (row["server"], row["tool"]) == ("forms", "rows")]
    assert row["results"] == 1 and told["sessions"][0]["turns"] == 2
    # The request after the call had what the model was shown.
    assert row["without"]["sent"] == row["without"]["tokens"] and 0.5 < row["without"]["tokens"] / count(shown) < 1.5

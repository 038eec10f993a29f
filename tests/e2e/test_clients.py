"""Who asks decides: the official client under the names that others go by."""

import json

import pytest
from mcp_types import Implementation

from harness import tokens
from harness.command import FIXTURE, wrapped
from harness.peer import Peer
from harness.published import GIT
from harness.reply import HARD_CAP, lawful

CODEX, CLAUDE, NOBODY = "codex-mcp-client", "claude-code", "nobody-knows-it"
EVERY_LINE = {"name": "traced_log", "startLine": 1, "endLine": -1}


def through(name, *options, env=None, command=FIXTURE, mode="legacy", cwd=None):
    command = wrapped(command)
    command[2:2] = options
    return Peer(command, client_info=Implementation(name=name, version="1"), env=env, mode=mode, cwd=cwd)


def wire(reply):
    return len(json.dumps(reply.result, ensure_ascii=False, separators=(",", ":")).encode())


def both(peer):
    """A reply that nobody asked to be large, and one that somebody did."""
    plain, large = lawful(peer.call("list_bookings")), lawful(peer.call("read_text", **EVERY_LINE), HARD_CAP)
    # A cursor carries no limits: what follows obeys the same.
    lawful(peer.call("portion_read", cursor=large.next), HARD_CAP)
    return plain, large


@pytest.mark.parametrize(
    ("name", "least", "most"), [(CODEX, 6_000, 10_821), (CLAUDE, 15_000, 45_000), (NOBODY, 15_000, 65_536)]
)
def test_replies_stay_below_what_the_client_takes(name, least, most):
    with through(name) as peer:
        plain, large = both(peer)
        assert wire(plain) <= most and least <= wire(large) <= most
        assert wire(lawful(peer.call("portion_read", cursor=large.next), HARD_CAP)) <= most


def test_without_a_preset_the_tokenizer_alone_follows():
    replies = {}
    for name in (CODEX, CLAUDE, NOBODY):
        with through(name, "--preset", "none") as peer:
            replies[name] = both(peer)
            for reply in replies[name]:
                counted = sum(map(tokens.count, reply.all_texts))
                estimated = reply.meta["estimatedTokens"]
                # A cursor is charged at a constant that bounds its own tokens.
                margin = {CODEX: 0, NOBODY: counted / 10}.get(name)
                assert -8 <= estimated - counted - margin <= 64 if margin is not None else estimated > 1.1 * counted
    of_codex, of_claude, of_nobody = (wire(replies[name][1]) for name in (CODEX, CLAUDE, NOBODY))
    assert of_codex > of_nobody > 1.2 * of_claude


def test_what_the_operator_says_stands():
    with through(CODEX, "--preset", "auto", "--hard-byte-limit", "20000") as peer:
        assert 12_000 < wire(both(peer)[1]) <= 20_000
    with through(NOBODY, "--preset", "codex") as peer:
        assert wire(both(peer)[1]) <= 10_821


def test_the_variable_of_claude_code_bounds_every_reply():
    with through(CLAUDE, env={"MAX_MCP_OUTPUT_TOKENS": "2000"}) as peer:
        for reply in both(peer):
            assert 800 < sum(map(tokens.count, reply.all_texts)) <= 1_800


@pytest.mark.parametrize(("name", "least", "most"), [(CODEX, 6_000, 10_821), (NOBODY, 20_000, 65_536)])
def test_every_request_of_the_stateless_era_says_who_asks(tmp_path, name, least, most):
    GIT.fresh(tmp_path / "home")
    (tmp_path / "home/list.txt").write_text("".join(f"changed line {n}\n" for n in range(9_000)))
    command = GIT.command(tmp_path / "home")
    with through(name, "--preset", "auto", command=command, mode="2026-07-28") as peer:
        ask = {"repo_path": str(tmp_path / "home"), "startLine": 1, "endLine": 9_000}
        large = lawful(peer.call("git_diff_unstaged", **ask), HARD_CAP)
        assert least < wire(large) <= most

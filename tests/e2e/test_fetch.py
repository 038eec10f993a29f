"""`portion fetch`: whole chunks by score within a budget, of any server, directly and through Portion."""

import json
import subprocess
import sys
import time

import pytest
from mcp.client.stdio import get_default_environment

from fixture.retrieval import chunks
from harness.command import CLIENT_BIN, E2E, NODE_SERVERS, PORTION, wrapped
from harness.figures import at_most
from harness.listening import Listening, served

SDK = [str(CLIENT_BIN / "python"), str(E2E / "fixture/retrieval.py")]
SHAPES = [sys.executable, str(E2E / "fixture/retrieval.py"), "--shapes"]
SECONDS = 120
WAYS = {
    "direct": lambda server: server,
    "wrap": wrapped,
    "lean": lambda server: wrapped(server, "--lean"),
    "envelope": lambda server: wrapped(server, "--envelope", "wrap"),
    "metadata": lambda server: wrapped(server, "--metadata", "always"),
    "whole": lambda server: wrapped(server, "--allow-whole", "true"),
}


def run(server, *options, tool="search", arguments=None):
    target = ["--url", server] if isinstance(server, str) else ["--", *server]
    given = ["--args", json.dumps(arguments or {})]
    return subprocess.run(
        [PORTION, "fetch", "--tool", tool, *given, *options, *target],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=get_default_environment(),
    )


def fetched(server, *options, **call):
    """The result, and the warnings that Portion's fetch logged."""
    done = run(server, "--json", *options, **call)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == {"chunks", "truncated", "dropped", "tokens"}
    return result, warnings(done)


def warnings(done):
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [line for line in lines if line["level"] == "WARN"]


def failed(server, *options, **call):
    done = run(server, "--json", *options, **call)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["message"] in done.stderr, done
    return done.stderr


def expected(everything, budget=8192):
    """The rule, written in Python: descending score, `len(text) // 4`, whole chunks until the next would exceed."""
    kept, tokens = [], 0
    for place, chunk in enumerate(sorted(everything, key=lambda chunk: -chunk["score"])):
        cost = len(chunk["text"]) // 4
        if tokens + cost > budget and place == 0:
            continue
        if tokens + cost > budget:
            break
        kept.append(chunk)
        tokens += cost
    dropped = len(everything) - len(kept)
    return {"chunks": kept, "truncated": dropped > 0, "dropped": dropped, "tokens": tokens}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", ["list", "indented", "envelope", "lines", "fence", "blocks", "structured", "both"])
def test_r1_r2_r3_every_shape_and_way_gives_the_same(shape, way):
    """R1, R2, R3: descending score, 8,192 tokens by len4, a logged warning when anything is dropped."""
    result, warned = fetched(WAYS[way](SHAPES), arguments={"shape": shape})
    assert result == expected(chunks(20, 2000))
    assert result["truncated"]
    assert warned[-1]["dropped"] == result["dropped"] and warned[-1]["max_context_tokens"] == 8192


@pytest.mark.parametrize("way", ["direct", "wrap"])
def test_r4_r5_another_budget_and_nothing_dropped(way):
    result, warned = fetched(WAYS[way](SHAPES), "--max-context-tokens", "10000")
    assert result == expected(chunks(20, 2000), 10000) and not result["truncated"] and not warned
    result, _ = fetched(WAYS[way](SHAPES), "--max-context-tokens", "1300")
    assert result == expected(chunks(20, 2000), 1300)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", ["list", "both", "structured"])
def test_small_results_have_no_notice_among_their_chunks(shape, way):
    result, _ = fetched(WAYS[way](SHAPES), arguments={"shape": shape, "count": 2, "size": 40})
    assert result == expected(chunks(2, 40))


@pytest.mark.parametrize("way", ["direct", "wrap"])
@pytest.mark.parametrize("tool", ["search", "search_text"])
def test_a_server_of_the_python_sdk(tool, way):
    result, _ = fetched(WAYS[way](SDK), tool=tool)
    assert result == expected(chunks(20, 2000))


@pytest.mark.parametrize("way", ["direct", "wrap"])
def test_a_server_without_sessions(way):
    result, _ = fetched(WAYS[way]([*SHAPES, "--stateless"]))
    assert result == expected(chunks(20, 2000))


def test_by_url_and_behind_two_portions():
    with Listening(served("--", *SDK)) as server:
        result, _ = fetched(f"{server.url}")
        assert result == expected(chunks(20, 2000))
        # The cursors of the inner one cannot be followed: an error, never a part that passes for the whole.
        assert "behind another Portion" in failed([PORTION, "wrap", "--url", server.url])


def test_a_published_server():
    server = ["node", str(NODE_SERVERS / "server-everything/dist/index.js")]
    result, _ = fetched(server, tool="echo", arguments={"message": "one chunk"})
    assert [chunk["text"] for chunk in result["chunks"]] == ["Echo: one chunk"]


def test_plain_blocks_and_missing_scores_keep_their_order():
    for shape in ("plain", "no_score"):
        result, _ = fetched(SHAPES, arguments={"shape": shape, "count": 3, "size": 40})
        assert [chunk["text"][:8] for chunk in result["chunks"]] == ["Chunk 0.", "Chunk 1.", "Chunk 2."]


def test_names_of_the_fields_can_be_given():
    names = ["--text-field", "body.en", "--score-field", "rank", "--id-field", "key"]
    result, _ = fetched(SHAPES, *names, arguments={"shape": "other_names"})
    best = expected(chunks(20, 2000))
    assert [chunk["id"] for chunk in result["chunks"]] == [chunk["id"] for chunk in best["chunks"]]
    assert [chunk["text"] for chunk in result["chunks"]] == [chunk["body"]["en"] for chunk in result["chunks"]]
    assert result["tokens"] == best["tokens"]


def test_a_text_that_is_no_string_is_left_out_and_said():
    result, warned = fetched(SHAPES, arguments={"shape": "odd", "count": 6, "size": 40})
    assert result["dropped"] == 3 and result["truncated"] and warned[-1]["without_text"] == 3


def test_a_first_chunk_that_cannot_fit_is_said():
    result, warned = fetched(SHAPES, "--max-context-tokens", "400", arguments={"count": 3})
    assert result == {"chunks": [], "truncated": True, "dropped": 3, "tokens": 0}
    assert any("alone exceeds the budget" in warning["message"] for warning in warned)
    result, _ = fetched(SHAPES, "--max-context-tokens", "0", arguments={"count": 3})
    assert result["tokens"] == 0 and result["dropped"] == 3


def test_skip_and_value_keep_more_and_stay_within_the_budget():
    kept = {}
    for fill in ("stop", "skip", "value"):
        result, _ = fetched(SHAPES, "--fill", fill, "--max-context-tokens", "1700")
        assert result["tokens"] <= 1700 and result["dropped"] + len(result["chunks"]) == 20
        kept[fill] = len(result["chunks"])
    assert kept["stop"] <= kept["skip"] and kept["stop"] <= kept["value"]


def test_another_counter():
    result, _ = fetched(SHAPES, "--tokenizer", "o200k", arguments={"count": 1, "size": 40})
    by_length, _ = fetched(SHAPES, arguments={"count": 1, "size": 40})
    assert result["tokens"] != by_length["tokens"] == 10


@pytest.mark.parametrize("way", ["direct", "wrap"])
def test_failures_name_their_cause(way):
    server = WAYS[way](SHAPES)
    assert "no such tool" in failed(server, tool="nosuch")
    assert "the index is being built" in failed(server, arguments={"shape": "error"})
    assert "total, page" in failed(server, arguments={"shape": "no_list"})
    assert "--text-field" in failed(server, arguments={"shape": "no_text", "count": 3})
    assert "the index is broken" in failed(server, arguments={"shape": "die"})
    assert "within 1 s" in failed(server, "--timeout", "1", arguments={"shape": "sleep"})


def counted(folder, server):
    """A server that adds a line to a file when it starts."""
    return ["sh", "-c", f'echo started >> "{folder}/starts"; exec "$@"', "sh", *server]


def test_requests_on_stdin_share_a_server(tmp_path):
    everything, _ = fetched(SHAPES, "--max-context-tokens", "400", arguments={"count": 20})
    lines = [
        {"tool": "search", "arguments": {"count": 20}, "max_context_tokens": 400},
        {"tool": "nosuch"},
        {"tool": "search", "arguments": {"count": 3}, "fill": "value"},
        {"tool": "search", "arguments": {"shape": "error"}},
        {"tool": "search", "fill": "all"},
        {"arguments": {}},
    ]
    command = [PORTION, "fetch", "--requests", "--json", "--", *counted(tmp_path, SHAPES)]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, env=get_default_environment())
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0] == everything and answers[2]["truncated"] is False
    messages = [answers[number]["error"]["message"] for number in (1, 3, 4, 5)]
    for text, message in zip(["no such tool", "the index is being built", "unknown fill", "missing field"], messages):
        assert text in message, message
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_server_that_ended_is_started_for_the_next_request(tmp_path):
    lines = [{"tool": "search", "arguments": {"shape": "die"}}, {"tool": "search", "arguments": {"count": 3}}]
    command = [PORTION, "fetch", "--requests", "--", *counted(tmp_path, SHAPES)]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, env=get_default_environment())
    died, answered = [json.loads(line) for line in done.stdout.splitlines()]
    assert "did not answer" in died["error"]["message"] and len(answered["chunks"]) == 3
    assert (tmp_path / "starts").read_text() == "started\n" * 2


def test_a_server_that_cannot_be_reached():
    assert "not found on PATH" in failed(["no-such-server"])
    assert "exited with code 1" in failed(["false"])
    assert failed("http://127.0.0.1:9/mcp")


def test_wrong_usage_ends_with_code_2():
    for options in (["--args", "[1]"], ["--args", "{"], ["--fill", "all"], ["--max-context-tokens", "-1"]):
        command = [PORTION, "fetch", "--tool", "t", *options, "--", "true"]
        assert subprocess.run(command, capture_output=True).returncode == 2, options
    assert subprocess.run([PORTION, "fetch", "--tool", "t"], capture_output=True).returncode == 2


@pytest.mark.parametrize("way", ["direct", "whole", "wrap"])
def test_four_million_tokens(way):
    everything = chunks(8000, 2000)
    result, _ = fetched(WAYS[way](SHAPES), arguments={"count": 8000})
    assert result == expected(everything)


def test_it_ends_soon_after_the_server_answered():
    began = time.monotonic()
    fetched(SHAPES)
    assert time.monotonic() - began < at_most(1.5)


def test_output_for_people():
    done = run(SHAPES, arguments={"count": 2, "size": 40})
    assert done.stdout.endswith("2 of 2 chunks, 20 of 8192 tokens (len4)\n") and "--- 1 · c0" in done.stdout

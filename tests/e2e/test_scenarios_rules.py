"""R on each front: `portion fetch` from a wrapped server and from REST through `serve`; ranked replies for a model on all three."""

import json
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from mcp.client.stdio import get_default_environment

from fixture.retrieval import chunks
from harness.command import E2E, PORTION, wrapped
from harness.fronts import FRONTS, HttpShown, McpShown, get, proxy
from harness.listening import Listening, served
from harness.peer import Peer
from harness.rest_stub import RestStub, operation
from harness.waiting import until

SERVER = [sys.executable, str(E2E / "fixture/retrieval.py"), "--shapes"]
INTEGER = {"type": "integer"}
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Rules", "version": "1"},
    "paths": {"/search": {"get": operation("search", ("count", "query", INTEGER), ("size", "query", INTEGER))}},
}
RANKED = "{strategy: ranked, fill: stop, tokenBudgetThreshold: %d, hardCap: 20000, metadata: always}"
BOOK = 8192


def rules(request):
    query = {name: int(value) for name, value in request.query.items()}
    return chunks(query.get("count", 20), query.get("size", 2000))


@contextmanager
def target(front, tmp_path):
    """The arguments of `portion fetch` that reach the rules through a front."""
    if front == "wrapped":
        yield ["--", *wrapped(SERVER)]
        return
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(OPENAPI))
    with RestStub({"GET /search": rules}) as stub:
        command = served("--admin", "off", "--openapi", str(file), "--upstream", stub.url)
        with Listening(command) as process:
            yield ["--url", process.url]


def fetched(arguments, count=20, budget=BOOK):
    command = [PORTION, "fetch", "--tool", "search", "--args", json.dumps({"count": count, "size": 2000}), "--json"]
    command += ["--max-context-tokens", str(budget), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=get_default_environment())
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return json.loads(done.stdout), [line for line in lines if line["level"] == "WARN"]


def best(count, budget=BOOK):
    """Whole chunks by descending score, until the next would exceed the budget by `len(text) // 4`."""
    kept, tokens = [], 0
    for chunk in sorted(chunks(count, 2000), key=lambda chunk: -chunk["score"]):
        if tokens + len(chunk["text"]) // 4 > budget:
            break
        kept.append(chunk)
        tokens += len(chunk["text"]) // 4
    return kept


@pytest.mark.parametrize("front", ["wrapped", "REST through serve"])
def test_r1_r2_r3_descending_scores_whole_chunks_and_a_warning_for_what_was_dropped(front, tmp_path):
    with target(front, tmp_path) as arguments:
        result, warned = fetched(arguments)
    assert result["chunks"] == best(20) and result["truncated"] is True
    assert warned[-1]["dropped"] == result["dropped"] == 20 - len(best(20))


@pytest.mark.parametrize("front", ["wrapped", "REST through serve"])
def test_r4_nothing_dropped_is_not_truncated(front, tmp_path):
    with target(front, tmp_path) as arguments:
        result, warned = fetched(arguments, count=5)
    assert result["chunks"] == best(5) and result["truncated"] is False and not warned


@pytest.mark.parametrize("front", ["wrapped", "REST through serve"])
@pytest.mark.parametrize("budget", [1300, 9500])
def test_r5_another_budget_is_obeyed(front, budget, tmp_path):
    with target(front, tmp_path) as arguments:
        result, _ = fetched(arguments, budget=budget)
    assert result["chunks"] == best(20, budget)


@contextmanager
def ranked(front, tmp_path, budget=BOOK, *options):
    """The rules for a model that asks itself: a reply has the best whole records within the budget, notice included.

    Gives a function of the number of rules, and what was logged.
    """
    file, description = tmp_path / "portion.yaml", tmp_path / "openapi.json"
    endpoint = "GET /search" if front == "portion http" else "search"
    file.write_text(f"tokenizer: len4\nendpoints:\n  {endpoint}: {RANKED % budget}\n")
    options = ["--config", str(file), *options]
    with ExitStack() as stack:
        if front == "wrapped":
            peer = stack.enter_context(Peer(wrapped(SERVER, *options), mode="legacy"))
            yield lambda count: McpShown(peer.call("search", count=count, size=2000, shape="unescaped")), peer.said
            return
        stub = stack.enter_context(RestStub({"GET /search": rules}))
        target = ["--admin", "off", "--upstream", stub.url, *options]
        if front == "portion http":
            process = stack.enter_context(Listening(proxy(*target)))
            search = lambda count: HttpShown(get(f"{process.url}/search", {"count": count, "size": 2000}))  # noqa: E731
        else:
            description.write_text(json.dumps(OPENAPI))
            process = stack.enter_context(Listening(served("--openapi", str(description), *target)))
            peer = stack.enter_context(Peer(process.url))
            search = lambda count: McpShown(peer.call("search", count=count, size=2000))  # noqa: E731
        yield search, lambda: "".join(process.said)


def warnings(said):
    return [line for line in said().splitlines() if "WARN" in line and "ranked results" in line]


@pytest.mark.parametrize("front", FRONTS)
def test_r1_r2_r3_for_a_model(front, tmp_path):
    """Without any option for the log: what was dropped is a warning, which is logged by default."""
    with ranked(front, tmp_path) as (search, said):
        shown = search(20)
        served_ = json.loads(shown.text)
        assert served_ == best(20)[: len(served_)], "descending, whole, and the best"
        costs = [len(chunk["text"]) // 4 for chunk in best(20)]
        assert sum(costs[: len(served_)]) <= BOOK and len(served_) >= len(costs) - 2, "as many as fit beside the notice"
        assert (shown.meta["truncated"], shown.meta["dropped"]) == (True, 20 - len(served_))
        [warning] = until(lambda: warnings(said), "the dropped results are a warning", told=said)
    assert f"dropped={20 - len(served_)}" in warning and "search" in warning


@pytest.mark.parametrize("front", FRONTS)
def test_r3_the_warning_for_a_model_is_structured(front, tmp_path):
    with ranked(front, tmp_path, BOOK, "--log-format", "json") as (search, said):
        dropped = search(20).meta["dropped"]
        [warning] = until(lambda: warnings(said), "the dropped results are a warning", told=said)
    event = json.loads(warning)
    endpoint = "GET /search" if front == "portion http" else "search"
    assert (event["level"], event["endpoint"], event["dropped"]) == ("WARN", endpoint, dropped)


@pytest.mark.parametrize("front", FRONTS)
def test_r4_for_a_model(front, tmp_path):
    with ranked(front, tmp_path, BOOK, "--log-level", "info") as (search, said):
        shown = search(3)
        assert json.loads(shown.text) == best(3), "all of them, by score"
        assert shown.meta["truncated"] is False
        until(lambda: "INFO" in said(), "the decision is logged", told=said)
    assert not warnings(said)


@pytest.mark.parametrize("front", FRONTS)
def test_r5_for_a_model(front, tmp_path):
    with ranked(front, tmp_path, 2600) as (search, _):
        assert 2 <= len(json.loads(search(20).text)) <= 5

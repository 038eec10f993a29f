"""R on each front: `portion fetch` from a wrapped server and from REST through `serve`; ranked replies of `portion http`."""

import json
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from mcp.client.stdio import get_default_environment

from fixture.retrieval import chunks
from harness.command import E2E, PORTION, wrapped
from harness.fronts import HttpShown, get, proxy
from harness.listening import Listening, served
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
def ranked(tmp_path, budget=BOOK):
    """The rules behind `portion http`: a reply has the best whole records within the budget, notice included."""
    file = tmp_path / "portion.yaml"
    file.write_text(f"logLevel: info\ntokenizer: len4\nendpoints:\n  GET /search: {RANKED % budget}\n")
    with ExitStack() as stack:
        stub = stack.enter_context(RestStub({"GET /search": rules}))
        process = stack.enter_context(Listening(proxy("--admin", "off", "--upstream", stub.url, "--config", str(file))))
        yield lambda count: HttpShown(get(f"{process.url}/search", {"count": count, "size": 2000})), process


def test_r1_r2_r3_over_http(tmp_path):
    with ranked(tmp_path) as (search, process):
        shown = search(20)
        served_ = json.loads(shown.text)
        assert served_ == best(20)[: len(served_)], "descending, whole, and the best"
        costs = [len(chunk["text"]) // 4 for chunk in best(20)]
        assert sum(costs[: len(served_)]) <= BOOK and len(served_) >= len(costs) - 2, "as many as fit beside the notice"
        assert (shown.meta["truncated"], shown.meta["dropped"]) == (True, 20 - len(served_))
    assert any("INFO" in line and "GET /search" in line for line in process.said)
    dropped = f"dropped={20 - len(served_)}"
    warned = lambda: any("WARN" in line and "GET /search" in line and dropped in line for line in process.said)  # noqa: E731
    until(warned, "the dropped results are a warning", told=lambda: "".join(process.said))


def test_r4_over_http(tmp_path):
    with ranked(tmp_path) as (search, _):
        assert json.loads(search(3).text) == best(3), "all of them, by score"


def test_r5_over_http(tmp_path):
    with ranked(tmp_path, budget=2600) as (search, _):
        assert 2 <= len(json.loads(search(20).text)) <= 5

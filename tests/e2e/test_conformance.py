"""The official conformance suites, check by check: what passes directly passes through Portion.

In front of the same fixture server over HTTP and over stdio, in both protocol eras.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from conformance.suites import SUITES, count, worse
from harness.command import with_sdk
from harness.listening import Listening, served

FIXTURE = with_sdk("conformance/server.py")

ROUTES = {
    "direct": lambda start: start([*FIXTURE, "--port", "0"]),
    "HTTP": lambda start: start(served("--url", start([*FIXTURE, "--port", "0"]))),
    "stdio": lambda start: start(served("--", *FIXTURE, "--stdio")),
}

NOT_OVER = {
    "stdio": {
        ("server-sse-polling", "server-sse-disconnect-resume"): (
            "it is the server that ends its stream in the middle of a call, which one on stdio does not have; "
            "the answer comes on the stream of the call, and the suite leaves it at a note"
        ),
    }
}
"""Checks that by their nature cannot come up over a route, each with the reason; none of them may fail there."""


def run(suite, route, folder):
    """The suite's checks over a route of its own, so that runs side by side do not meet."""
    with ExitStack() as stack:
        url = ROUTES[route](lambda command: stack.enter_context(Listening(command)).url)
        return suite.run(url, folder)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, request):
    """Every suite over every route, a few side by side; (suite, route) to a future of its checks."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = {
            (suite.name, route): pool.submit(run, suite, route, tmp_path_factory.mktemp("checks"))
            for suite in sorted(SUITES, key=lambda suite: -suite.passed)
            for route in ROUTES
        }
        yield runs
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        tell(runs)


def tell(runs):
    print("\n" + "".join(f"{title:>20}" for title in ("checks passed", *ROUTES)))
    for suite in SUITES:
        cells = []
        for route in ROUTES:
            done = runs[suite.name, route]
            checks = {} if done.exception() else done.result()
            cells.append(f"{count(checks, 'SUCCESS')} / {count(checks, 'SUCCESS') + count(checks, 'FAILURE')}")
        print("".join(f"{cell:>20}" for cell in (suite.name, *cells)))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: re.sub(r"\W+", "_", suite.name))
def test_the_fixture_server_passes(outcomes, suite):
    """The baseline: were it to sink, the comparison below would say less than it seems to."""
    checks = outcomes[suite.name, "direct"].result()
    assert (count(checks, "SUCCESS"), count(checks, "FAILURE")) == (suite.passed, 0)


@pytest.mark.parametrize("route", ["HTTP", "stdio"])
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: re.sub(r"\W+", "_", suite.name))
def test_what_passes_directly_passes_through_portion(outcomes, suite, route, tmp_path):
    direct = outcomes[suite.name, "direct"].result()
    lost = worse(direct, outcomes[suite.name, route].result(), NOT_OVER.get(route, {}))
    if any("aborted due to timeout" in line for line in lost):
        # The suite waits a few seconds for each answer, which a server that starts beside other suites may miss.
        lost = worse(direct, run(suite, route, tmp_path), NOT_OVER.get(route, {}))
    assert not lost, "\n".join(lost)

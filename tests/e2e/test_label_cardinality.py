"""What callers and servers choose does not multiply the series of the metrics."""

import json
import re

import pytest

from harness.command import PORTION, RAW_FIXTURE
from harness.listening import Listening
from harness.rest_stub import RestStub
from harness.talk import OverHttp
from harness.waiting import until
from test_http_api import get

MAX_ENDPOINTS = 200
NAMES = 400
LABEL = re.compile(r'endpoint="((?:[^"\\]|\\.)*)"')


def metrics(front):
    address = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")[1]
    return get(f"{address}/metrics").text.splitlines()


def counted(front):
    series = [line for line in metrics(front) if line.startswith("portion_requests_total{")]
    return sum(int(line.rpartition(" ")[2]) for line in series)


def check(front, count, least=MAX_ENDPOINTS):
    """Metrics are counted a moment after each reply."""
    until(lambda: counted(front) >= count, "all are counted, those without a name of their own together", told=lambda: counted(front))
    lines = metrics(front)
    named = {label for line in lines for label in LABEL.findall(line)}
    assert least <= len(named) <= MAX_ENDPOINTS + 2, len(named)
    assert len(lines) < 100 * (len(named) + 10), len(lines)
    assert max(map(len, lines)) < 4_000


@pytest.fixture
def serving():
    with Listening([*RAW_FIXTURE, "--http"]) as raw:
        command = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--url", f"{raw.url}/mcp"]
        with Listening([PORTION, *command], env={"PORTION_LOG": "info"}) as front:
            yield front


def test_names_of_tools(serving):
    session = OverHttp(serving.url)
    session.open()
    for number in range(NAMES):
        name = f"tool_{number}" if number % 2 else f'"}}\n{number} ' + "x" * 2_000
        line = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": {}}}
        session.ask(json.dumps(line))
    check(serving, NAMES)


def test_uris_of_resources_and_methods(serving):
    session = OverHttp(serving.url)
    session.open()
    for number in range(NAMES):
        line = {"jsonrpc": "2.0", "id": number, "method": "resources/read", "params": {"uri": f"x://{number}"}}
        session.ask(json.dumps(line if number % 2 else line | {"method": f"x-{number}/call"}))
    check(serving, NAMES // 2, least=1)


def test_paths_of_an_api():
    rows = [{"id": number, "status": "confirmed"} for number in range(3)]
    with RestStub({"GET /{section}/{name}": lambda _: rows}) as stub:
        command = ["http", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--upstream", stub.url]
        with Listening([PORTION, *command], env={"PORTION_LOG": "info"}) as front:
            letters = "abcdefghijklmnopqrst"
            for one in letters:
                for other in letters:
                    get(f"{front.url}/section-{one}{other}/names")
            check(front, NAMES)

"""The Inspector's command line, one process a request, on every pairing."""

import itertools
import json
import os
import subprocess
import uuid

import pytest

from fixture import corpus
from harness.command import NODE_SERVERS, PORTION, SDK_FIXTURE
from harness.pairing import FRONTS, UPSTREAMS, Listening, pairing, upstream
from harness.reply import exact, lawful, pages_joined

INSPECTOR = ["node", str(NODE_SERVERS / "inspector/clients/launcher/build/index.js"), "--cli"]
PAIRINGS = list(itertools.product(FRONTS, UPSTREAMS))
SECONDS = 60


class Inspector:
    def __init__(self, target, home):
        if "command" in target:
            command, *arguments = target["command"]
            server = {"type": "stdio", "command": command, "args": arguments}
        else:
            # Each call is a session of its own: the credential makes them one caller's.
            headers = {"Authorization": "Bearer inspector"}
            server = {"type": "streamable-http", "url": target["url"], "headers": headers}
        self._config = home / f"{uuid.uuid4().hex}.json"
        self._config.write_text(json.dumps({"mcpServers": {"it": server}}))
        self._env = os.environ | {"HOME": str(home)}

    def ask(self, method, *options):
        server = ["--config", str(self._config), "--server", "it"]
        command = [*INSPECTOR, *server, "--quiet", "--format", "json", "--method", method, *options]
        told = subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=SECONDS)
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)["result"]

    def call(self, tool, /, **arguments):
        return self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


@pytest.fixture(scope="module")
def server():
    with Listening([*SDK_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def direct(server, home):
    return Inspector({"url": f"{server.url}/mcp"}, home)


@pytest.fixture(scope="module", params=PAIRINGS, ids=" to ".join)
def through(request, server, home):
    front, kind = request.param
    with pairing(front, *upstream(kind, child=SDK_FIXTURE, base=server.url)) as target:
        inspector = Inspector(target, home)
        inspector.stays = front == "http"
        yield inspector


@pytest.fixture(scope="module")
def small(direct):
    return direct.call("echo", text="é \u2028 \\u0041")


def test_the_tools_are_listed(through):
    names = [tool["name"] for tool in through.ask("tools/list")["tools"]]
    assert names[0] == "list_bookings" and "portion_read" in names


def test_a_small_call_is_answered_as_without_us(through, small):
    assert through.call("echo", text="é \u2028 \\u0041") == small


def test_a_big_result_is_walked_where_portion_lives_on(through):
    first = lawful(through.call("list_bookings", count=70))
    assert first.structured["bookings"] and first.next
    if not through.stays:
        return
    assert pages_joined(through, first, "bookings") == exact(corpus.bookings(70))


def test_a_resource_and_a_prompt_are_read_in_chunks(through):
    for first in (
        lawful(through.ask("resources/read", "--uri", "fixture://manual")),
        lawful(through.ask("prompts/get", "--prompt-name", "review_manual")),
    ):
        assert first.next and corpus.manual().startswith(first.text)


def test_a_server_can_be_named_on_the_inspectors_command_line(home):
    # It drops the `--` of `portion wrap -- COMMAND`.
    options = ["--quiet", "--format", "json", "--method", "tools/list"]
    command = [*INSPECTOR, PORTION, "wrap", "--", *SDK_FIXTURE, *options]
    told = subprocess.run(command, env=os.environ | {"HOME": str(home)}, capture_output=True, text=True, timeout=SECONDS)
    assert told.returncode == 0, told.stderr
    assert "portion_read" in [tool["name"] for tool in json.loads(told.stdout)["result"]["tools"]]

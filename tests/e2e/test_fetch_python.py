"""The wheel: it installs into a fresh environment, and its module gives typed results."""

import json
import os
import subprocess
import sys
import venv

import pytest

from harness.command import E2E, PORTION, REPOSITORY

SERVER = [sys.executable, str(E2E / "fixture/retrieval.py"), "--shapes"]
SCRIPT = """
import asyncio, json, logging, sys
from portion_client import Chunk, Client, FetchError, FetchResult, fetch, fetch_async, find_binary
import portion_client
logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
server = json.loads(sys.argv[1])
result = fetch("search", {"count": 20}, command=server)
assert isinstance(result, FetchResult) and all(isinstance(chunk, Chunk) for chunk in result.chunks)
again = asyncio.run(fetch_async("search", {"count": 20}, command=server))
assert again == result
names = dict(text_field="body.en", score_field="rank", id_field="key")
other = fetch("search", {"count": 20, "shape": "other_names"}, command=server, **names)
assert [(c.id, c.text, c.score) for c in other.chunks] == [(c.id, c.text, c.score) for c in result.chunks]
everything = fetch("search", {"count": 3}, command=server, fill="value", max_context_tokens=100000)
assert not everything.truncated and everything.dropped == 0
errors = []
for call in (
    lambda: fetch("nosuch", command=server),
    lambda: fetch("search", {"shape": "no_list"}, command=server),
    lambda: fetch("search", {"shape": "sleep"}, command=server, timeout=1),
    lambda: asyncio.run(fetch_async("search", {"shape": "die"}, command=server)),
    lambda: fetch("search"),
    lambda: fetch("search", command=server, fill="all"),
):
    try:
        call()
    except FetchError as error:
        errors.append(str(error))
with Client(command=["sh", "-c", 'echo started >> starts; exec "$@"', "sh", *server]) as client:
    assert client.fetch("search", {"count": 20}) == result
    try:
        client.fetch("nosuch")
    except FetchError as error:
        assert "no such tool" in str(error), error
    assert asyncio.run(client.fetch_async("search", {"count": 3}, fill="value", max_context_tokens=100000)) == everything
assert open("starts").read() == "started\\n"
print(json.dumps({
    "binary": find_binary(), "module": portion_client.__file__, "errors": errors,
    "tokens": [len(chunk.text) // 4 for chunk in result.chunks], "sum": result.tokens,
    "scores": [chunk.score for chunk in result.chunks], "truncated": result.truncated, "dropped": result.dropped,
}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of a fresh environment with the wheel."""
    scratch = tmp_path_factory.mktemp("wheel")
    line = [sys.executable, str(REPOSITORY / "python/build_wheel.py"), "--binary", PORTION, "--out", str(scratch)]
    wheel = subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()
    venv.create(scratch / "venv", symlinks=True)
    python = scratch / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, check=True)
    return python


def test_the_module_fetches_typed_chunks(python, tmp_path):
    # The module would take this program rather than its own.
    env = {name: value for name, value in os.environ.items() if name != "PORTION_BIN"}
    line = [python, "-c", SCRIPT, json.dumps(SERVER)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    venv_root = str(python.parents[1])
    assert told["binary"].startswith(venv_root) and told["module"].startswith(venv_root)
    assert sum(told["tokens"]) == told["sum"] <= 8192
    assert told["scores"] == sorted(told["scores"], reverse=True)
    assert told["truncated"] and told["dropped"] == 20 - len(told["scores"])
    assert "WARNING:portion_client:chunks were left out" in done.stderr
    expect = ["no such tool", "no list", "within 1", "the index is broken", "either command or url", "unknown fill"]
    assert len(told["errors"]) == len(expect)
    for text, error in zip(expect, told["errors"]):
        assert text in error, error


def test_the_module_is_marked_as_typed(python):
    code = "import portion_client, pathlib; print((pathlib.Path(portion_client.__file__).parent / 'py.typed').exists())"
    assert subprocess.run([python, "-c", code], capture_output=True, text=True).stdout == "True\n"

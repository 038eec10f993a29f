"""Small messages that mean much: JSON a million levels deep, and bodies that expand to a GiB, cost little memory."""

import base64
import json
import os
import struct
import zlib

import pytest
import requests

from harness.command import FILES_FIXTURE, PORTION, RAW_FIXTURE
from harness.listening import Listening, served
from harness.memory import MEBIBYTE, peak_bytes, reset_peak
from harness.rest_stub import Response, RestStub
from harness.talk import ACCEPT
from harness.wire import Wire

LEVELS = 1_000_000
DEEP = b"[" * LEVELS + b"]" * LEVELS
POST = {"Content-Type": "application/json", "Accept": ACCEPT}
TIMES = 10
"""The most memory for a byte of a message."""
MEBIBYTES = 128
"""The most that may ever be resident for a bomb."""
BOMB_MEBIBYTES = int(os.environ.get("BOMB_MEBIBYTES", "300"))
"""Above `upstreamMessageLimit`."""


def costs_little(process, before, size):
    assert peak_bytes(process) - before <= TIMES * size, f"{(peak_bytes(process) - before) / size:.1f} bytes for each"


RESULTS = {
    "beside the content": b'{"content":[{"type":"text","text":"x"}],"x":%b}',
    "structured": b'{"content":[],"structuredContent":{"x":%b}}',
    "text": b'{"content":[{"type":"text","text":"%b"}]}',
    "whole": b"%b",
}


@pytest.mark.parametrize("place", RESULTS)
def test_deep_json_in_a_result(tmp_path, place):
    (tmp_path / "deep").write_bytes(RESULTS[place] % DEEP)
    (tmp_path / "small").write_bytes(b'{"content":[]}')
    (tmp_path / "usual").write_bytes(RESULTS[place] % b"[1,2,3]" if place != "text" else RESULTS[place] % (b"some words " * 2_000))
    with Wire([PORTION, "wrap", "--", *FILES_FIXTURE, str(tmp_path)]) as wire:
        wire.open()
        wire.call(1, "usual")
        before = reset_peak(wire.process)
        answer = wire.call(2, "deep")
        assert len(answer) < 80_000 and json.loads(answer.replace(b"[" * 500, b"").replace(b"]" * 500, b""))["id"] == 2
        costs_little(wire.process, before, len(DEEP))
        assert json.loads(wire.call(3, "small"))["result"]["content"] == []


@pytest.mark.parametrize("place", [place for place in RESULTS if place != "text"])
def test_a_long_key_around_deep_arrays(tmp_path, place):
    document = b'{"%b":%b1%b}' % (b"k" * 50_000, b"[" * 5_000, b"]" * 5_000)
    (tmp_path / "deep").write_bytes(RESULTS[place] % document)
    with Wire([PORTION, "wrap", "--redact", "--", *FILES_FIXTURE, str(tmp_path)]) as wire:
        wire.open()
        assert len(wire.call(1, "deep")) < 80_000
        assert peak_bytes(wire.process) < MEBIBYTES * MEBIBYTE


@pytest.fixture
def raw():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture
def front(raw):
    with Listening(served("--admin", "off", "--url", f"{raw.url}/mcp")) as front:
        yield front


@pytest.mark.parametrize("body", [DEEP, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}' % DEEP], ids=["whole", "inside"])
def test_deep_json_of_a_client(front, body):
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert requests.post(front.url, ping, headers=POST, timeout=60).status_code == 200
    before = reset_peak(front.process)
    # The fixture cannot read it, which ends its connection.
    assert requests.post(front.url, body, headers=POST, timeout=60).status_code in (200, 400, 502)
    costs_little(front.process, before, len(body))
    assert requests.post(front.url, ping, headers=POST, timeout=60).status_code == 200


def test_deep_json_of_an_api():
    with RestStub({"GET /deep": lambda _: Response(DEEP), "GET /small": lambda _: {"a": 1}}) as stub:
        with Listening([PORTION, "http", "--listen", "127.0.0.1:0", "--admin", "off", "--upstream", stub.url]) as proxy:
            assert requests.get(f"{proxy.url}/small", timeout=60).json() == {"a": 1}
            before = reset_peak(proxy.process)
            answer = requests.get(f"{proxy.url}/deep", timeout=60)
            assert answer.status_code == 200 and len(answer.content) <= 65_536
            costs_little(proxy.process, before, len(DEEP))
            assert requests.get(f"{proxy.url}/small", timeout=60).json() == {"a": 1}


def deflated(wbits):
    """A JSON string of so many MiB."""
    coder = zlib.compressobj(9, wbits=wbits)
    spaces = b" " * (1 << 20)
    return b"".join([coder.compress(b'"'), *(coder.compress(spaces) for _ in range(BOMB_MEBIBYTES)), coder.compress(b'"'), coder.flush()])


def zstd():
    """A JSON string of a GiB in 33 KB: each block of 128 KiB is one byte, repeated."""
    block = lambda kind, size, content, last=0: struct.pack("<I", last | kind << 1 | size << 3)[:3] + content
    return b"\x28\xb5\x2f\xfd\x00\x38" + block(0, 1, b'"') + block(1, 128 << 10, b" ") * 8192 + block(0, 1, b'"', 1)


BOMBS = {"gzip": lambda: deflated(31), "deflate": lambda: deflated(15), "zstd": zstd}
CALL = '{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"say","arguments":{}}}'


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_of_a_server(front, coding):
    order = {"headers": [["Content-Type", "application/json"], ["Content-Encoding", coding.upper()]], "chunks": [base64.b64encode(BOMBS[coding]()).decode()]}
    headers = POST | {"X-Say": base64.b64encode(json.dumps(order).encode()).decode()}
    if len(headers["X-Say"]) > 60_000:
        pytest.skip("the fixture takes no longer header field, and test_http_edge has such a bomb")
    answer = requests.post(front.url, CALL, headers=headers, timeout=300)
    assert len(answer.content) < 80_000 and b'"c-1"' in answer.content
    assert peak_bytes(front.process) < MEBIBYTES * MEBIBYTE


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_of_an_api(coding):
    bomb = Response(BOMBS[coding](), headers={"content-encoding": coding})
    with RestStub({"GET /bomb": lambda _: bomb, "GET /small": lambda _: {"a": 1}}) as stub:
        with Listening([PORTION, "http", "--listen", "127.0.0.1:0", "--admin", "off", "--upstream", stub.url]) as proxy:
            answer = requests.get(f"{proxy.url}/bomb", timeout=300, stream=True)
            said = answer.raw.read(1 << 20, decode_content=False)
            assert len(said) < 65_536, "an error, or the bomb as it came, for the client to refuse"
            print(coding, answer.status_code, said[:200])
            assert peak_bytes(proxy.process) < MEBIBYTES * MEBIBYTE
            assert requests.get(f"{proxy.url}/small", timeout=60).json() == {"a": 1}

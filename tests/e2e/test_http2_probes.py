"""Invalid HTTP/2 on the listener of `portion http`: each connection or stream is ended as RFC 9113 says, and others go on."""

import socket
import struct
from urllib.parse import urlsplit

import pytest
import requests

from harness.command import PORTION
from harness.listening import Listening
from harness.rest_stub import RestStub

SECONDS = 60
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 1, 1, 4, 8, 32
BAD_REQUEST = 0x8C
"""The status 400 in HPACK."""


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(text):
    """A string of HPACK, without Huffman coding."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, coded = len(text) - 127, b"\x7f"
    while rest >= 128:
        coded, rest = coded + bytes([rest % 128 + 128]), rest // 128
    return coded + bytes([rest]) + text


def fields(*pairs):
    return b"".join(b"\0" + literal(name) + literal(value) for name, value in pairs)


def request(*more, method=b"GET", scheme=b"http", path=b"/items", authority=b"localhost"):
    pseudo = {b":method": method, b":scheme": scheme, b":path": path, b":authority": authority}
    return fields(*((name, value) for name, value in pseudo.items() if value is not None), *more)


def headers(block=None, flags=END_STREAM | END_HEADERS, stream=1):
    return frame(HEADERS, flags, stream, request() if block is None else block)


def setting(number, value):
    return frame(SETTINGS, payload=struct.pack(">HI", number, value))


BODY = END_HEADERS
START = frame(SETTINGS)
LAST = headers(stream=101)

# The library accepts a request before the first settings. Nothing follows from that, so it is no case here.
ENDS_THE_CONNECTION = {
    "another preface": b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + START,
    "settings of a wrong length": frame(SETTINGS, payload=b"abc"),
    "settings of a stream": frame(SETTINGS, stream=1),
    "an acknowledgement with content": frame(SETTINGS, ACK, payload=b"abcdef"),
    "push that is neither on nor off": setting(2, 2),
    "a window beyond its limit": setting(4, 1 << 31),
    "a frame size below its limit": setting(5, 1),
    "a frame size beyond its limit": setting(5, 1 << 24),
    "a ping of a wrong length": frame(PING, payload=b"abc"),
    "a ping of a stream": frame(PING, stream=1, payload=b"abcdefgh"),
    "data of no stream": frame(DATA, stream=0, payload=b"x"),
    "data of an idle stream": frame(DATA, stream=5, payload=b"x"),
    "a head of no stream": headers(stream=0),
    "a stream of the server": headers(stream=2),
    "a stream of a lower number": headers(stream=5) + headers(stream=3),
    "a frame beyond the limit": headers(flags=BODY) + frame(DATA, stream=1, payload=b"x" * 20_000),
    "a head beyond the frame limit": headers(b"x" * 20_000),
    "a window of nothing": frame(WINDOW_UPDATE, payload=struct.pack(">I", 0)),
    "a window that overflows": frame(WINDOW_UPDATE, payload=struct.pack(">I", (1 << 31) - 1)),
    "a window of a wrong length": frame(WINDOW_UPDATE, payload=b"abc"),
    "a window of an idle stream": frame(WINDOW_UPDATE, stream=7, payload=struct.pack(">I", 1)),
    "a continuation of nothing": frame(CONTINUATION, END_HEADERS, 1, request()),
    "a ping within a head": headers(flags=END_STREAM) + frame(PING, payload=b"abcdefgh"),
    "a head within a head": headers(flags=END_STREAM) + headers(stream=3),
    "a continuation of another stream": headers(flags=END_STREAM) + frame(CONTINUATION, END_HEADERS, 3, b""),
    "a reset of no stream": frame(RST_STREAM, payload=struct.pack(">I", 8)),
    "a reset of an idle stream": frame(RST_STREAM, stream=9, payload=struct.pack(">I", 8)),
    "a reset of a wrong length": headers(flags=BODY) + frame(RST_STREAM, stream=1, payload=b"abc"),
    "a goaway of a stream": frame(GOAWAY, stream=1, payload=b"\0" * 8),
    "a promise of a client": headers(flags=BODY) + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + request()),
    "padding longer than its frame": headers(flags=BODY) + frame(DATA, PADDED, 1, b"\x20abc"),
    "padding of a head longer than it": headers(b"\xff" + request(), flags=END_STREAM | END_HEADERS | PADDED),
    "an index beyond the table": headers(b"\xff\xff\xff\x7f"),
    "a table beyond its limit": headers(b"\x3f\xff\xff\x7f" + request()),
    "a string beyond its head": headers(b"\0\x7f\xff\x7fab"),
    "continuations without end": headers(flags=END_STREAM) + frame(CONTINUATION, 0, 1, fields((b"x-a", b"b" * 100))) * 20_000,
    "empty continuations without end": headers(flags=END_STREAM) + frame(CONTINUATION, 0, 1) * 200_000,
}

ENDS_THE_STREAM = {
    "a name in capitals": request((b"X-A", b"1")),
    "a name with a space": request((b"x a", b"1")),
    "an empty name": request((b"", b"1")),
    "a value with CR": request((b"x-a", b"a\rb")),
    "a value with LF": request((b"x-a", b"a\nhost: evil.example")),
    "a value with NUL": request((b"x-a", b"a\0b")),
    "a field of the connection": request((b"connection", b"keep-alive")),
    "keep-alive": request((b"keep-alive", b"1")),
    "a proxy's connection": request((b"proxy-connection", b"close")),
    "a transfer coding": request((b"transfer-encoding", b"chunked")),
    "an upgrade": request((b"upgrade", b"websocket")),
    "other codings of the transfer": request((b"te", b"gzip")),
    "a pseudo field after others": fields((b"x-a", b"1")) + request(),
    "an unknown pseudo field": request((b":x", b"1")),
    "a field of responses": request((b":status", b"200")),
    "no method": request(method=None),
    "no scheme": request(scheme=None),
    "no path": request(path=None),
    "an empty path": request(path=b""),
    "a path that is none": request(path=b"items"),
    "an asterisk": request(path=b"*"),
    "a path with a space": request(path=b"/items /smuggled"),
    "a path with CR": request(path=b"/items\r\nx: y"),
    "two methods": fields((b":method", b"POST")) + request(),
    "two paths": fields((b":path", b"/smuggled")) + request(),
    "a method that is no token": request(method=b"G T"),
    "no host at all": request(authority=None),
    "a host that is none": request(authority=b"local host"),
    "a foreign host": request(authority=b"evil.example"),
    "a length that is none": request((b"content-length", b"x")),
    "a length without a body": request((b"content-length", b"5")),
    "two lengths": request((b"content-length", b"0"), (b"content-length", b"5")),
    "a tunnel": fields((b":method", b"CONNECT"), (b":authority", b"localhost:80")),
}


@pytest.fixture(scope="module")
def stub():
    with RestStub({"* /items": lambda _: {"id": 1}}) as stub:
        yield stub


@pytest.fixture(scope="module")
def proxy(stub):
    with Listening([PORTION, "http", "--upstream", stub.url, "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
        yield proxy


def answers(url, data, streams=(101,)):
    """Frames of the answer, as kind, flags, stream and content, until all `streams` are answered or the connection ends."""
    at, open_streams = urlsplit(url), set(streams)
    with socket.create_connection((at.hostname, at.port), timeout=SECONDS) as connection:
        said, found = b"", []
        try:
            connection.sendall(data)
            while True:
                while len(said) >= 9 and len(said) >= 9 + int.from_bytes(said[:3]):
                    end = 9 + int.from_bytes(said[:3])
                    found.append((said[3], said[4], int.from_bytes(said[5:9]), said[9:end]))
                    said = said[end:]
                    kind, _, stream, _ = found[-1]
                    if kind in (HEADERS, RST_STREAM):
                        open_streams.discard(stream)
                    if kind == GOAWAY or not open_streams:
                        return found
                more = connection.recv(65536)
                if not more:
                    return found
                said += more
        except ConnectionError:
            return found


def is_answered(found, stream=101):
    return any(kind == HEADERS and number == stream for kind, _, number, _ in found)


@pytest.mark.parametrize("case", ENDS_THE_CONNECTION)
def test_a_violation_ends_its_connection(proxy, case):
    begin = ENDS_THE_CONNECTION[case]
    data = begin if begin.startswith(b"PRI") else PREFACE + START + begin
    assert not is_answered(answers(proxy.url, data + LAST))
    assert requests.get(f"{proxy.url}/items", timeout=SECONDS).json() == {"id": 1}


@pytest.mark.parametrize("case", ENDS_THE_STREAM)
def test_an_invalid_request_ends_its_stream(proxy, stub, case):
    stub.told()
    found = answers(proxy.url, PREFACE + START + headers(ENDS_THE_STREAM[case]) + LAST, streams=(1, 101))
    of_it = [(kind, content) for kind, _, number, content in found if number == 1]
    ended = any(kind == GOAWAY for kind, *_ in found) or any(kind == RST_STREAM for kind, _ in of_it)
    refused = any(kind == HEADERS and content[0] != 0x88 for kind, content in of_it)
    assert ended or refused or not found, found
    reached = [(asked.method, asked.target) for asked in stub.told()]
    assert len(reached) <= 1 and set(reached) <= {("GET", "/items")}, reached


def test_more_or_less_data_than_announced_never_looks_whole(proxy, stub):
    for sent in (b"abc", b"abcdefgh"):
        stub.told()
        begin = headers(request((b"content-length", b"5"), method=b"POST"), flags=BODY)
        found = answers(proxy.url, PREFACE + START + begin + frame(DATA, END_STREAM, 1, sent) + LAST)
        assert any(kind in (RST_STREAM, GOAWAY) or (kind == HEADERS and number == 1) for kind, _, number, _ in found)
        assert sent not in [asked.body for asked in stub.told()]


def test_valid_requests_are_answered(proxy, stub):
    stub.told()
    split = request((b"x-a", b"1"))
    cases = [
        headers(),
        headers(split[:10], flags=END_STREAM) + frame(CONTINUATION, END_HEADERS, 1, split[10:]),
        headers(b"\x02" + request() + b"\0\0", flags=END_STREAM | END_HEADERS | PADDED),
        headers(b"\0\0\0\0\x10" + request(), flags=END_STREAM | END_HEADERS | PRIORITIZED),
        headers(request(method=b"POST"), flags=BODY) + frame(DATA, 0, 1, b"ab") + frame(DATA, END_STREAM, 1, b""),
        headers(request((b"te", b"trailers"))),
        frame(99, 255, 0, b"unknown") + headers() + frame(99, 255, 1, b"unknown"),
        setting(99, 1) + headers(),
        frame(PING, payload=b"abcdefgh") + headers(),
        frame(WINDOW_UPDATE, payload=struct.pack(">I", 100)) + headers(),
    ]
    for case in cases:
        # Each case is a request of its own before the last one. A connection that closes earlier cancels it.
        found = answers(proxy.url, PREFACE + START + case + LAST, streams=(1, 101))
        assert is_answered(found, stream=1) and is_answered(found), case
    assert len(stub.told()) >= 2 * len(cases)

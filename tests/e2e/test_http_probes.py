"""Malformed and ambiguous requests, as probes of HTTP servers send them, on every listener.

A request that RFC 9110 and RFC 9112 tell a server to reject gets one error, and its connection is closed: what follows on it is
never read as another request. All other requests are answered, and the connection goes on.
"""

import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
import requests

from harness.command import PORTION, RAW_FIXTURE
from harness.listening import Listening
from harness.waiting import until

SECONDS = 60
REJECTED = {400, 411, 413, 414, 417, 431, 501, 505}
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LONG = b"a" * (1 << 20)


@dataclass
class Front:
    """A listener with a path that takes posts, and one that takes other requests."""

    address: tuple
    post: bytes
    get: bytes


@pytest.fixture(scope="module")
def raw():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module", params=["serve", "http", "admin"])
def front(request, raw):
    kind = "serve" if request.param == "admin" else request.param
    upstream = {"serve": ["--url", f"{raw.url}/mcp"], "http": ["--upstream", f"{raw.url}/api"]}[kind]
    command = [PORTION, kind, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *upstream]
    with Listening(command, env={"PORTION_LOG": "info"}) as front:
        url = front.url
        if request.param == "admin":
            url = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")[1]
        at = urlsplit(url)
        post = {"serve": b"/mcp", "http": b"/post", "admin": b"/health"}[request.param]
        yield Front((at.hostname, at.port), post, b"/health" if request.param == "admin" else b"/get")


def get(*fields, line=b"GET %GET HTTP/1.1", host=b"Host: localhost"):
    return b"\r\n".join([line, *([host] if host else []), *fields, b"", b""])


def post(*fields, body=PING, line=b"POST %POST HTTP/1.1"):
    return get(b"Content-Type: application/json", *fields, line=line) + body


def chunked(body, *fields):
    return post(b"Transfer-Encoding: chunked", *fields, body=body)


LENGTH = b"Content-Length: %d" % len(PING)
CHUNK = b"%x\r\n%b\r\n" % (len(PING), PING)
CHUNKED = b"Transfer-Encoding: chunked"
END = b"0\r\n\r\n"

# Requests that a server must reject, or whose connection it must not use any more.
MUST_REJECT = {
    "no host": get(host=None),
    "two hosts": get(b"Host: localhost"),
    "two different hosts": get(b"Host: evil.example"),
    "host with a space": get(host=b"Host: local host"),
    "host with a path": get(host=b"Host: localhost/x"),
    "host with a user": get(host=b"Host: a@localhost"),
    "host without a name": get(host=b"Host: "),
    "host with a bad port": get(host=b"Host: localhost:x"),
    "space before the colon": get(b"X-A : 1"),
    "tab before the colon": get(b"X-A\t: 1"),
    "space before the first field": get(host=b" Host: localhost"),
    "no name": get(b": 1"),
    "no colon": get(b"X-A"),
    "name with a space": get(b"X A: 1"),
    "name with a control character": get(b"X\x01A: 1"),
    "name with NUL": get(b"X\0A: 1"),
    "name that is not ASCII": get("X-Ä: 1".encode()),
    "name with brackets": get(b"X[A]: 1"),
    "value with NUL": get(b"X-A: a\0b"),
    "value with a bare CR": get(b"X-A: a\rb"),
    "value with a control character": get(b"X-A: a\x01b"),
    "value with DEL": get(b"X-A: a\x7fb"),
    "bare CR between fields": get(b"X-A: 1\rContent-Length: 5"),
    "line folding": get(b"X-A: 1\r\n 2"),
    "line folding of the length": post(b"Content-Length:\r\n %d" % len(PING)),
    "line folding of the coding": post(b"Transfer-Encoding:\r\n chunked", body=CHUNK + END),
    "version 9.9": get(line=b"GET %GET HTTP/9.9"),
    "version 2.0": get(line=b"GET %GET HTTP/2.0"),
    "version without digits": get(line=b"GET %GET HTTP/x.y"),
    "version in small letters": get(line=b"GET %GET http/1.1"),
    "version with spaces": get(line=b"GET %GET HTTP/ 1.1"),
    "no version": get(line=b"GET %GET"),
    "no target": get(line=b"GET HTTP/1.1"),
    "space before the method": get(line=b" GET %GET HTTP/1.1"),
    "method that is no token": get(line=b"G(T %GET HTTP/1.1"),
    "method with NUL": get(line=b"G\0T %GET HTTP/1.1"),
    "target with a space": get(line=b"GET %GET /smuggled HTTP/1.1"),
    "target with NUL": get(line=b"GET %GET\0 HTTP/1.1"),
    "target with a bare CR": get(line=b"GET %GET\rX HTTP/1.1"),
    "target that is no path": get(line=b"GET get HTTP/1.1"),
    "asterisk of another method": get(line=b"GET * HTTP/1.1"),
    "only garbage": b"GARBAGE\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n",
    "length with letters": post(b"Content-Length: x"),
    "length that is empty": post(b"Content-Length: "),
    "negative length": post(b"Content-Length: -1"),
    "length with a sign": post(b"Content-Length: +%d" % len(PING)),
    "length in hexadecimal": post(b"Content-Length: 0x%x" % len(PING)),
    "length with a fraction": post(b"Content-Length: %d.0" % len(PING)),
    "length with an underscore": post(b"Content-Length: 4_0"),
    "length with a space inside": post(b"Content-Length: 4 0"),
    "length of other digits": post("Content-Length: ４０".encode()),
    "length beyond 64 bits": post(b"Content-Length: 18446744073709551617"),
    "length beyond 128 bits": post(b"Content-Length: 340282366920938463463374607431768211457"),
    "two different lengths": post(LENGTH, b"Content-Length: 3"),
    "two different lengths, the shorter first": post(b"Content-Length: 3", LENGTH),
    "a list of different lengths": post(b"Content-Length: %d, 3" % len(PING)),
    "coding of HTTP/1.0": post(CHUNKED, body=CHUNK + END, line=b"POST %POST HTTP/1.0"),
    "unknown coding": post(b"Transfer-Encoding: cow", body=CHUNK + END),
    "coding identity": post(b"Transfer-Encoding: identity", body=CHUNK + END),
    "coding that is not chunked at last": post(b"Transfer-Encoding: chunked, gzip", body=CHUNK + END),
    "coding that begins like chunked": post(b"Transfer-Encoding: chunked-x", body=CHUNK + END),
    "coding that ends like chunked": post(b"Transfer-Encoding: xchunked", body=CHUNK + END),
    "coding in quotes": post(b'Transfer-Encoding: "chunked"', body=CHUNK + END),
    "coding with a control character": post(b"Transfer-Encoding: \x0bchunked", body=CHUNK + END),
    "coding with a space before the colon": post(b"Transfer-Encoding : chunked", body=CHUNK + END),
    "empty coding": post(b"Transfer-Encoding: ", body=CHUNK + END),
    "chunked and then another": post(CHUNKED, b"Transfer-Encoding: cow", body=CHUNK + END),
    "unknown coding and a length": post(b"Transfer-Encoding: cow", LENGTH),
    "chunk size with letters": chunked(b"zz\r\n" + END),
    "chunk size that is empty": chunked(b"\r\n" + END),
    "negative chunk size": chunked(b"-1\r\n" + END),
    "chunk size with a sign": chunked(b"+%x\r\n" % len(PING) + PING + b"\r\n" + END),
    "chunk size with a prefix": chunked(b"0x%x\r\n" % len(PING) + PING + b"\r\n" + END),
    "chunk size with an underscore": chunked(b"2_8\r\n" + PING + b"\r\n" + END),
    "chunk size beyond 64 bits": chunked(b"1" + b"0" * 16 + b"\r\n" + PING + b"\r\n" + END),
    "chunk size beyond 64 bits that wraps to the real one": chunked(b"1" + b"0" * 14 + b"28\r\n" + PING + b"\r\n" + END),
    "chunk longer than its size": chunked(b"3\r\n" + PING + b"\r\n" + END),
    "chunk without its line end": chunked(b"%x\r\n%b" % (len(PING), PING) + END),
    "chunk ended by another character": chunked(b"%x\r\n%bX\r\n" % (len(PING), PING) + END),
    "chunk size ended by a bare CR": chunked(b"%x\r%b\r\n" % (len(PING), PING) + END),
    "chunk extension with a bare CR": chunked(b"%x;a\rb\r\n%b\r\n" % (len(PING), PING) + END),
    "chunk extension without end": chunked(b"%x;%b\r\n%b\r\n" % (len(PING), LONG, PING) + END),
    "head without end": get(b"X-A: " + LONG),
    "target without end": get(line=b"GET /" + LONG + b" HTTP/1.1"),
    "fields without end": get(*(b"X-%d: 1" % number for number in range(10_000))),
}

# Requests that a server may reject. Otherwise it answers each of them once.
MAY_REJECT = {
    "bare LF": get().replace(b"\r\n", b"\n"),
    "bare LF before a length": get(b"X-A: 1\nContent-Length: 0"),
    "several spaces": get(line=b"GET  %GET  HTTP/1.1"),
    "a tab in the request line": get(line=b"GET\t%GET HTTP/1.1"),
    "a fragment": get(line=b"GET %GET#x HTTP/1.1"),
    "version 1.2": get(line=b"GET %GET HTTP/1.2"),
    "target that is not ASCII": get(line="GET %GET/ä HTTP/1.1".encode()),
    "target that is not UTF-8": get(line=b"GET %GET/\xff HTTP/1.1"),
    "two equal lengths": post(LENGTH, LENGTH),
    "a list of equal lengths": post(b"Content-Length: %d, %d" % (len(PING), len(PING))),
    "length with zeros": post(b"Content-Length: 000%d" % len(PING)),
    "gzip and chunked": post(b"Transfer-Encoding: gzip, chunked", body=CHUNK + END),
    "chunked twice": post(b"Transfer-Encoding: chunked, chunked", body=CHUNK + END),
    "chunked in two fields": post(CHUNKED, CHUNKED, body=CHUNK + END),
    "coding after a vertical tab": post(b"Transfer-Encoding:\x0bchunked", body=CHUNK + END),
    "chunk size with spaces": chunked(b"%x  \r\n%b\r\n" % (len(PING), PING) + END),
    "chunk size with zeros": chunked(b"000%x\r\n%b\r\n" % (len(PING), PING) + END),
    "chunk size with a bare LF": chunked(b"%x\n%b\r\n" % (len(PING), PING) + END),
    "an empty chunk extension": chunked(b"%x;\r\n%b\r\n" % (len(PING), PING) + END),
    "a method nobody knows": get(line=b"X-NONE %GET HTTP/1.1"),
    "trace": get(line=b"TRACE %GET HTTP/1.1"),
    "connect": get(line=b"CONNECT localhost:80 HTTP/1.1"),
    "connect elsewhere": get(line=b"CONNECT evil.example:443 HTTP/1.1"),
    "an unknown expectation": post(LENGTH, b"Expect: 200-maybe"),
    "an upgrade to HTTP/2": get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"),
    "an upgrade to nothing known": get(b"Connection: Upgrade", b"Upgrade: x-none"),
    "a connection field that removes the host": get(b"Connection: Host"),
    "a length that a connection field names": post(LENGTH, b"Connection: Content-Length"),
    "a name with an underscore": post(LENGTH, b"Content_Length: 3", b"Transfer_Encoding: chunked"),
    "asterisk": get(line=b"OPTIONS * HTTP/1.1"),
    "HTTP/1.0": get(b"Connection: keep-alive", line=b"GET %GET HTTP/1.0"),
    "HTTP/1.0 without a host": get(b"Connection: keep-alive", line=b"GET %GET HTTP/1.0", host=None),
}

# Valid requests.
MUST_ACCEPT = {
    "plain": get(),
    "a post": post(LENGTH),
    "an absolute target": get(line=b"GET http://localhost%GET HTTP/1.1"),
    "an absolute target and another host": get(line=b"GET http://localhost%GET HTTP/1.1", host=b"Host: 127.0.0.1:9"),
    "an absolute target with a scheme in capitals": get(line=b"GET HTTP://localhost%GET HTTP/1.1"),
    "an empty line before": b"\r\n" + get(),
    "white space around a value": get(b"X-A:  \t 1 \t "),
    "an empty value": get(b"X-A:"),
    "a value that is not ASCII": get("X-A: ä".encode()),
    "names in any case": get(host=b"hOsT: localhost"),
    "every character of a name": get(b"!#$%&'*+-.^_`|~09azAZ: 1"),
    "a field twice": get(b"X-A: 1", b"X-A: 2"),
    "a body of a get": get(LENGTH) + PING,
    "an empty body": get(b"Content-Length: 0"),
    "chunked": chunked(CHUNK + END),
    "chunked in capitals": post(b"Transfer-Encoding: CHUNKED", body=CHUNK + END),
    "chunks of one byte": chunked(b"".join(b"1\r\n%c\r\n" % byte for byte in PING) + END),
    "a size in capitals": chunked(b"%X\r\n%b\r\n" % (len(PING), PING) + END),
    "a chunk extension": chunked(b'%x;a=b;c="d"\r\n%b\r\n' % (len(PING), PING) + END),
    "trailers": chunked(CHUNK + b"0\r\nX-Trailer: 1\r\n\r\n"),
    "trailers that look like framing": chunked(CHUNK + b"0\r\nContent-Length: 5\r\nTransfer-Encoding: cow\r\n\r\n"),
    "an expectation": post(LENGTH, b"Expect: 100-continue"),
    "a head request": get(line=b"HEAD %GET HTTP/1.1"),
}


def follower(front):
    """A request that ends its connection."""
    return b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def statuses(front, request, case):
    """The status of each response on a connection with a request and then another, which is the last."""
    request = request.replace(b"%GET", front.get).replace(b"%POST", front.post)
    with socket.create_connection(front.address, timeout=SECONDS) as connection:
        said = b""
        try:
            connection.sendall(request + follower(front))
            while more := connection.recv(65536):
                said += more
        except ConnectionError:
            pass  # closed while more was sent
        except TimeoutError:
            raise AssertionError(f"{case}: the connection stays open after {said[:200]}") from None
    return list(responses(said, request))


def responses(said, request):
    heads = [b"HEAD" in request[:8]]
    while said:
        head, end, said = said.partition(b"\r\n\r\n")
        assert end and re.match(rb"HTTP/1\.[01] \d{3} ", head), head[:100]
        status, fields = int(head[9:12]), head.lower()
        if status == 100:
            continue
        yield status
        length = re.search(rb"\r\ncontent-length: *(\d+)", fields)
        bodiless = heads.pop() if heads else False
        if b"\r\ntransfer-encoding: chunked" in fields:
            while said:
                size, _, said = said.partition(b"\r\n")
                said = said[int(size, 16) + 2 :]
                if int(size, 16) == 0:
                    break
        elif length and not bodiless:
            said = said[int(length[1]) :]


def told(raw):
    """Targets of the requests that came to the server since this was last asked."""
    return [request["target"] for request in requests.get(f"{raw.url}/requests", timeout=SECONDS).json()]


def check(front, raw, cases, is_right):
    """Sends each case, and collects the wrong ones. The upstream sees no request that was not answered with a success of its own."""
    told(raw)
    wrong = {}
    for case, request in cases.items():
        came = statuses(front, request, case)
        reached = [target for target in told(raw) if "smuggled" in target]
        if not is_right(came) or len(reached) > max(len(came) - 1, 0):
            wrong[case] = (came, reached)
    assert not wrong, "\n".join(f"{case}: {came}, upstream {reached}" for case, (came, reached) in wrong.items())


def test_what_must_be_rejected_is_rejected_once(front, raw):
    check(front, raw, MUST_REJECT, lambda came: not came or (len(came) == 1 and came[0] in REJECTED))


def test_what_may_be_rejected_is_answered_once(front, raw):
    check(front, raw, MAY_REJECT, lambda came: came[:1] and len(came) <= 2)


def test_what_is_valid_is_answered_and_the_connection_goes_on(front, raw):
    check(front, raw, MUST_ACCEPT, lambda came: len(came) == 2 and came[0] not in REJECTED - {400})


def with_head(size):
    """A request with a head of about this size, in fields that any server reads."""
    return get(*(b"X-Long-%d: %b" % (number, b"a" * (size // 8)) for number in range(8)))


def test_a_head_of_more_than_64_kib_is_rejected(front, raw):
    accepted = {"60 KiB": with_head(60 << 10)}
    check(front, raw, accepted, lambda came: len(came) == 2 and came[0] not in REJECTED - {400})
    too_large = {f"{size} bytes": with_head(size) for size in (70_000, 100_000, 1_000_000)}
    too_large |= {f"{size} bytes in one field": get(b"X-Long: " + b"a" * size) for size in (70_000, 100_000)}
    check(front, raw, too_large, lambda came: came in ([], [431]))
    long_target = {f"a target of {size} bytes": get(line=b"GET %GET?" + b"a" * size + b" HTTP/1.1") for size in (65_600, 130_000)}
    check(front, raw, long_target, lambda came: came in ([], [431], [414]))


def test_a_length_beside_chunks_counts_for_nothing_and_ends_the_connection(front, raw):
    cases = {
        "length first": post(LENGTH, CHUNKED, body=CHUNK + END),
        "length last": post(CHUNKED, LENGTH, body=CHUNK + END),
        "a longer one": post(CHUNKED, b"Content-Length: 100000", body=CHUNK + END),
        "a shorter one": post(b"Content-Length: 3", CHUNKED, body=CHUNK + END),
        "none": post(b"Content-Length: 0", CHUNKED, body=CHUNK + END),
    }
    check(front, raw, cases, lambda came: len(came) == 1)


def test_requests_in_one_packet_are_answered_in_order(front, raw):
    count = 20
    assert len(statuses(front, get() * count, "pipelined")) == count + 1

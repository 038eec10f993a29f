"""Clients that are slow or silent are cut off in time, and nobody else waits for them."""

import re
import selectors
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
import requests

from harness.command import FIXTURE, PORTION
from harness.figures import at_most
from harness.listening import Listening
from harness.waiting import until
from test_http_api import API

CONNECTIONS = 1_000
SECONDS = at_most(15)
"""The longest life of such a connection."""

BEGIN = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW = {
    "silent": (b"", b""),
    "one byte of HTTP/2": (b"P", b""),
    "HTTP/2 without a request": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", b""),
    "half a head": (BEGIN, b""),
    "a head byte by byte": (BEGIN + b"X-Long: ", b"x"),
    "half a body": (BEGIN + b"Content-Length: 100\r\n\r\n{", b""),
    "a body byte by byte": (BEGIN + b"Content-Length: 100000\r\n\r\n{", b" "),
    "a chunked body byte by byte": (BEGIN + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


@pytest.fixture(scope="module")
def api():
    with Listening(API) as api:
        yield api


@pytest.fixture(params=["serve", "http"])
def front(request, api):
    command = {"serve": ["serve", "--", *FIXTURE], "http": ["http", "--upstream", f"{api.url}/api"]}[request.param]
    options = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    with Listening([PORTION, command[0], *options, *command[1:]], env={"PORTION_LOG": "info"}) as front:
        yield front


def admin(front):
    said = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(front.said)), "an address")
    return said[1]


def opened(url, count):
    """`count` connections, of each slow kind equally many, and how each goes on."""
    parts, kinds = urlsplit(url), list(SLOW.values())
    connections = {}
    for number in range(count):
        begin, more = kinds[number % len(kinds)]
        connection = socket.create_connection((parts.hostname, parts.port), timeout=SECONDS)
        connection.sendall(begin)
        connection.setblocking(False)
        connections[connection] = more
    return connections


def closed(connections, seconds):
    """The connections that the other side closes within `seconds`, while each sends a bit every second."""
    selector, began, spoke, ended = selectors.DefaultSelector(), time.monotonic(), time.monotonic(), set()
    for connection in connections:
        selector.register(connection, selectors.EVENT_READ)
    while len(ended) < len(connections) and time.monotonic() < began + seconds:
        for key, _ in selector.select(0.2):
            try:
                is_open = key.fileobj.recv(65536)
            except BlockingIOError:
                continue
            except OSError:
                is_open = b""
            if not is_open:
                selector.unregister(key.fileobj)
                ended.add(key.fileobj)
        if time.monotonic() > spoke + 1:
            spoke = time.monotonic()
            for connection, more in connections.items():
                try:
                    if more and connection not in ended:
                        connection.send(more)
                except OSError:
                    pass
    return ended


def test_slow_connections_are_closed_and_health_does_not_wait(front):
    checks, failures, stop = [], [], threading.Event()
    health = admin(front) + "/health"

    def check():
        with requests.Session() as session:
            while not stop.wait(0.02):
                began = time.monotonic()
                try:
                    status = session.get(health, timeout=SECONDS).status_code
                except requests.RequestException as error:
                    status = repr(error)
                if status == 200:
                    checks.append(time.monotonic() - began)
                else:
                    failures.append(status)

    checker = threading.Thread(target=check)
    connections = opened(front.url, CONNECTIONS)
    checker.start()
    try:
        ended = closed(connections, SECONDS + 3)
    finally:
        stop.set()
        checker.join()
        for connection in connections:
            connection.close()
    kinds = list(SLOW)
    left = {kinds[n % len(kinds)] for n, connection in enumerate(connections) if connection not in ended}
    assert not left, f"still open after {SECONDS} s: {left}"
    assert not failures, f"{len(failures)} health checks failed, such as {failures[0]}"
    assert checks, "no health check"
    p99 = sorted(checks)[int(len(checks) * 0.99) - 1]
    print(f"{len(checks)} health checks, p99 {p99 * 1000:.1f} ms")
    assert p99 < at_most(0.05), p99


def test_a_slow_body_is_answered(front):
    parts = urlsplit(front.url)
    path = b"/mcp" if front.url.endswith("/mcp") else b"/upload"
    with socket.create_connection((parts.hostname, parts.port), timeout=SECONDS) as connection:
        connection.sendall(SLOW["half a body"][0].replace(b"/mcp", path))
        began = time.monotonic()
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"too slow" in answer and time.monotonic() - began < SECONDS


def test_a_body_that_arrives_in_time_passes(front):
    if front.url.endswith("/mcp"):
        pytest.skip("messages are small")

    def body():
        for _ in range(6):
            time.sleep(0.5)
            yield b"x" * 8192

    answer = requests.post(f"{front.url}/upload", data=body(), timeout=60)
    assert answer.status_code == 200 and answer.json() == {"bytes": 6 * 8192}

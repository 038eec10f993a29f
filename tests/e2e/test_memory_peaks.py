"""Clients cannot make `portion serve` hold much memory: unfinished bodies, and batches of many entries."""

import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.memory import MEBIBYTE, peak_bytes

MEBIBYTES = 128
"""The most that may ever be resident."""
HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
CONNECTIONS, ANNOUNCED, SENT = 8, 67_000_000, 60_000_000


@pytest.fixture
def front():
    with Listening(served("--admin", "127.0.0.1:0", "--", *FIXTURE)) as front:
        yield front


def connect(front):
    url = urlsplit(front.url)
    connection = socket.create_connection((url.hostname, url.port))
    connection.settimeout(60)
    return connection


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunks"])
def test_unfinished_bodies_share_a_budget(front, is_chunked):
    piece = b"[1," + b"1," * 500_000
    if is_chunked:
        piece = b"%x\r\n" % len(piece) + piece + b"\r\n"
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {ANNOUNCED}"

    def begin(_):
        connection = connect(front)
        try:
            connection.sendall(f"{HEAD}{framing}\r\n\r\n".encode())
            for _ in range(SENT // len(piece)):
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            return None
        return connection

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        accepted = [connection for connection in pool.map(begin, range(CONNECTIONS)) if connection]
    assert len(accepted) < CONNECTIONS, "some are refused"
    assert peak_bytes(front.process) < MEBIBYTES * MEBIBYTE
    for connection in accepted:
        connection.close()


def test_a_batch_of_half_a_million_entries_is_refused(front):
    entry = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","arguments":{}}}'
    body = "[" + ",".join(entry % number for number in range(500_000)) + "]"
    with connect(front) as connection:
        connection.sendall(f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = connection.recv(65_536).decode()
    assert answer.startswith("HTTP/1.1 400 ") and "at most 1000" in answer, answer
    assert peak_bytes(front.process) < MEBIBYTES * MEBIBYTE

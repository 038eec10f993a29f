"""How Portion stops: in time, whatever client and server do, and nobody of the server's group is left."""

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.command import CLIENT_BIN, PORTION
from harness.figures import HANG, at_most
from harness.waiting import until

PYTHON = str(CLIENT_BIN / "python")
RUNS = int(os.environ.get("STOPPING_RUNS", "5"))

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}
NOTE = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}})

CHILD = """
import json, signal, subprocess, sys, time
ways = sys.argv[1].split("+")
if "ignores" in ways: signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
if "family" in ways: subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
line = sys.stdin.readline()
print(json.dumps({"jsonrpc": "2.0", "id": 0, "result": json.loads(sys.argv[2])}), flush=True)
if "floods" in ways:
    while True: print(sys.argv[3], flush=True)
if "much" in ways:
    for _ in range(4000): print(sys.argv[3], flush=True)
if "deaf" in ways or "ignores" in ways:
    while True: time.sleep(1000)
for line in sys.stdin: pass
"""


# Bytes in a pipe that is full, or nearly: its pages hold whole lines.
FULL = 32 << 10


def child(ways):
    return [PYTHON, "-S", "-c", CHILD, ways, json.dumps(HELLO), NOTE]


class Remote:
    """A server over HTTP; its stream says what `way` wants."""

    def __init__(self, way):
        remote = self
        self.way = way
        self.over = threading.Event()
        self.initialized = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": HELLO})
                if self.path == "/messages":
                    if message.get("method") == "initialize":
                        remote.answer = answer
                        remote.initialized.set()
                    self.reply(202, b"")
                elif message.get("method") == "initialize":
                    self.reply(200, answer.encode(), ("mcp-session-id", "s"))
                else:
                    self.reply(202, b"")

            def do_GET(self):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                with contextlib.suppress(OSError):
                    if self.path == "/sse":
                        self.say("event: endpoint\ndata: /messages\n\n")
                        remote.initialized.wait(60)
                        self.say(f"event: message\ndata: {remote.answer}\n\n")
                    count = {"silent": 0, "much": 4000, "floods": 10**9}[remote.way]
                    for _ in range(count):
                        self.say(f"event: message\ndata: {NOTE}\n\n")
                        if remote.over.is_set():
                            return
                    remote.over.wait(60)

            def do_DELETE(self):
                # A server that takes its time.
                remote.over.wait(5 if remote.way == "silent" else 0)
                with contextlib.suppress(OSError):
                    self.reply(200, b"")

            def say(self, text):
                self.wfile.write(text.encode())
                self.wfile.flush()

            def reply(self, status, body, *headers):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._http.server_port}"

    def __exit__(self, *_):
        self.over.set()
        self._http.shutdown()


def ends_by(portion, again):
    """Sends a signal, and waits a moment for the end."""
    portion.send_signal(again)
    with contextlib.suppress(subprocess.TimeoutExpired):
        portion.wait(0.02)
    return portion.returncode is not None


def group_of(portion):
    """The group of the server: the first child that is not of this program."""
    for pid in children(portion):
        if b"watch-groups" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return None


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return sorted(found)


def alive(group):
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, pgrp = stat.read_text().rsplit(")", 1)[1].split()[:3]
            if int(pgrp) == group and state != "Z":
                return True
    return False


def begun(command, reads):
    portion = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    portion.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    portion.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    portion.stdin.flush()
    assert b'"id":0' in portion.stdout.readline().replace(b" ", b"")
    portion.read_count = 0
    if reads:
        threading.Thread(target=read_all, args=[portion], daemon=True).start()
    return portion


def read_all(portion):
    for _ in portion.stdout:
        portion.read_count += 1


def flow(portion, way, reads):
    """Waits until the notes of the server arrive or, where nobody reads them, fill the pipe."""
    if "much" in way or "floods" in way:
        flows = (lambda: portion.read_count > 100) if reads else (lambda: unread(portion.stdout) > FULL)
        until(flows, "the notes of the server", seconds=60, pause=0.01)


def unread(stream):
    """The bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(stream.fileno(), termios.FIONREAD, b"\0" * 4))[0]


def stop(portion, how):
    """Asks it to stop, and returns how many seconds that took."""
    start = time.monotonic()
    if how == "EOF":
        portion.stdin.close()
    else:
        first, *more = how.split("+")
        portion.send_signal(getattr(signal, f"SIG{first}"))
        if more:
            start = time.monotonic()
            # Signals that come before the first one was handled count once.
            until(lambda: ends_by(portion, getattr(signal, f"SIG{more[0]}")), "it ends", seconds=HANG, pause=0)
    try:
        portion.wait(HANG)
    finally:
        took = time.monotonic() - start
        if portion.poll() is None:
            portion.kill()
            portion.wait()
    return took


HOW = ["EOF", "TERM", "INT", "HUP", "TERM+TERM"]


def limit(how):
    return at_most(0.5 if how == "TERM+TERM" else 2)


@pytest.mark.parametrize("reads", [True, False], ids=["reads", "does not read"])
@pytest.mark.parametrize("ways", ["quiet", "much", "floods", "deaf", "ignores+family", "ignores+much", "ignores+floods"])
@pytest.mark.parametrize("how", HOW)
def test_in_front_of_a_child(how, ways, reads):
    portion = begun([PORTION, "wrap", "--", *child(ways)], reads)
    group = group_of(portion.pid)
    flow(portion, ways, reads)
    assert stop(portion, how) < limit(how)
    until(lambda: not alive(group), "its group ends")


@pytest.mark.parametrize("reads", [True, False], ids=["reads", "does not read"])
@pytest.mark.parametrize("way", ["silent", "much", "floods"])
@pytest.mark.parametrize("path", ["/mcp", "/sse"])
@pytest.mark.parametrize("how", HOW)
def test_in_front_of_a_url(how, path, way, reads):
    with Remote(way) as base:
        portion = begun([PORTION, "wrap", "--url", base + path], reads)
        flow(portion, way, reads)
        assert stop(portion, how) < limit(how)


@pytest.mark.parametrize("front", ["wrap", "serve"])
def test_a_portion_that_is_killed_leaves_nobody(front):
    """Servers that ignore the end of their input, with a process beside them in their group."""
    for _ in range(RUNS):
        if front == "wrap":
            portion = begun([PORTION, "wrap", "--", *child("ignores+family")], True)
        else:
            portion = served()
        group = group_of(portion.pid)
        assert alive(group)
        everyone = children(portion.pid)
        portion.kill()
        portion.wait()
        until(lambda: not alive(group), "its group ends")
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone), "nobody is left")


def served():
    command = [PORTION, "serve", "--listen", "127.0.0.1:0", "--admin", "off", "--", *child("ignores+family")]
    portion = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    url = portion.stderr.readline().decode().split("listening on ")[1].strip()
    threading.Thread(target=lambda: [None for _ in portion.stderr], daemon=True).start()
    headers = ["-H", "content-type: application/json", "-H", "accept: application/json, text/event-stream"]
    asked = ["curl", "-s", "--noproxy", "*", *headers, "-d", json.dumps(INITIALIZE), url]
    assert '"id": 0' in subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout
    return portion

#!/usr/bin/env python3
"""Drives `portion serve` with mixed traffic and prints what it holds, once a period.

    python3 tests/soak/run.py --portion target/debug/portion --minutes 30

The traffic: sessions that end and sessions that are abandoned, a new principal for most of them, small and large
results, follow-ups, questions, unfinished bodies, servers that die or answer garbage; over HTTP to HTTP, and over HTTP to
child processes. Before it, as many sessions are abandoned as Portion remembers. After it the run waits for the snapshots to
expire and prints three lines more.

The last line states two figures. The slope is that of a straight line through the resident memory without the bytes of
snapshots, from the end of the warm-up to the end of the traffic. The level is what is resident after the snapshots have
expired. The run fails where one of them is above its limit (`--slope`, `--limit`), or where descriptors are left over.
"""

import argparse
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness.ports import free_port  # noqa: E402

ACCEPT = "application/json, text/event-stream"


class Client:
    """One session of one principal on one connection."""

    def __init__(self, address, path, chance):
        self.path, self.chance, self.id, self.session = path, chance, 0, None
        self.token = f"Bearer {chance.getrandbits(128):x}"
        self.connection = http.client.HTTPConnection(*address, timeout=60)

    def send(self, method, message=None):
        headers = {"Authorization": self.token, "Accept": ACCEPT, "Content-Type": "application/json"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        self.connection.request(method, self.path, json.dumps(message) if message else None, headers)
        response = self.connection.getresponse()
        said = response.read().decode()
        if message and message["method"] == "initialize":
            self.session = response.headers["Mcp-Session-Id"]
        if response.headers.get("Content-Type", "").startswith("text/event-stream"):
            said = [line[6:] for line in said.splitlines() if line.startswith("data: {")][-1]
        return json.loads(said) if said else None

    def ask(self, method, **params):
        self.id += 1
        return self.send("POST", {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def begin(self):
        about = {"name": "soak", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list")

    def visit(self, calls, abandon):
        """One session from its beginning to its end."""
        self.begin()
        for _ in range(calls):
            self.turn()
        if self.chance.random() < 0.2:
            return self.fault(calls)
        if not abandon:
            self.send("DELETE")
        self.connection.close()
        return calls

    def fault(self, calls):
        """A call during which the server fails, each kind in turn; the session ends after it."""
        try:
            self.call("fault", size=int(time.monotonic()), seed=0)
        except OSError:
            pass
        self.connection.close()
        self.send("DELETE")
        self.connection.close()
        return calls

    def turn(self):
        """One call, and what a model does with its result."""
        kind = self.chance.choice(["small", "small", "list_records", "log", "report"])
        size = self.chance.choice([60, 300, 1500, 6000])
        said = json.dumps(self.call(kind, size=size, seed=self.chance.randrange(1000)))
        cursors = re.findall(r'nextCursor\\*":\\*"([^"\\]+)', said)
        for _ in range(self.chance.randrange(4)):
            if not cursors:
                return
            said = json.dumps(self.call("portion_read", cursor=cursors[-1]))
            cursors = re.findall(r'nextCursor\\*":\\*"([^"\\]+)', said)
        if cursors and self.chance.random() < 0.4:
            self.call("portion_query", cursor=cursors[-1], find="step 7")
        if cursors and kind == "list_records" and self.chance.random() < 0.6:
            sql = "SELECT status, COUNT(*) FROM items GROUP BY status"
            self.call("portion_query", cursor=cursors[-1], sql=sql)


class Traffic:
    """Threads that visit, at a rate that the options bound."""

    def __init__(self, address, options):
        self.address, self.options = address, options
        self.stop, self.lock, self.calls, self.errors = threading.Event(), threading.Lock(), 0, []
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(options.clients)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        chance = random.Random(number)
        while not self.stop.is_set():
            try:
                self.visit(chance)
            except Exception as error:
                self.errors.append(repr(error))
            self.stop.wait(self.options.pause)

    def visit(self, chance):
        if chance.random() < 0.1:
            with socket.create_connection(self.address) as unfinished:
                head = "POST /plain/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n"
                unfinished.sendall(head.encode() + b"[" * 1_000_000)
        child = chance.random() < self.options.children
        client = Client(self.address, "/child/mcp" if child else "/plain/mcp", chance)
        # An abandoned session of a child keeps its process for 30 minutes, so memory would grow for as long.
        abandon = not child and chance.random() < 0.5
        calls = client.visit(chance.randrange(1, 12), abandon)
        with self.lock:
            self.calls += calls

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def status(pid, name):
    found = re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found[1]) / 1024


def figures(pid, admin):
    connection = http.client.HTTPConnection("127.0.0.1", admin, timeout=30)
    connection.request("GET", "/health")
    store = json.load(connection.getresponse())["store"]
    threads = list(Path(f"/proc/{pid}/task").iterdir())
    children = sum(len(child_ids(thread)) for thread in threads)
    return {"rss": status(pid, "VmRSS"), "bytes": store["bytes"] / 2**20, "snapshots": store["snapshots"],
            "principals": store["principals"], "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(threads), "children": children}


def child_ids(thread):
    try:
        return (thread / "children").read_text().split()
    except OSError:  # The thread has ended.
        return []


def start(options, folder):
    server = subprocess.Popen([sys.executable, HERE / "server.py", "--http"], stdout=subprocess.PIPE, text=True)
    port, admin = int(server.stdout.readline()), free_port()
    child = f"{sys.executable} -S -E {HERE / 'server.py'}"
    command = [options.portion, "serve", "--listen", "127.0.0.1:0", "--admin", f"127.0.0.1:{admin}",
               "--snapshot-ttl", options.ttl, "--snapshot-memory", options.memory,
               # A call that a server answers with garbage on stdio waits for it.
               "--request-timeout", "5s",
               "--upstream", f"plain=http://127.0.0.1:{port}/mcp", "--upstream", f"child={child}"]
    env = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
    portion = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    for line in portion.stderr:
        if found := re.search(r"listening on http://([\d.]+):(\d+)/child", line):
            break
    threading.Thread(target=lambda: [None for _ in portion.stderr], daemon=True).start()
    return server, portion, (found[1], int(found[2])), admin


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--portion", required=True, help="the program")
    reader.add_argument("--minutes", type=float, default=30)
    reader.add_argument("--period", type=float, default=60, help="seconds between two lines")
    reader.add_argument("--clients", type=int, default=4, help="sessions at the same time")
    reader.add_argument("--pause", type=float, default=0.2, help="seconds between two sessions of a client")
    reader.add_argument("--children", type=float, default=0.1, help="share of sessions that have a child process")
    reader.add_argument("--sessions", type=int, default=8192, help="sessions abandoned before the traffic")
    reader.add_argument("--ttl", default="30s", help="snapshotTtl")
    reader.add_argument("--memory", default="64MiB", help="snapshotMemory")
    reader.add_argument("--warm-up", type=float, default=3, help="minutes that the slope leaves out")
    reader.add_argument("--slope", type=float, default=0.5, help="MiB that memory may grow in a minute after that")
    reader.add_argument("--limit", type=float, default=90, help="MiB that may be resident after the snapshots expired")
    reader.add_argument("--descriptors", type=int, default=32, help="open ones more than before the traffic, without those of children")
    options = reader.parse_args()
    if options.minutes * 60 < options.warm_up * 60 + 2 * options.period:
        reader.error("a slope needs two periods after the warm-up: use more --minutes, or less --warm-up")
    with tempfile.TemporaryDirectory() as folder:
        server, portion, address, admin = start(options, folder)
        try:
            slope, level, left_over = soak(options, portion.pid, address, admin)
        finally:
            portion.terminate()
            portion.wait()
            server.kill()
    print(f"slope {slope:+.2f} MiB a minute (limit {options.slope}), "
          f"level {level:.1f} MiB after expiry (limit {options.limit:g}), "
          f"{left_over} descriptors left over (limit {options.descriptors})", flush=True)
    if slope > options.slope or level > options.limit:
        sys.exit("memory is not flat, or not given back")
    if left_over > options.descriptors:
        sys.exit("descriptors are not closed")


def slope_of(points):
    """The slope of the straight line that is nearest to points (minute, MiB)."""
    minutes, levels = zip(*points)
    middle, level = statistics.fmean(minutes), statistics.fmean(levels)
    spread = sum((minute - middle) ** 2 for minute in minutes)
    return sum((minute - middle) * (y - level) for minute, y in points) / spread


def fill_sessions(address, count):
    """Abandons sessions until Portion forgets old ones, since its memory grows until then."""
    def abandon(number):
        client = Client(address, "/plain/mcp", random.Random(f"session {number}"))
        client.begin()
        client.connection.close()

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(abandon, range(count)))


def soak(options, pid, address, admin):
    """Returns the slope during the traffic, and after the snapshots expired the level and the descriptors left over."""
    fill_sessions(address, options.sessions)
    began = time.monotonic()
    names = ["rss", "bytes", "snapshots", "principals", "descriptors", "threads", "children"]
    print("minute calls errors " + " ".join(names), flush=True)

    def line(traffic):
        now = figures(pid, admin)
        row = [f"{(time.monotonic() - began) / 60:.1f}", str(traffic.calls), str(len(traffic.errors))]
        print(" ".join(row + [f"{now[name]:.1f}" if name in ("rss", "bytes") else str(now[name]) for name in names]), flush=True)
        return (time.monotonic() - began) / 60, now

    traffic = Traffic(address, options)
    points = [line(traffic)]
    while time.monotonic() - began < options.minutes * 60:
        time.sleep(options.period)
        points.append(line(traffic))
    warm = [(minute, now["rss"] - now["bytes"]) for minute, now in points if minute > options.warm_up]
    traffic.end()
    print("no traffic", *sorted(set(traffic.errors))[:5], flush=True)
    seconds = float(re.match(r"\d+", options.ttl)[0]) * {"s": 1, "m": 60}[options.ttl[-1]]
    for _ in range(3):
        time.sleep(seconds)
        _, now = line(traffic)
    # The pipes and the handle of a child process, which ends after its idle time.
    own = lambda figures: figures["descriptors"] - 5 * figures["children"]
    return slope_of(warm), now["rss"], own(now) - own(points[0][1])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Drives `portion serve` with mixed traffic and prints what it holds, once a period.

    python3 tests/soak/run.py --portion target/debug/portion --minutes 30

The traffic: sessions that end and sessions that are abandoned, a new principal for most of them, small and large
results, follow-ups, questions, unfinished bodies; over HTTP to HTTP, and over HTTP to child processes. Memory is
flat if the last lines of a run read like those after the first few periods. After the traffic the run waits for the
snapshots to expire and prints once more. `--limit` fails a run whose last figures are above that many MiB.
"""

import argparse
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
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

    def visit(self, calls, abandon):
        """One session from its beginning to its end."""
        about = {"name": "soak", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list")
        for _ in range(calls):
            self.turn()
        if not abandon:
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
        self.stop, self.calls, self.errors = threading.Event(), 0, []
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
        # An abandoned session of a child keeps its process for its idle time.
        abandon = chance.random() < (0.02 if child else 0.5)
        self.calls += client.visit(chance.randrange(1, 12), abandon)

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
    children = sum(len((thread / "children").read_text().split()) for thread in threads)
    return {"rss": status(pid, "VmRSS"), "bytes": store["bytes"] / 2**20, "snapshots": store["snapshots"],
            "principals": store["principals"], "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(threads), "children": children}


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def start(options, folder):
    server = subprocess.Popen([sys.executable, HERE / "server.py", "--http"], stdout=subprocess.PIPE, text=True)
    port, admin = int(server.stdout.readline()), free_port()
    child = f"{sys.executable} -S -E {HERE / 'server.py'}"
    command = [options.portion, "serve", "--listen", "127.0.0.1:0", "--admin", f"127.0.0.1:{admin}",
               "--snapshot-ttl", options.ttl, "--snapshot-memory", options.memory,
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
    reader.add_argument("--ttl", default="30s", help="snapshotTtl")
    reader.add_argument("--memory", default="64MiB", help="snapshotMemory")
    reader.add_argument("--limit", type=float, help="MiB that the last line may show")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server, portion, address, admin = start(options, folder)
        try:
            soak(options, portion.pid, address, admin)
        finally:
            portion.terminate()
            portion.wait()
            server.kill()


def soak(options, pid, address, admin):
    began = time.monotonic()
    names = ["rss", "bytes", "snapshots", "principals", "descriptors", "threads", "children"]
    print("minute calls errors " + " ".join(names), flush=True)

    def line(traffic):
        now = figures(pid, admin)
        row = [f"{(time.monotonic() - began) / 60:.1f}", str(traffic.calls), str(len(traffic.errors))]
        print(" ".join(row + [f"{now[name]:.1f}" if name in ("rss", "bytes") else str(now[name]) for name in names]), flush=True)
        return now["rss"]

    traffic = Traffic(address, options)
    line(traffic)
    while time.monotonic() - began < options.minutes * 60:
        time.sleep(options.period)
        line(traffic)
    traffic.end()
    print("no traffic", *sorted(set(traffic.errors))[:5], flush=True)
    seconds = float(re.match(r"\d+", options.ttl)[0]) * {"s": 1, "m": 60}[options.ttl[-1]]
    for _ in range(3):
        time.sleep(seconds)
        rss = line(traffic)
    if options.limit and rss > options.limit:
        sys.exit(f"{rss:.0f} MiB are held after the traffic, and {options.limit:.0f} may be")


if __name__ == "__main__":
    main()

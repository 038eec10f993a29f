#!/usr/bin/env python3
"""Measures what `portion wrap` adds to a server that is started for a session. Prints figures and asserts nothing.

    tools/start_figures.py --portion target/release/portion

The server is the fixture of the end-to-end tests, direct and wrapped in turns. Its result of 250 KB is called as soon as the
tools are listed, and again. Processor time and memory are those of Portion alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

SERVER = [sys.executable, str(Path(__file__).resolve().parents[1] / "tests/e2e/fixture/server.py")]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "figures", "version": "1"}}


class Session:
    """A server process and one client of it."""

    def __init__(self, command):
        home = {**os.environ, "HOME": tempfile.mkdtemp()}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, env=home, **streams)

    def seconds(self, method, **parameters):
        """How long the response to a request takes."""
        begun = time.monotonic()
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        while json.loads(self._process.stdout.readline()).get("id") != 1:
            pass
        return time.monotonic() - begun

    def initialized(self):
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def processor_seconds(self):
        # Fields 14 and 15 of proc_pid_stat(5), counted after the name, which may contain spaces.
        ticks = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def resident_mebibytes(self):
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    def end(self):
        self._process.stdin.close()
        self._process.wait(60)

    def _send(self, message):
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def measured(command):
    """Figures of one session, by name."""
    begun, session = time.monotonic(), Session(command)
    session.seconds("initialize", **HELLO)
    session.initialized()
    session.seconds("tools/list")
    figures = {"start until the tools are listed, ms": 1000 * (time.monotonic() - begun)}
    figures["memory before the first call, MiB"] = session.resident_mebibytes()
    call = {"name": "list_bookings", "arguments": {}}
    figures["first call, ms"] = 1000 * session.seconds("tools/call", **call)
    figures["second call, ms"] = 1000 * session.seconds("tools/call", **call)
    figures["memory after two calls, MiB"] = session.resident_mebibytes()
    figures["processor time, ms"] = 1000 * session.processor_seconds()
    session.end()
    return figures


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--portion", required=True, type=Path, help="the program")
    reader.add_argument("--turns", type=int, default=15)
    asked = reader.parse_args()
    commands = {"direct": SERVER, "wrapped": [str(asked.portion.absolute()), "wrap", "--", *SERVER]}
    runs = {name: [] for name in commands}
    for _ in range(asked.turns):
        for name, command in commands.items():
            runs[name].append(measured(command))
    print(f"{'median of ' + str(asked.turns):40} {'direct':>8} {'wrapped':>8}")
    for figure in runs["direct"][0]:
        direct, wrapped = (median(run[figure] for run in runs[name]) for name in commands)
        of_server = figure.endswith("ms") and figure != "processor time, ms"
        print(f"{figure:40} {f'{direct:.0f}' if of_server else '':>8} {wrapped:8.0f}")


if __name__ == "__main__":
    main()

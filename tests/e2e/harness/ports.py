"""Ports for servers that must know theirs before they start."""

import os
import random
import socket

# Linux gives outgoing connections ports from 32768 on, so a port below stays free until the server starts. A Redis cluster
# also takes the port 10,000 above.
FIRST, LAST = 12_000, 22_000
WORKERS = 10
PORTS = (LAST - FIRST) // WORKERS

_used = set()


def free_port():
    """Returns a port that no process listens on. Tests that run side by side draw from ranges of their own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    first = FIRST + worker * PORTS
    for port in random.sample(range(first, first + PORTS), PORTS):
        if port not in _used and _can_be_bound(port):
            _used.add(port)
            return port
    raise OSError(f"no port from {first} to {first + PORTS} is free")


def _can_be_bound(port):
    with socket.socket() as held:
        try:
            held.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

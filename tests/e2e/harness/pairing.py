"""Portion between each front that it has and each upstream, on addresses of this machine."""

import re
import subprocess
import threading
from contextlib import contextmanager

from mcp.client.stdio import get_default_environment

from .command import PORTION

FRONTS = ["stdio", "http"]
UPSTREAMS = ["child", "http", "sse"]
SECONDS = 60


class Listening:
    """A process that says on stderr where it listens: `url`."""

    def __init__(self, command, *, env=None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=get_default_environment() | (env or {}),
            text=True,
            errors="replace",
        )
        self.said = []
        self._told = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        if not self._told.wait(SECONDS) or not self.url:
            self.process.kill()
            raise AssertionError(f"no address was told: {''.join(self.said)}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(SECONDS)

    @property
    def urls(self):
        return [url for line in self.said for url in re.findall(r"listening on (http\S+)", line)]

    @property
    def url(self):
        return next(iter(self.urls), None)

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line)
            if self.url:
                self._told.set()
        self._told.set()


def upstream(kind, *, child, base):
    """What `wrap` and `serve` are told to reach a server: as a child, at `base`/mcp, or at `base`/sse."""
    return {"child": ["--", *child], "http": ["--url", f"{base}/mcp"], "sse": ["--url", f"{base}/sse"]}[kind]


@contextmanager
def pairing(front, *behind, env=None):
    """Portion with `front` and what is `behind` it, as a target for clients: `{"command": …}` or `{"url": …}`."""
    if front == "stdio":
        yield {"command": [PORTION, "wrap", *behind]}
    else:
        with Listening([PORTION, "serve", "--listen", "127.0.0.1:0", *behind], env=env) as portion:
            yield {"url": portion.url, "process": portion.process}

"""A server process that listens on HTTP and says on stderr where."""

import re
import subprocess
import threading

from mcp.client.stdio import get_default_environment

from .command import PORTION

SECONDS = 60


def served(*upstream):
    """The command of Portion's HTTP front, before `--url URL` or `-- COMMAND`."""
    return [PORTION, "serve", "--listen", "127.0.0.1:0", *upstream]


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

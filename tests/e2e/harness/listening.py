"""A server process that listens on HTTP and says on stderr where."""

import queue
import re
import subprocess
import threading

from .command import PORTION

SECONDS = 30
WHERE = re.compile(r"listening on (http://\S+)")


def served(*upstream):
    """The command of Portion's HTTP front, before `--url URL` or `-- COMMAND`."""
    return [PORTION, "serve", "--listen", "127.0.0.1:0", *upstream]


class Listening:
    """`url` is where it listens; the process ends with the block."""

    def __init__(self, command, *, env=None):
        self.command = command
        self._env = env
        self._stderr = []

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self._env,
            text=True,
        )
        said = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(said,), daemon=True)
        self._reader.start()
        try:
            self.url = said.get(timeout=SECONDS)
            assert self.url, f"{self.command} ended: {self.stderr()}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(SECONDS)

    def stderr(self):
        return "".join(self._stderr)

    def _read(self, said):
        for line in self.process.stderr:
            self._stderr.append(line)
            if where := WHERE.search(line):
                said.put(where[1])
        said.put(None)

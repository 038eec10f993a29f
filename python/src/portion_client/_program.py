"""The program `portion` as a child process that answers each line of its stdin with a line of stdout."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sysconfig
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

STDERR_LINES = 10
"""Lines of stderr that an error contains."""
_EXIT_SECONDS = 10.0


class PortionError(Exception):
    """The program failed, or is missing. The message says why."""


class Program:
    """A running program. Threads may share it; requests wait for each other."""

    def __init__(self, line: Sequence[str], variables: Mapping[str, str], log: Callable[[str], None]) -> None:
        pipe = subprocess.PIPE
        self.stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._log = log
        self._lock = threading.Lock()
        self._process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, env=variables)
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for read in (self._read_answers, self._read_stderr):
            threading.Thread(target=read, daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """The line of the answer; empty if the program has ended, or did not answer in time and was ended."""
        stdin = self._process.stdin
        assert stdin is not None
        with self._lock:
            try:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
                return self._answers.get(timeout=seconds)
            except (OSError, ValueError, queue.Empty):
                self.close()
                return b""

    def has_ended(self) -> bool:
        """True if the program is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Ends the program."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(_EXIT_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def _read_answers(self) -> None:
        for line in self._process.stdout or ():
            self._answers.put(line)
        # Whoever waits learns that nothing follows.
        self._answers.put(b"")

    def _read_stderr(self) -> None:
        for line in self._process.stderr or ():
            text = line.decode(errors="replace").rstrip()
            self._log(text)
            if text and not text.startswith("{"):
                self.stderr.append(text)


def find_binary() -> str:
    """Returns the path of `portion`: that of PORTION_BIN, of this installation, or on PATH."""
    given = os.environ.get("PORTION_BIN")
    name = "portion" + (sysconfig.get_config_var("EXE") or "")
    beside = [Path(sysconfig.get_path("scripts")) / name, Path(__file__).resolve().parents[1] / "bin" / name]
    found = given or next((str(path) for path in beside if path.is_file()), None) or shutil.which("portion")
    if not found:
        raise PortionError("the program `portion` is missing: install the wheel portion-mcp, or set PORTION_BIN")
    return found

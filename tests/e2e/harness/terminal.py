"""A program in a terminal of its own."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time

SECONDS = 60


class Terminal:
    """Runs a command in a terminal of that size; what it drew is in `drawn`."""

    def __init__(self, command, columns=80, rows=24):
        self.drawn = b""
        self.code = None
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        self.resize(columns, rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.file)

    def resize(self, columns, rows):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        """Presses keys; forgets what was drawn before."""
        self.drawn = b""
        os.write(self.file, keys)

    def draws(self, text):
        """Waits until it has drawn that."""
        self._wait(lambda: text.encode() in self.drawn, f"{text!r} in {self.drawn!r}")

    def ends(self):
        """Waits for its end, and reads what it drew last; returns its exit code."""
        self._wait(self._ended, "its end")
        while self._read():
            pass
        return self.code

    def is_cooked(self):
        """Whether the terminal takes lines and shows them, as a shell expects it."""
        modes = termios.tcgetattr(self.file)[3]
        return bool(modes & termios.ICANON and modes & termios.ECHO)

    def _ended(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def _wait(self, done, what):
        end = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < end, what
            self._read()

    def _read(self):
        """Reads what is there, or waits briefly for it; returns it."""
        ready, _, _ = select.select([self.file], [], [], 0.1)
        read = b""
        # Linux reports the closed other end as an error.
        with contextlib.suppress(OSError):
            read = os.read(self.file, 65_536) if ready else b""
        self.drawn += read
        return read

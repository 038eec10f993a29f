"""A client that sees bytes: one line out, the lines that came back, nothing parsed that need not be."""

import contextlib
import json
import queue
import signal
import subprocess
import threading

from mcp.client.stdio import get_default_environment

from .command import wrapped

SECONDS = 300


class Wire:
    """A server process, its lines in the order of their arrival, and its end."""

    def __init__(self, command, *, env=None, cwd=None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=get_default_environment() | (env or {}),
            cwd=cwd,
        )
        self._lines = queue.Queue()
        self._stderr = []
        self._threads = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.close()
            try:
                self.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for thread in self._threads:
            thread.join(SECONDS)

    def send(self, line):
        self.process.stdin.write(line if line.endswith(b"\n") else line + b"\n")
        self.process.stdin.flush()

    def line(self):
        """The next line, `b""` at the end of the stream."""
        return self._lines.get(timeout=SECONDS)

    def until(self, wanted):
        """The lines up to and with the first one that `wanted` accepts as JSON."""
        seen = []
        while True:
            line = self.line()
            assert line, f"the stream ended after {seen!r}; stderr: {self.stderr()}"
            seen.append(line)
            if wanted(json.loads(line)):
                return seen

    def ask(self, line):
        """The answer's line to the request in `line`; what came before it is dropped."""
        return self.until_answer(line)[-1]

    def until_answer(self, line):
        """The lines up to and with the answer to the request in `line`."""
        self.send(line)
        wanted = json.loads(line)["id"]
        return self.until(lambda message: "method" not in message and message.get("id") == wanted)

    def open(self, revision="2025-11-25"):
        """The handshake, and its answer's line."""
        parameters = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        answer = self.ask(request(0, "initialize", parameters))
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, number, tool, **arguments):
        return self.ask(request(number, "tools/call", {"name": tool, "arguments": arguments}))

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def exit_code(self):
        return self.process.wait(SECONDS)

    def stderr(self):
        return b"".join(self._stderr).decode(errors="replace")

    def _read_stdout(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_stderr(self):
        for line in self.process.stderr:
            self._stderr.append(line)


def same_line(command, tool, **arguments):
    """Whether a call is answered in the same bytes with and without Portion."""
    lines = []
    for each in (command, wrapped(command)):
        with Wire(each) as wire:
            wire.open()
            lines.append(wire.call(1, tool, **arguments))
    direct, through = lines
    return through == direct


def request(number, method, parameters):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message, ensure_ascii=False).encode()

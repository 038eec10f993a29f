"""Portion ends in time while its records, its webhook and its collector all hang."""

import signal
import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, closing

import pytest

from harness.command import FIXTURE, wrapped
from harness.configured import FRONTS
from harness.figures import HANG, at_most
from harness.listening import Listening, served
from harness.talk import OverHttp, OverStdio
from harness.waiting import until
from harness.wire import Wire


class Hanging:
    """A server that reads requests and never answers. `paths` are those that were asked for."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections, self.paths = [], []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            head = connection.recv(65536).split(b" ", 2)
            self.paths.append(head[1].decode() if len(head) > 2 else "")


def started(front, stack, environment):
    """A process with a conversation, and what it says on stderr."""
    if front == "serve":
        portion = stack.enter_context(Listening(served("--admin", "off", "--", *FIXTURE), env=environment))
        session, said = OverHttp(portion.url), lambda: "".join(portion.said)
    else:
        portion = stack.enter_context(Wire(wrapped(FIXTURE), env=environment))
        session, said = OverStdio(portion), portion.stderr
    session.open()
    return portion.process, session, said


@pytest.mark.parametrize("front", FRONTS)
def test_three_that_hang_take_the_time_of_one(front, tmp_path):
    records = tmp_path / "telemetry.db"
    with Hanging() as hanging, ExitStack() as stack:
        environment = {
            "PORTION_TELEMETRY": str(records),
            "PORTION_ALERT_WEBHOOK": f"{hanging.url}/hook",
            "PORTION_OTLP": hanging.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        process, session, said = started(front, stack, environment)
        for number in range(20):
            session.call(number, "list_bookings")
        for path in ("/hook", "/v1/traces", "/v1/metrics"):
            until(lambda path=path: path in hanging.paths, f"a request to {path}", told=said)
        with closing(sqlite3.connect(records, isolation_level=None, timeout=HANG)) as other:
            other.execute("BEGIN EXCLUSIVE")
            session.call(20, "list_bookings")
            start = time.monotonic()
            if front == "serve":
                process.send_signal(signal.SIGTERM)
            else:
                process.stdin.close()
            process.wait(HANG)
            took = time.monotonic() - start
        assert took < at_most(2), f"{took} s\n{said()}"
        until(lambda: "telemetry ends with unwritten records" in said(), "the loss is told", told=said)
        until(lambda: "data was not delivered to the collector" in said(), "the other loss is told", told=said)

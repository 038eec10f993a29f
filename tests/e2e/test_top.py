"""`portion top`: what was served, live, in a real terminal, which is given back as it was."""

import os
import signal
import subprocess

import pytest

from harness.command import FIXTURE, PORTION, wrapped
from harness.peer import Peer
from harness.recorded import Recorded
from harness.terminal import Terminal

ALTERNATE, BACK = b"\x1b[?1049h", b"\x1b[?1049l"
HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    recorded = Recorded(tmp_path_factory.mktemp("top") / "telemetry.db")
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
        peer.call("list_bookings", count=500)
        peer.call("list_bookings", count=2)
        recorded.requests(2)
    return recorded


def top(recorded, **size):
    return Terminal([PORTION, "top", "--telemetry", str(recorded.path), "--since", "5m"], **size)


def was_given_back(terminal):
    """Its usual screen is there again, with a cursor, and lines are edited."""
    drawn = terminal.drawn
    return BACK in drawn and drawn.rfind(SHOWN) > drawn.rfind(HIDDEN) and terminal.is_cooked()


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_it_draws_what_was_served_and_gives_the_terminal_back(recorded, columns):
    with top(recorded, columns=columns) as terminal:
        terminal.draws("list_bookings")
        assert ALTERNATE in terminal.drawn and not terminal.is_cooked()
        terminal.press(b"\r")
        # Only what is different is drawn.
        terminal.draws("Esc back")
        terminal.press(b"q")
        assert terminal.ends() == 0
        assert was_given_back(terminal)


def test_what_is_served_meanwhile_is_seen(recorded):
    with top(recorded) as terminal:
        terminal.draws("list_bookings")
        with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
            peer.call("read_text", name="manual")
            terminal.draws("read_text")
        terminal.press(b"/book\r")
        # Of another size, all of it is drawn.
        terminal.resize(100, 30)
        terminal.draws("Esc shows all")


@pytest.mark.parametrize("end", ["\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_however_it_ends_the_terminal_is_as_it_was(recorded, end):
    with top(recorded) as terminal:
        terminal.draws("list_bookings")
        if isinstance(end, str):
            terminal.press(end.encode())
        else:
            os.kill(terminal.pid, end)
        terminal.ends()
        assert was_given_back(terminal)


def test_without_a_terminal_it_names_the_other_way(recorded):
    command = [PORTION, "top", "--telemetry", str(recorded.path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "portion stats" in done.stderr

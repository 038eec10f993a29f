"""Waiting for what comes a moment later."""

import time
from pathlib import Path


def until(holds, what, *, seconds=60, pause=0.05, told=lambda: ""):
    """Asks again until it holds; what it was then. `told` says what is known where it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(pause)
    raise AssertionError(f"not within {seconds} s: {what}\n{told()}")


def cpu_ticks(pid):
    """The processor time that a process has used, in ticks of the system."""
    return sum(int(field) for field in stat_fields(pid)[11:13])


def has_reaped(pid):
    """Whether a process has waited for a child that had ended."""
    return int(stat_fields(pid)[8]) > 0


def stat_fields(pid):
    """The fields of /proc/PID/stat, from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()

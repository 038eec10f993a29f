"""Waiting for what comes a moment later."""

import time


def until(holds, what, *, seconds=10, pause=0.05, told=lambda: ""):
    """Asks again until it holds; what it was then. `told` says what is known where it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(pause)
    raise AssertionError(f"not within {seconds} s: {what}\n{told()}")

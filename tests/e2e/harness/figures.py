"""Bounds on durations. Only `./test long` applies them: on other runs the machine may be busy with anything.

Tests of the marker `figures` do nothing else than measure, so that no other run selects them.
"""

import os

FACTOR = float(os.environ.get("FIGURES", "0"))
"""Factor of all bounds, for slow machines; 0 where nothing is measured."""
HANG = 120
"""What takes longer in seconds hangs, on any machine."""


def at_most(bound, otherwise=HANG):
    """The bound where it is measured, else the seconds after which a run counts as a hang."""
    return bound * FACTOR or otherwise

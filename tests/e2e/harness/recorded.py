"""What Portion has recorded, asked for as an operator would."""

import json
import subprocess

from .command import PORTION
from .waiting import until


class Recorded:
    """The records in the file at `path`."""

    def __init__(self, path):
        self.path = path

    def stats(self, *options):
        """What `portion stats` says, as JSON; `None` before anything is recorded."""
        command = [PORTION, "stats", "--telemetry", str(self.path), "--format", "json", *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode and "no telemetry in" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def requests(self, least=1, *options):
        """At least so many records, the oldest first: what was served is in the file a moment later."""

        def recorded():
            found = self.stats("--requests", *options) or []
            return found[::-1] if len(found) >= least else None

        return until(recorded, f"{least} records", told=self.stats)

    def one(self, *options):
        [record] = self.requests(1, *options)
        return record

"""The official conformance suites: how one is run against a server, and what its checks said."""

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass

from harness.command import E2E

SECONDS = 300
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
MARKS = {"FAILURE": 0, "WARNING": 1, "SKIPPED": 1, "SUCCESS": 2}
"""The statuses that judge, best last; a check that did not come up counts as skipped."""


@dataclass(frozen=True)
class Suite:
    name: str
    package: str
    options: tuple[str, ...]
    passed: int
    """Checks that the fixture server passes with nothing in front of it."""

    def run(self, url, folder):
        """Every check against the server at `url`: (scenario, id, name, how many of these before) to the check."""
        script = E2E / "node_modules" / self.package / "dist/index.js"
        command = ["node", str(script), "server", "--url", url, *self.options, "-o", str(folder)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        checks = read(folder)
        assert checks, f"{self.name} wrote no checks:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}"
        return checks


def of(revision, passed):
    options = ("--suite", "all", "--spec-version", revision)
    return Suite(f"0.2 {revision}", "conformance-0.2", options, passed)


SUITES = [
    Suite("0.1.16", "conformance-0.1", ("--suite", "all"), 44),
    of("2025-03-26", 3),
    of("2025-06-18", 56),
    of("2025-11-25", 84),
    of("2026-07-28", 152),
    Suite("0.2 extensions", "conformance-0.2", ("--suite", "pending"), 82),
]
"""The last has what no revision does: tasks, and skills, which the fixture server does not have."""


def read(folder):
    checks = {}
    seen = Counter()
    for file in sorted(folder.glob("*/checks.json")):
        scenario = STAMP.sub("", file.parent.name).removeprefix("server-")
        for check in json.loads(file.read_text()):
            if check["status"] in MARKS:
                name = (scenario, check["id"], check["name"])
                checks[*name, seen[name]] = check
                seen[name] += 1
    return checks


def count(checks, status):
    return sum(check["status"] == status for check in checks.values())


def worse(direct, through, missing=()):
    """The checks that turned out worse `through` something in between, a line each; `missing` ones need not come up."""
    lines = []
    for key in sorted(direct.keys() | through.keys()):
        scenario, check, name, _ = key
        if key not in through and (scenario, check) in missing:
            continue
        was, now = (checks.get(key, {"status": "SKIPPED"}) for checks in (direct, through))
        if MARKS[now["status"]] < MARKS[was["status"]]:
            why = now.get("errorMessage") or "no message"
            lines.append(f"{scenario}: {check} ({name}) was {was['status']}, is {now['status']}: {why}")
    return lines

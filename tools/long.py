#!/usr/bin/env python3
"""Runs the tests that take hours: faults and loads in large numbers. `./test long` sets up what they need.

    tools/long.py --portion target/debug/portion --scale 0.01 --only pipes

Each row repeats tests of the normal suites, or runs them with more cases. The table at the end has the fault, the number to
hit, and the result. Output of a row that failed is in `target/long`.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOGS = REPOSITORY / "target/long"
E2E = REPOSITORY / "tests/e2e"
FUZZ_TARGETS = sorted(path.stem for path in (REPOSITORY / "fuzz/fuzz_targets").glob("*.rs"))


@dataclass(frozen=True)
class Row:
    """A fault, how often it is tried at scale 1, and the run of a number of tries."""

    fault: str
    count: int
    unit: str
    run: Callable[["Runner", int], None]


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Runner:
    """Runs commands of a row, with their output in its log."""

    def __init__(self, portion):
        self.portion, self.log = portion, None
        self._binaries = None

    def command(self, *command, folder=REPOSITORY, **environment):
        """Runs a command, which must succeed. Returns its output."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
        ended = subprocess.run(command, cwd=folder, env=os.environ | environment, **streams)
        self.log.write(ended.stdout)
        self.log.flush()
        if ended.returncode:
            raise Failed(f"exit code {ended.returncode}")
        return ended.stdout

    def end_to_end(self, *arguments, **environment):
        python = E2E / ".venv/client/bin/python"
        options = ("-c", E2E / "pytest.ini", "--rootdir", E2E, "-q")
        self.command(python, "-m", "pytest", *options, *arguments, **environment, PORTION_BIN=self.portion)

    def rust(self, crate, name, **environment):
        """Runs the tests of a crate whose names contain `name`. There must be some."""
        output = self.command(self._binary(crate), name, folder=REPOSITORY / "crates" / crate, **environment)
        passed = re.search(r"test result: ok. (\d+) passed", output)
        if not passed or passed[1] == "0":
            raise Failed(f"no test of {crate} is named {name}")

    def _binary(self, crate):
        if self._binaries is None:
            self._binaries = built()
        return self._binaries[crate]


def built():
    """Builds the integration tests and the programs that they start. Returns the binaries by crate."""
    subprocess.run(["cargo", "build", "--locked", "--workspace", "--examples"], cwd=REPOSITORY, check=True)
    build = ["cargo", "test", "--locked", "--workspace", "--test", "it", "--no-run", "--message-format", "json"]
    lines = subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.splitlines()
    made = [json.loads(line) for line in lines if '"executable":"' in line]
    return {Path(each["manifest_path"]).parent.name: each["executable"] for each in made if each["target"]["name"] == "it"}


def repeated(run):
    """A row that runs the same tests many times."""

    def repeat(runner, count):
        for number in range(count):
            try:
                run(runner)
            except Failed as failure:
                raise Failed(f"run {number + 1}: {failure}") from failure

    return repeat


def killed(runner, count):
    # One test wraps a server, the other serves one.
    runs = str(max(count // 2, 1))
    runner.end_to_end(E2E / "test_stopping.py", "-k", "is_killed_leaves_nobody", STOPPING_RUNS=runs)


def walks(runner, count):
    seed = str(random.randrange(2**63))
    print(f"PROPTEST_RNG_SEED={seed}", file=runner.log)
    runner.rust("portion-core", "laws::", PROPTEST_CASES=str(256 * count), PROPTEST_RNG_SEED=seed)


def fuzzed(runner, count):
    if subprocess.run(["cargo", "+nightly", "fuzz", "--version"], capture_output=True).returncode:
        raise Skipped("needs nightly Rust and cargo-fuzz")
    for target in FUZZ_TARGETS:
        runner.command("cargo", "+nightly", "fuzz", "run", target, "--", f"-max_total_time={60 * count}")


def soak(runner, count):
    warm_up = str(min(3, count / 10))
    soak_test = REPOSITORY / "tests/soak/run.py"
    runner.command(sys.executable, soak_test, "--portion", runner.portion, "--minutes", str(count), "--warm-up", warm_up)


def end_to_end_runs(*arguments):
    """A row that runs the same end-to-end tests many times."""
    return repeated(lambda runner: runner.end_to_end(*arguments))


ROWS = [
    Row("Portion is killed", 1000, "starts, no process left", killed),
    Row(
        "a server dies at its start", 1000, "runs of each kind, each request answered",
        lambda runner, count: runner.end_to_end(E2E / "test_dying.py", DYING_RUNS=str(count)),
    ),
    Row(
        "pipes full in both directions", 1000, "runs, no deadlock",
        repeated(lambda runner: runner.rust("portion-mcp", "full_pipes_in_both_directions_cause_no_deadlock")),
    ),
    Row(
        "200 clients with the same ids", 100, "runs, no response crossed",
        end_to_end_runs(E2E / "test_same_ids.py"),
    ),
    Row(
        "a shared store is lost, slow, full, or fails over", 20, "runs, no request failed",
        end_to_end_runs(E2E / "test_shared_store.py"),
    ),
    Row(
        "instances restart with new keys", 54, "restarts, no walk failed",
        lambda runner, count: runner.end_to_end(
            E2E / "test_rolling_restarts.py", ROLLING_ROTATIONS=str(max(count // 9, 1))
        ),
    ),
    Row(
        "the configuration changes under load", 100, "changes, each walk keeps its page size",
        lambda runner, count: runner.end_to_end(E2E / "test_reloads_under_load.py", RELOADS=str(count)),
    ),
    Row(
        "the clock jumps by an hour", 20, "runs, no cursor ends early or late",
        end_to_end_runs(E2E / "test_clocks.py"),
    ),
    Row(
        "a stream of a server breaks off at any byte", 10, "runs, each request answered once",
        end_to_end_runs(E2E / "test_cut_streams.py"),
    ),
    Row(
        "malformed and ambiguous requests", 20, "runs, none taken for another",
        end_to_end_runs(E2E / "test_http_probes.py", E2E / "test_http2_probes.py"),
    ),
    Row(
        "1,000 slow connections", 10, "runs, each closed in time",
        end_to_end_runs(E2E / "test_slow_clients.py"),
    ),
    Row(
        "telemetry is damaged, locked, or its disk full", 20, "runs, no request failed",
        end_to_end_runs(E2E / "test_v5_telemetry.py", "-k", "trouble or full_disk or damaged"),
    ),
    Row(
        "the configuration is replaced while it is read", 50, "runs, no mixed text",
        repeated(lambda runner: runner.rust("portion-config", "changes::")),
    ),
    Row("any payload, limit and request", 100, "times the usual cases of the laws, no byte lost", walks),
    Row("fuzz targets", 30, "minutes each, no crash", fuzzed),
    Row("mixed traffic", 30, "minutes, memory flat", soak),
]


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--portion", required=True, type=Path, help="the program")
    reader.add_argument("--scale", type=float, default=1, help="factor of every number to hit")
    reader.add_argument("--only", default="", help="rows whose fault contains this")
    asked = reader.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    runner, table = Runner(str(asked.portion.absolute())), []
    for row in (row for row in ROWS if asked.only in row.fault):
        count, begun = max(round(row.count * asked.scale), 1), time.monotonic()
        log = LOGS / (row.fault.replace(" ", "-") + ".log")
        print(f"{row.fault}: {count:,} {row.unit}", flush=True)
        with log.open("w") as runner.log:
            try:
                row.run(runner, count)
                result = "passed"
            except Skipped as why:
                result = f"skipped: {why}"
            except Failed as why:
                result = f"FAILED: {why}, see {log.relative_to(REPOSITORY)}"
        table.append((row.fault, f"{count:,} {row.unit}", f"{time.monotonic() - begun:.0f}", result))
    show(table)
    results = [result for *_, result in table]
    passed, failed = results.count("passed"), sum(result.startswith("FAILED") for result in results)
    print(f"{passed} passed, {failed} failed, {len(results) - passed - failed} skipped")
    return 1 if failed or not table else 0


def show(table):
    head = ("fault", "number to hit", "seconds", "result")
    widths = [max(len(line[column]) for line in [head, *table]) for column in range(len(head))]
    for line in [head, *table]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())

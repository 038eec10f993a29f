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
        """Runs end-to-end tests, those that measure time too, with their bounds."""
        python = E2E / ".venv/client/bin/python"
        options = ("-c", E2E / "pytest.ini", "--rootdir", E2E, "-q", "-m", "")
        variables = {"FIGURES": os.environ.get("FIGURES", "1"), "PORTION_BIN": self.portion} | environment
        self.command(python, "-m", "pytest", *options, *arguments, **variables)

    def rust(self, crate, name, kind="test", **environment):
        """Runs the tests of a crate whose names contain `name`. There must be some. `kind`: test, or lib for unit tests."""
        output = self.command(self._binary(crate, kind), name, folder=REPOSITORY / "crates" / crate, **environment)
        passed = re.search(r"test result: ok. (\d+) passed", output)
        if not passed or passed[1] == "0":
            raise Failed(f"no test of {crate} is named {name}")

    def _binary(self, crate, kind):
        if self._binaries is None:
            self._binaries = built()
        return self._binaries[crate, kind]


def built():
    """Builds the tests and the programs that they start. Returns the binaries by crate and kind."""
    subprocess.run(["cargo", "build", "--locked", "--workspace", "--examples"], cwd=REPOSITORY, check=True)
    build = ["cargo", "test", "--locked", "--workspace", "--lib", "--test", "it", "--no-run", "--message-format", "json"]
    lines = subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.splitlines()
    made = [json.loads(line) for line in lines if '"executable":"' in line]
    return {(Path(each["manifest_path"]).parent.name, each["target"]["kind"][0]): each["executable"] for each in made}


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
    if subprocess.run(["cargo", "fuzz", "--version"], capture_output=True).returncode:
        raise Skipped("needs cargo-fuzz")
    for target in FUZZ_TARGETS:
        corpus, seeds = REPOSITORY / "fuzz/corpus" / target, REPOSITORY / "fuzz/seeds" / target
        corpus.mkdir(parents=True, exist_ok=True)
        most = f"-max_total_time={60 * count}"
        # Without a sanitizer, stable Rust can build the targets. They check the laws themselves.
        runner.command("cargo", "fuzz", "run", "--sanitizer", "none", target, str(corpus), str(seeds), "--", most)


def mutated(runner, count):
    """Changes the code of cursors, framing and stores in small ways, each of which a test must notice."""
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode:
        raise Skipped("needs cargo-mutants")
    tests_of = {
        "portion-core": ("--test", "it", "laws::cursor"),
        "portion-mcp": ("--lib", "frame"),
        "portion-gateway": ("--lib", "--test", "it", "store"),
    }
    # `.cargo/mutants.toml` selects the files.
    for crate, tests in tests_of.items():
        options = ("--package", crate, "--timeout", str(90 * count), "--output", LOGS / crate)
        runner.command("cargo", "mutants", *options, "--", *tests, PROPTEST_CASES="32")


def soak(runner, count):
    warm_up = str(min(3, count / 10))
    soak_test = REPOSITORY / "tests/soak/run.py"
    minutes = ("--minutes", str(count), "--warm-up", warm_up, "--slope", "0.1")
    runner.command(sys.executable, soak_test, "--portion", runner.portion, *minutes)


def end_to_end(*names, only="", **environment):
    """A row of end-to-end tests by file and name. `{count}` in a variable stands for the number of tries."""
    selected = ["-k", only] if only else []

    def run(runner, count):
        variables = {name: value.format(count=count) for name, value in environment.items()}
        runner.end_to_end(*(E2E / f"test_{name}.py" for name in names), *selected, **variables)

    return run


def again(*names, only=""):
    """A row that runs the same end-to-end tests many times."""
    once = end_to_end(*names, only=only)
    return repeated(lambda runner: once(runner, 1))


AT_200 = {"LOAD_RATE": "200"}
"""Requests a second."""

ROWS = [
    Row("durations of the scenarios", 3, "runs, each figure within its bound", again("scenarios_figures", "scenarios_education", "fetch", only="v7 or v4_3 or seconds or soon")),
    Row("Portion stops, whatever hangs", 5, "runs, ended in 2 s", again("stopping", "shutdown_deadline", "otlp", only="front_of or three_that_hang or holds_nobody_up")),
    Row("Portion is killed", 1000, "starts, no process left", killed),
    Row(
        "a server dies at its start", 1000, "runs of each kind, each request answered",
        end_to_end("dying", DYING_RUNS="{count}"),
    ),
    Row(
        "a server dies within its response", 384, "places, each request answered once in 500 ms",
        end_to_end("deaths_at_each_byte", DEATHS="{count}"),
    ),
    Row("a stream of a server breaks off at any byte", 10, "runs, each request answered once", again("cut_streams")),
    Row("garbage between 10,000 messages", 10, "runs, all messages arrive", again("garbage", only="messages")),
    Row(
        "a line without end", 1024, "MiB, in 128 MiB of memory",
        lambda runner, count: end_to_end("garbage", only="line", LINE_MEBIBYTES="{count}")(runner, max(count, 300)),
    ),
    Row(
        "pipes full in both directions", 1000, "runs, no deadlock",
        repeated(lambda runner: runner.rust("portion-mcp", "full_pipes_in_both_directions_cause_no_deadlock")),
    ),
    Row(
        "cancellation, timeout and responses at once", 100_000, "races of each kind, one reply at most",
        lambda runner, count: runner.rust("portion-mcp", "tests::races::", "lib", CANCEL_RACES=str(count)),
    ),
    Row("JSONTestSuite on the wire", 1, "run, each document by its name", again("json_suite")),
    Row("deep JSON and bombs", 1024, "MiB in a bomb, bounded memory", end_to_end("bombs", "http_edge", only="deep or bomb or expands", BOMB_MEBIBYTES="{count}")),
    Row(
        "callers try what others were served", 50, "callers, each with each, by every credential",
        end_to_end("principals", "auth", only="nobody or nothing or no_caller or share or bit", PRINCIPALS="{count}"),
    ),
    Row(
        "the memory for results is full", 512, "MiB filled 2 and 10 times, none lost before its time",
        end_to_end("memory_full", FULL_MEMORY_MIB="{count}"),
    ),
    Row(
        "the shared store is killed at 200 requests a second", 30, "seconds, none failed, p99 + 500 ms",
        end_to_end("store_under_load", LOAD_SECONDS="{count}", **AT_200),
    ),
    Row("a shared store is lost, slow, full, or fails over", 20, "runs, no request failed", again("shared_store")),
    Row(
        "Valkey in place of Redis", 5, "runs, no request failed",
        repeated(lambda runner: end_to_end("shared_store", only="not tls", SHARED_STORE="valkey")(runner, 1)),
    ),
    Row(
        "the configuration changes at 200 requests a second", 100, "changes, in force in 100 ms, walks keep their page size",
        end_to_end("reloads_under_load", RELOADS="{count}", **AT_200),
    ),
    Row(
        "the configuration is replaced while it is read", 50, "runs, no mixed text",
        repeated(lambda runner: runner.rust("portion-config", "changes::")),
    ),
    Row("every option with 100 payloads", 1, "run, each line one message", end_to_end("every_option", "wire_lines", SHAPES_SHARE="1")),
    Row("the clock jumps by an hour", 5, "runs, no cursor ends early or late", again("clocks", only="cursor or restart")),
    Row(
        "the clock jumps at 200 requests a second", 100_000, "requests with each store, none failed",
        end_to_end("clocks", only="no_walk", CLOCK_REQUESTS="{count}", **AT_200),
    ),
    Row(
        "instances restart with new keys at 200 requests a second", 54, "restarts, none failed",
        lambda runner, count: end_to_end("rolling_restarts", ROLLING_ROTATIONS="{count}", **AT_200)(runner, -(-count // 9)),
    ),
    Row(
        "keys change across three instances", 100_000, "requests, none failed",
        end_to_end("rolling_restarts", ROLLING_REQUESTS="{count}", **AT_200),
    ),
    Row("malformed and ambiguous requests", 20, "runs, none taken for another", again("http_probes", "http2_probes")),
    Row("hosts and origins", 1, "run of a table of 200, none let through", repeated(lambda runner: runner.rust("portion-mcp", "origin_guard", "lib"))),
    Row("paths and redirects", 1, "run of 300, none let through", again("redirects_and_paths", "http_edge")),
    Row(
        "1,000 slow connections", 10, "runs, closed in 15 s, health p99 50 ms",
        again("slow_clients"),
    ),
    Row("200 clients with the same ids", 20, "runs, no response crossed", again("same_ids")),
    Row(
        "200 clients with the same ids, without a pause", 5_000, "requests of each, no response crossed",
        end_to_end("same_ids", only="again", SAME_ID_ROUNDS="{count}"),
    ),
    Row(
        "four times as many requests", 30, "seconds, p99 three times as long",
        end_to_end("overload", OVERLOAD_SECONDS="{count}"),
    ),
    Row("telemetry is damaged, locked, or its disk full", 20, "runs, no request failed", again("v5_telemetry", only="trouble or full_disk or damaged")),
    Row("20 secrets", 1, "run, none in any output", again("canaries")),
    Row("any payload, limit and request", 100, "times the usual cases of the laws, no byte lost", walks),
    Row(
        "SQL over columns of any form", 20_000, "statements, each as SQLite answers it over typed tables",
        lambda runner, count: runner.rust("portion-sql", "differential_answers", DIFFERENTIAL_STATEMENTS=str(count)),
    ),
    Row("statements in the dialect of DuckDB", 1, "run, each as DuckDB answers it, or refused", again("duckdb")),
    Row("fuzz targets", 30, "minutes each, no crash", fuzzed),
    Row("mutants of cursors, framing and stores", 1, "run, a test fails for each", mutated),
    Row("mixed traffic with faults", 30, "minutes, memory and descriptors flat", soak),
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

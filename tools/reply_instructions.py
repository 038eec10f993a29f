#!/usr/bin/env python3
"""Counts the instructions of replies under callgrind. Prints figures and asserts nothing.

    tools/reply_instructions.py [KIND …] [--functions N]

A kind is `list`, `wide` (a list with many fields) or `log` (20 KB of text), `structured` (a list of 20 KB in both forms), or `page` (of a list of 12 MB). A first
reply includes the capture of the payload. With `--functions`, the functions that cost most, themselves and with what they call.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

KINDS = ["list", "wide", "log", "structured", "page"]
COUNT = 10


def build():
    """Builds the benchmark with symbols, and returns its path."""
    command = ["cargo", "bench", "--locked", "-p", "portion-core", "--bench", "figures", "--no-run"]
    options = ["--message-format", "json", "--config", "profile.bench.strip=false", "--config", "profile.bench.debug=1"]
    lines = subprocess.run(command + options, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    built = [json.loads(line) for line in lines]
    return next(line["executable"] for line in built if line.get("executable"))


def profiled(program, kind, count, folder):
    """Runs the benchmark, and returns its instructions and the file of the profile."""
    out = Path(folder) / f"{kind}{count}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "--bench", "reply", kind, str(count)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", told).group(1)), out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--functions", type=int, default=0, metavar="N")
    options = parser.parse_args()
    program = build()
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            few, _ = profiled(program, kind, COUNT, folder)
            many, profile = profiled(program, kind, 2 * COUNT, folder)
            print(f"{kind:12} {(many - few) / COUNT / 1e6:8.2f} M instructions")
            for inclusive in ["no", "yes"] if options.functions else []:
                command = ["callgrind_annotate", f"--inclusive={inclusive}", "--auto=no", str(profile)]
                table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                rows = [row for row in table.splitlines() if re.match(r" *[\d,]+ \(", row)]
                print(*(row[:150] for row in rows[1 : options.functions + 1]), "", sep="\n")


if __name__ == "__main__":
    main()

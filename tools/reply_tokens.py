#!/usr/bin/env python3
"""Measures what first replies consist of: their tokens, by part, over a folder of documents. Prints figures and asserts nothing.

    tests/e2e/.venv/client/bin/python tools/reply_tokens.py FOLDER [--portion target/release/portion] [--each] [--option=OPTION …]

- for the defaults and for `--lean`: the mean tokens (o200k) of a first reply, of its content, and of each member of its notice
- with `--each`, the same for each document: its first reply, and the members of the notice that cost most
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/e2e"))
from harness import tokens  # noqa: E402

MODES = {"default": [], "lean": ["--lean"]}
# Members shown per document.
SHOWN = 5


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def first_reply(portion, options, file):
    """Returns the content and the notice of the reply that a model would get for a file."""
    with tempfile.TemporaryDirectory() as home:
        # JSON as servers send it, without white space.
        path = file
        if file.suffix == ".json":
            path = Path(home) / file.name
            path.write_text(compact(json.loads(file.read_text())))
        command = [portion, "shape", *options, str(path)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, env={"HOME": home}).stdout
    content, _, last = shown.rstrip("\n").rpartition("\n")
    try:
        notice = json.loads(last)
    except ValueError:
        notice = None
    return (content, notice) if isinstance(notice, dict) and "meta" in notice else (shown, {})


def parts(notice):
    """Returns the tokens of each member of a notice, with those of `meta` under their own names."""
    members = {key: value for key, value in notice.items() if key != "meta"} | notice.get("meta", {})
    return {key: tokens.count(f"{compact({key: value})[1:-1]},") for key, value in members.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--portion", default="portion")
    parser.add_argument("--each", action="store_true", help="show each document")
    parser.add_argument("--option", action="append", default=[], help="further option of portion shape")
    given = parser.parse_args()
    files = sorted(path for path in given.folder.rglob("*") if path.is_file())
    for mode, options in MODES.items():
        total, contents, members, shaped = 0, 0, collections.Counter(), 0
        for file in files:
            content, notice = first_reply(given.portion, options + given.option, file)
            content_cost, cost = tokens.count(content), parts(notice)
            total += content_cost + sum(cost.values())
            contents += content_cost
            members.update(cost)
            shaped += bool(notice)
            if given.each:
                largest = ", ".join(f"{key} {count}" for key, count in collections.Counter(cost).most_common(SHOWN))
                name = file.relative_to(given.folder)
                print(f"{mode:8}{content_cost + sum(cost.values()):6}  content {content_cost:5}  {name}: {largest}")
        print(f"{mode}: {len(files)} first replies, {shaped} with a notice, {total / len(files):,.0f} tokens in the mean")
        print(f"  {contents / len(files):8,.1f}  content")
        for key, count in members.most_common():
            print(f"  {count / len(files):8,.1f}  {key}")


if __name__ == "__main__":
    main()

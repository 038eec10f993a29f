#!/usr/bin/env python3
"""Do whole sessions stay within the window?

Several hundred sessions of many steps over the documents of a survival harness (see `run.py`), each a conversation of
its own with a server: without Portion, and with it under several profiles. Every call and every reply is counted into
a window of 200,000 tokens by `o200k`; what came of them is printed.

    sessions.py HARNESS [--check] [--readme docs/measured.md] [--only SUBSTRING] [--sessions N] [-v]
"""

import collections
import concurrent.futures
import multiprocessing
import os
import statistics
import subprocess
import sys
import time

from conversation import Conversation
from harness import TOOL_LIMIT, WINDOW, Harness, bare, config, options, percent, publish, verdict
from workflows import THEMES, session

# The model's own instructions and what it was asked, in tokens; the list of tools is counted as it comes.
SYSTEM = 10_000
SESSIONS = 420
FINISH = 0.999

BUDGET = ("--session-budget", "150000")
EXACT = ("--tokenizer", "o200k")


class Arm(collections.namedtuple("Arm", "name profile options refused_above")):
    """One way to hold the sessions: through Portion under a profile, or without it."""

    @property
    def bounded(self):
        return BUDGET[0] in self.options


WITHOUT = Arm("without Portion", None, (), None)
ARMS = (
    WITHOUT,
    Arm("without, the client refuses replies over 25,000 tokens", None, (), TOOL_LIMIT),
    Arm("default", "default", (), None),
    Arm("`--lean`", "lean", (), None),
    # Where Portion counts by the window's own tokenizer it fills its budgets to the brim: the hardest case.
    Arm("`--tokenizer o200k`", "default", EXACT, None),
    Arm("`--tokenizer o200k --session-budget 150000`", "default", EXACT + BUDGET, None),
)


class Workshop:
    """What every session needs and none changes; processes that run sessions inherit it."""

    def __init__(self, folder, only):
        self.harness = Harness(folder)
        self.library = collections.defaultdict(list)
        for pack, rel, cls in self.harness.documents(set(THEMES), only):
            doc = self.harness.docs.Doc(pack, rel, cls)
            questions = self.harness.docs.questions(doc)
            # What retrieval brings is put in order of score: nobody asks for a record by its old place.
            asked = [question for question in questions if cls != "rag" or question["kind"] != "kth"]
            self.library[cls].append((doc, asked))

    def sessions(self, count):
        themes = [number for number in range(count) if THEMES[number % len(THEMES)] in {*self.library, "mixed"}]
        return [session(number, self.library) for number in themes]

    def hold(self, session, arm):
        server = config(arm.profile, *arm.options) if arm.profile else bare()
        conversation = Conversation(self.harness, server, WINDOW, SYSTEM, arm.refused_above)
        for step in session.steps:
            conversation.do(step)
        conversation.close()
        return conversation.outcome()


def held(session, arm):
    return WORKSHOP.hold(session, arm)


def able(arm):
    """Whether this build of Portion knows the options."""
    said = subprocess.run(["portion", "wrap", "--help"], capture_output=True, text=True, check=True).stdout
    return all(option in said for option in arm.options if option.startswith("--"))


def figures_of(outcomes):
    used = sorted(outcome["tokens"] for outcome in outcomes)
    asked = sum(outcome["asked"] for outcome in outcomes)
    return {
        "finished": sum(outcome["finished"] for outcome in outcomes) / len(outcomes),
        "overflowed": sum(outcome["overflowed"] for outcome in outcomes),
        "median": statistics.median(used),
        "p99": used[min(len(used) - 1, int(0.99 * len(used)))],
        "most": used[-1],
        "calls": sum(outcome["calls"] for outcome in outcomes) / len(outcomes),
        "right": sum(outcome["right"] for outcome in outcomes) / max(asked, 1),
        "wrong": sum(outcome["wrong"] for outcome in outcomes),
        "largest": max(outcome["largest"] for outcome in outcomes),
    }


def table(sessions, results):
    lines = [
        "| sessions | finished | tokens: median | 99 of 100 below | most | calls | look-ups answered | largest reply |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for arm, outcomes in results.items():
        of = figures_of(outcomes)
        lines.append(f"| {arm.name} | {percent(of['finished'])} | {of['median']:,.0f} | {of['p99']:,} | {of['most']:,} "
                     f"| {of['calls']:.1f} | {percent(of['right'])} | {of['largest']:,} |")
    if WITHOUT in results:
        lines += ["", by_theme(sessions, results[WITHOUT])]
    return "\n".join(lines)


def by_theme(sessions, outcomes):
    total, over = collections.Counter(), collections.Counter()
    for session, outcome in zip(sessions, outcomes, strict=True):
        total[session.theme] += 1
        over[session.theme] += outcome["overflowed"]
    told = ", ".join(f"{theme} {over[theme]} of {total[theme]}" for theme in THEMES if total[theme])
    return f"{len(sessions)} sessions. Without Portion the window overflows in {sum(over.values())}:\n{told}."


def lost(results):
    """What was reached once and is not any more."""
    failed = []
    for arm, outcomes in results.items():
        of = figures_of(outcomes)
        if arm.profile:
            held = {
                "finished": of["finished"] >= (FINISH if arm.bounded else 0.99),
                "look-ups": of["right"] >= 0.98,
                "silently wrong": not of["wrong"],
            }
            failed += [f"{name}, {arm.name}" for name, holds in held.items() if not holds]
    return failed


def main():
    parser = options(__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="how many (default: %(default)s)")
    given = parser.parse_args()
    global WORKSHOP
    WORKSHOP = Workshop(given.harness, given.only)
    sessions = WORKSHOP.sessions(given.sessions)
    arms = [arm for arm in ARMS if able(arm) and given.profile in (None, arm.profile)]
    results = {}
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), fork) as pool:
        for arm in arms:
            began = time.monotonic()
            results[arm] = list(pool.map(held, sessions, [arm] * len(sessions), chunksize=4))
            if given.v:
                print(f"{arm.name}: {time.monotonic() - began:.0f} s", figures_of(results[arm]), file=sys.stderr)
                for session, outcome in zip(sessions, results[arm], strict=True):
                    if arm.profile and not outcome["finished"] or given.v > 1:
                        print(session.number, session.theme, session.heavy, outcome, file=sys.stderr)
    text = table(sessions, results)
    print(text)
    if given.readme:
        publish(given.readme, "sessions", text)
    return verdict([] if given.only or given.sessions != SESSIONS else lost(results), given.check)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Does the information survive the budget?

Puts the look-ups of a survival harness to Portion, black box, over MCP stdio, and prints what came of them. The
harness is a folder with `docs.py`, `agent.py`, `mcp_shaper.py`, `chunkcheck.py`, `rag.py` and `fixture_server.py`, its
documents a folder beside it; neither is part of this repository.

    run.py HARNESS [--check] [--readme docs/measured.md] [--only SUBSTRING] [-v]

`lean.json` and `default.json` say how each thing that the simulated agent can do is one call of our two tools.
"""

import collections
import concurrent.futures
import json
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

from harness import PROFILES, TOOL_LIMIT, WINDOW, Harness, config, options, percent, publish, verdict

BUDGET = 8192

# Tokens of first replies with those of their documents, tokens of follow-ups, and the failed follow-ups.
Replies = collections.namedtuple("Replies", "firsts follow_ups failed")


class Recorded:
    """The proxy, with every reply counted."""

    def __init__(self, config):
        self.harness = HARNESS
        self.shaper = HARNESS.mcp_shaper.McpShaper(config)
        self.supports = self.shaper.supports
        self.firsts, self.follow_ups, self.failed = [], [], collections.Counter()

    def open(self, doc):
        text, lossless = self.shaper.open(doc)
        self.firsts.append((self.harness.tokens(text), self.harness.tokens(doc.text)))
        return text, lossless

    def follow(self, doc, op):
        got = self.shaper.follow(doc, op)
        if got is not None:
            self.follow_ups.append(self.harness.tokens(got[0]))
            error = re.match(r'\{"error":\{"code":"(\w+)"', got[0])
            if error:
                self.failed[f"{op['op']} {error[1]}"] += 1
        return got

    def close(self):
        self.shaper.close()
        return Replies(self.firsts, self.follow_ups, self.failed)


def look_ups(profile, only, verbose):
    harness, proxy = HARNESS, Recorded(config(profile))
    classes = {"education", "hostaway", "logs", "docs", "mcp"}
    rows = []
    for pack, rel, cls in harness.documents(classes, only):
        doc = harness.docs.Doc(pack, rel, cls)
        questions = harness.docs.questions(doc)
        first, lossless = proxy.open(doc)
        for question in questions:
            outcome = harness.agent.run(question, doc, proxy, first, TOOL_LIMIT, WINDOW, lossless)
            rows.append({"class": cls, "doc": rel, "kind": question["kind"], **outcome})
            if verbose and (not outcome["ok"] or verbose > 1):
                print(profile, question["qid"], question["kind"], question["text"][:100], "->",
                      str(question["answer"])[:60], outcome, file=sys.stderr)
        for cached in (harness.agent.tok, harness.agent.norm, harness.agent.view):
            cached.cache_clear()
    return rows, proxy.close()


def figures_of(rows):
    answered = sum(row["ok"] for row in rows)
    return {
        "questions": len(rows),
        "answered": answered / len(rows),
        "first alone": sum(row["ok"] and row["calls"] == 1 for row in rows) / len(rows),
        "tokens": sum(row["tokens"] for row in rows) / max(answered, 1),
        "calls": sum(row["calls"] for row in rows) / max(answered, 1),
        "wrong": sum(row["wrong"] for row in rows) / len(rows),
    }


def chunks(verbose):
    """Quality of the boundaries between the chunks of a walk, in tokens that the harness counts."""
    harness = HARNESS
    proxy = harness.mcp_shaper.McpShaper(config("default", "--tokenizer", "o200k"))
    total, fill = collections.Counter(), []
    for pack, rel, cls in harness.documents({"logs", "docs"}):
        doc = harness.docs.Doc(pack, rel, cls)
        read, text = [], proxy.open(doc)[0]
        while text is not None:
            body, _, notice = text.rpartition("\n{")
            read.append(body if '"meta":{' in notice else text)
            got = proxy.follow(doc, {"op": "next"})
            text = got and got[0]
        found = harness.chunkcheck.check(doc.text, cls == "logs", read)
        if verbose and (found["bad"] or found["lost"] or found["over"]):
            print(rel, found, file=sys.stderr)
        for key in ("chunks", "bad", "cuts", "over"):
            total[key] += found[key]
        total["lost"] += found["lost"] > 0
        if found["cuts"]:
            fill.append(found["fill"])
    proxy.close()
    return {**total, "fill": sum(fill) / max(len(fill), 1)}


def ranked():
    """The share of the relevant among scored chunks that are kept within a budget."""
    base = Path(HARNESS.docs.BASE) / os.environ.get("PACK", "public")
    relevant = collections.defaultdict(set)
    for line in (base / "rag_qrels.tsv").read_text().split("\n")[1:]:
        if line:
            name, chunk, grade = line.split("\t")
            if int(grade) <= 4:
                relevant[name].add(chunk)
    command = ["portion", "shape", "--tokenizer", "o200k", "--strategy", "ranked", "--fill", "value"]
    command += ["--token-budget-threshold", str(BUDGET), "--hard-cap", str(BUDGET), "--summarize-above", str(BUDGET)]
    recall = []
    for name, wanted in sorted(relevant.items()):
        shown = subprocess.run([*command, str(base / name)], capture_output=True, text=True, check=True).stdout
        kept = {chunk for chunk in wanted if f'"id":{json.dumps(chunk)}' in shown}
        recall.append(len(kept) / len(wanted))
    return sum(recall) / len(recall)


def table(results, cut, kept):
    lines = ["| measure | to reach | `--lean` | default |", "| --- | --- | --- | --- |"]
    of = {profile: figures_of(rows) for profile, (rows, _) in results.items()}

    def row(name, target, value):
        lines.append(f"| {name} | {target} | " + " | ".join(value(profile) for profile in PROFILES) + " |")

    def replies(profile):
        counted = results[profile][1]
        return [first for first, _ in counted.firsts] + counted.follow_ups

    row("look-ups answered", "≥ 98 %", lambda p: percent(of[p]["answered"]))
    for cls in sorted({row["class"] for row in results["lean"][0]}):
        share = {p: figures_of([row for row in results[p][0] if row["class"] == cls]) for p in PROFILES}
        row(f"· of class {cls}", "≥ 95 %", lambda p, share=share: percent(share[p]["answered"]))
    row("answered by the first reply alone", "≥ 45 %", lambda p: percent(of[p]["first alone"]))
    row("tokens an answer, failures included", "≤ 1,100", lambda p: f"{of[p]['tokens']:,.0f}")
    row("calls an answer", "≤ 1.8", lambda p: f"{of[p]['calls']:.2f}")
    row("silently wrong", "0", lambda p: percent(of[p]["wrong"]))
    row("replies above 4,000 tokens", "0", lambda p: str(sum(cost > 4000 for cost in replies(p))))
    row("mean tokens of a reply", "≤ 2,400", lambda p: f"{sum(replies(p)) / len(replies(p)):,.0f}")
    row("mean tokens of a first reply, below direct by", "≥ 60 %", lambda p: percent(
        1 - sum(first for first, _ in results[p][1].firsts) / sum(raw for _, raw in results[p][1].firsts)))
    row("follow-ups that succeed", "≥ 95 %", lambda p: percent(
        1 - sum(results[p][1].failed.values()) / len(results[p][1].follow_ups)))
    if cut:
        told = f"{cut['bad']} / {cut['over']} / {cut['lost']} / {percent(cut['fill'])}"
        lines.append(f"| bad boundaries / chunks over 2,000 / texts with lost characters / fill | 0 / 0 / 0 / ≥ 90 % | — | {told} |")
    if kept is not None:
        lines.append(f"| relevant of scored chunks kept at 8,192 tokens | ≥ 78 % | — | {percent(kept)} |")
    return "\n".join(lines)


def of_page(text):
    """The table without goals and without rows that only developers read."""
    rows = [line.split(" | ") for line in text.splitlines() if "· of class" not in line and "bad boundaries" not in line]
    return "\n".join(" | ".join([name, *values]) for name, _, *values in rows)


def lost(results, cut, kept):
    """What was reached once and is not any more."""
    rows, proxy = results["lean"]
    lean = figures_of(rows)
    other = results["default"][1]
    costs = [first for first, _ in other.firsts] + other.follow_ups
    classes = {row["class"] for row in rows}
    worst = min(figures_of([row for row in rows if row["class"] == cls])["answered"] for cls in classes)
    lean_costs = [first for first, _ in proxy.firsts] + proxy.follow_ups
    held = {
        "look-ups answered": lean["answered"] >= 0.98,
        "every class": worst >= 0.95,
        "first reply alone": lean["first alone"] >= 0.22,
        "tokens an answer": lean["tokens"] <= 800,
        "calls an answer": lean["calls"] <= 1.9,
        "silently wrong": lean["wrong"] == 0,
        "replies above 4,000 tokens": max(lean_costs) <= 4000,
        "mean reply by default": sum(costs) / len(costs) <= 2400,
        "follow-ups": sum(other.failed.values()) <= 0.05 * len(other.follow_ups),
        # Two entries of one log are longer than a chunk may be. The first chunk of a log is a few entries.
        "boundaries": not cut or (cut["bad"] <= 2 and not cut["over"] and not cut["lost"] and cut["fill"] >= 0.94),
        "scored chunks": kept is None or kept >= 0.84,
    }
    return [name for name, holds in held.items() if not holds]


def main():
    given = options(__doc__).parse_args()
    global HARNESS
    HARNESS = Harness(given.harness)
    profiles = [given.profile] if given.profile else PROFILES
    # Processes, because each waits for its own proxy. They inherit the harness.
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), fork) as pool:
        looked = {profile: pool.submit(look_ups, profile, given.only, given.v) for profile in profiles}
        is_whole = not (given.only or given.profile)
        rest = [pool.submit(chunks, given.v), pool.submit(ranked)] if is_whole else []
        results = {profile: future.result() for profile, future in looked.items()}
        cut, kept = [future.result() for future in rest] or (None, None)
    for profile, (rows, counted) in results.items():
        kinds = collections.defaultdict(list)
        for row in rows:
            kinds[row["kind"]].append(row)
        if given.v:
            for kind, of_kind in sorted(kinds.items()):
                told = figures_of(of_kind)
                print(f"{profile} {kind:11} {told['questions']:4} answered {told['answered']:6.1%} first "
                      f"{told['first alone']:6.1%} tokens {told['tokens']:6.0f} calls {told['calls']:.2f}", file=sys.stderr)
            print(profile, figures_of(rows), "failed", dict(counted.failed), "first mean",
                  sum(f for f, _ in counted.firsts) / len(counted.firsts), file=sys.stderr)
    if given.profile:
        return 0
    text = table(results, cut, kept)
    print(text)
    if given.readme:
        publish(given.readme, "survival", of_page(text))
    return verdict([] if given.only else lost(results, cut, kept), given.check)


if __name__ == "__main__":
    sys.exit(main())

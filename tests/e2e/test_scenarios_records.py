"""V5 and V7 on each front: records, alerts, and the figures that follow from records.

Durations are in `test_scenarios_figures.py`.
"""

import json
import random
import re
import subprocess
from functools import cache

import pytest

from fixture import corpus
from harness import tokens
from harness.command import PORTION
from harness.fronts import FRONTS, lawful, opened, walk
from harness.hook import asked
from harness.ports import free_port
from harness.recorded import Recorded
from harness.reply import BUDGET, HARD_CAP
from harness.waiting import until


@pytest.fixture(params=FRONTS)
def name(request):
    return request.param


@pytest.fixture
def record(tmp_path):
    return Recorded(tmp_path / "telemetry.db")


def test_v5_1_each_of_100_requests_is_recorded_with_tokens_bytes_items_and_latency(name, record):
    counts = [number * 7 % 60 + 1 for number in range(100)]
    with opened(name, "--telemetry", str(record.path), "--tokenizer", "o200k") as front:
        shown = [front.call("list_bookings", count=count) for count in counts]
        endpoint = front.endpoint("list_bookings")
    records = record.requests(100)
    assert len(records) == len({each["requestId"] for each in records}) == 100
    for count, reply, each in zip(counts, shown, records, strict=True):
        assert each["endpoint"] == endpoint
        assert each["totalItems"] == count and 0 < each["itemCount"] <= count
        assert abs(each["estimatedTokens"] - reply.cost) <= 0.2 * reply.cost + 40
        assert each["originalBytes"] == len(corpus.bookings(count).encode())
        assert 0 < each["responseBytes"] <= reply.sent and 0 <= each["overheadMs"] <= each["latencyMs"]


def test_v5_2_a_request_over_budget_is_logged_with_both_sizes_and_the_reduction(name, record):
    with opened(name, "--telemetry", str(record.path), "--log-level", "info", "--log-format", "json") as front:
        lawful(front.call("search_bookings"))
        endpoint, log = front.endpoint("search_bookings"), front.log
    one = record.one("--endpoint", endpoint)
    assert one["outcome"] == "paginated" and one["originalTokens"] > one["estimatedTokens"]
    events = [json.loads(line) for line in log().splitlines() if line.startswith("{")]
    [event] = [event for event in events if event.get("outcome") == "paginated"]
    assert (event["level"], event["endpoint"], event["original_bytes"]) == ("INFO", endpoint, one["originalBytes"])
    assert event["reduction"] == round(1 - event["bytes"] / event["original_bytes"], 3) > 0.5


def test_v5_3_paged_requests_are_counted_apart(name, record):
    with opened(name, "--telemetry", str(record.path)) as front:
        pages = len(list(walk(front, lawful(front.call("search_bookings")))))
        log = lawful(front.call("read_text", name="traced_log"))
        lawful(front.at(log, log.next))
        front.call("get_small_booking")
        searched, read = front.endpoint("search_bookings"), front.endpoint("read_text")
    records = record.requests(pages + 3)
    assert sum(each["paginationUsed"] for each in records) == pages
    assert sum(each["chunkingUsed"] for each in records) == 2
    assert not any(each["paginationUsed"] and each["chunkingUsed"] for each in records)
    figures = {each["endpoint"]: each for each in record.stats()}
    assert (figures[searched]["paginated"], figures[read]["paginated"]) == (pages, 0)


def test_v5_4_oversized_attempts_above_five_per_cent_raise_an_alert(name):
    port = free_port()
    with opened(name, "--alert-on", "every", admin=f"127.0.0.1:{port}") as front:
        for tool, count in (("get_small_booking", 94), ("search_bookings", 6)):
            for _ in range(count):
                front.call(tool)
        health = lambda: json.loads(asked(port, "/health"))
        told = until(lambda: (found := health())["status"] == "degraded" and found, "an alert", told=front.log)
        assert told["alerts"][0]["raised"] and any("oversized" in reason for reason in told["reasons"])
        until(lambda: re.search(r"WARN.*oversized|WARN.*% of", front.log()), "a warning in the log")


def test_v7_replies_fit_save_60_per_cent_and_are_estimated_well(name, record):
    """A session of first replies and follow-ups: no overflow, follow-ups succeed, and the figures of V7."""
    options = ["--telemetry", str(record.path), "--tokenizer", "o200k", "--accuracy-sample", "100"]
    with opened(name, *options) as front:
        follow_ups = []
        for tool, arguments in [("search_bookings", {}), ("list_bookings", {}), ("get_booking", {}), ("read_text", {"name": "traced_log"}), ("read_text", {"name": "prose"})]:
            first = lawful(front.call(tool, **arguments), BUDGET)
            follow_ups += [front.at(first, first.next)] if first.next else []
            follow_ups += [front.read(first, limit=20, maxTokens=1500), front.read(first, raw=True, maxTokens=1500)]
        assert all(lawful(shown, HARD_CAP).kind for shown in follow_ups), "every follow-up succeeds"
    records = record.requests(5 + len(follow_ups))
    firsts = [each for each in records if not each["followUp"]]
    mean = lambda key: sum(each[key] for each in firsts) / len(firsts)
    assert mean("estimatedTokens") <= 0.4 * mean("originalTokens")
    assert sum(each["estimatedTokens"] for each in records) / len(records) <= 2400
    near = [abs(each["estimatedTokens"] / each["actualTokens"] - 1) <= 0.2 for each in records if each["actualTokens"]]
    assert near and sum(near) >= 0.9 * len(near)


WINDOW = 200_000
TEXTS = [("read_text", {"name": "traced_log"}), ("read_text", {"name": "prose"})]
CALLS = [("search_bookings", {}), ("list_bookings", {}), ("get_booking", {}), *TEXTS]
FOLLOW_UPS = {
    "page": [{"limit": 20}, {"fields": "id,status"}, {"fields": "all", "limit": 5}, {"page": 3, "limit": 30}, {"raw": True}],
    "summary": [{"section": "financials"}, {"path": "/dates"}, {"raw": True}, {"fields": "all"}],
    "chunk": [{"startLine": 3, "endLine": 9}, {"startLine": -20}, {"raw": True, "maxTokens": 1500}],
}


def session(front, chance):
    """Fifteen steps of a model that lists, opens, turns pages and reads on: the tokens of each, and of all whole results."""
    shown, costs, whole = None, [], 0
    for _ in range(15):
        if shown is None or chance.random() < 0.25:
            tool, arguments = chance.choice(CALLS)
            shown = lawful(front.call(tool, **arguments), BUDGET)
            first, whole = shown, whole + whole_tokens(tool, **arguments)
        elif shown.next and chance.random() < 0.5:
            shown = lawful(front.at(shown, shown.next), HARD_CAP)
        else:
            shown = lawful(front.read(first, **chance.choice(FOLLOW_UPS[first.kind])), HARD_CAP)
        costs.append(shown.cost)
    return costs, whole


@cache
def whole_tokens(tool, name=None):
    payload = {"get_booking": corpus.big_booking, "read_text": getattr(corpus, name or "prose")}.get(tool, corpus.bookings)
    return tokens.count(payload())


def test_v7_sessions_of_many_steps_do_not_overflow(name):
    """Of 40 sessions none overflows a model's window, or has a reply that fails; as whole results most would."""
    with opened(name, "--telemetry", "off") as front:
        seen = [session(front, random.Random(number)) for number in range(40)]
    assert max(sum(costs) for costs, _ in seen) < WINDOW / 2
    assert sum(whole > WINDOW for _, whole in seen) > 20


def test_v7_cursors_are_valid_for_ten_minutes(tmp_path):
    said = subprocess.run([PORTION, "config", "show"], capture_output=True, text=True, timeout=60, cwd=tmp_path).stdout
    assert re.search(r"snapshotTtl: *10m\b", said)

"""V3 and V8 on each front: a wrapped server, REST through `serve`, and `portion http`."""

import itertools
import json
import re
import subprocess

import pytest

from fixture import corpus
from harness import tokens
from harness.command import PORTION, REPOSITORY
from harness.dense import records
from harness.fronts import FRONTS, lawful, opened, visit_sessions, walk
from harness.recorded import Recorded
from harness.replacing import renamed_over
from harness.reply import HARD_CAP
from harness.waiting import until

IDS = [f"BK-{number:04}" for number in range(1, 501)]
PAYLOAD = corpus.bookings()


class Configured:
    """A front with a configuration file that the test replaces."""

    def __init__(self, front, path):
        self.front, self.path = front, path

    def write(self, text):
        renamed_over(self.path, text)

    def until(self, holds, what):
        return until(holds, what, pause=0.02, told=self.front.log)


@pytest.fixture(params=FRONTS)
def configured(request, tmp_path):
    """A function of the text of the file; the front that has read it."""
    stack = []

    def start(text):
        path = tmp_path / "portion.yaml"
        path.write_text(text)
        context = opened(request.param, "--config", str(path))
        stack.append(context)
        return Configured(context.__enter__(), path)

    yield start
    for context in stack:
        context.__exit__(None, None, None)


def budget(shown):
    meta = lawful(shown, HARD_CAP).meta
    return meta["estimatedTokens"] + meta["budgetRemaining"]


def ids(shown, *path):
    return [record["id"] for record in records(shown, *path)]


def test_v3_1_a_threshold_changed_in_the_running_server_is_what_the_next_replies_obey(configured):
    portion = configured("tokenBudgetThreshold: 2000\n")
    ask = lambda: portion.front.call("search_bookings")
    before = ask()
    assert budget(before) == 2000
    portion.write("tokenBudgetThreshold: 8000\n")
    after = portion.until(lambda: (shown := ask()) and budget(shown) == 8000 and shown, "8,000 tokens")
    shown, wider = (len(json.dumps(records(reply, "data", "items"))) for reply in (before, after))
    assert wider > 1.3 * shown


def test_v3_2_paging_switched_on_for_one_endpoint_leaves_others_unchanged(configured):
    portion = configured("pagination: false\n")
    assert portion.front.call("list_bookings").is_untouched(PAYLOAD)
    name = portion.front.endpoint("list_bookings")
    portion.write(f"pagination: false\nendpoints:\n  {name}:\n    pagination: true\n")
    page = portion.until(lambda: (shown := portion.front.call("list_bookings")).kind == "page" and shown, "pages")
    assert ids(page) == IDS[:50]
    assert portion.front.call("search_bookings").kind is None


def test_v3_3_nothing_configured_is_4000_tokens_and_50_items(configured):
    first = configured("").front.call("search_bookings")
    assert (budget(first), first.meta["pageSize"], ids(first, "data", "items")) == (4000, 50, IDS[:50])


@pytest.mark.parametrize("key, value", [("tokenBudgetThreshold", 4000), ("defaultPageSize", 50)])
def test_v3_3_the_defaults_are_documented_and_shown(key, value, tmp_path):
    documented = (REPOSITORY / "docs/reference/configuration.md").read_text()
    assert re.search(rf"^\| `{key}` \| `{value}` \|", documented, re.MULTILINE)
    shown = subprocess.run([PORTION, "config", "show"], capture_output=True, text=True, timeout=60, cwd=tmp_path).stdout
    assert re.search(rf"^# {key}: {value}$", shown, re.MULTILINE), shown


def test_v3_4_an_invalid_file_leaves_the_old_configuration_and_is_logged(configured):
    portion = configured("tokenBudgetThreshold: 5000\n")
    portion.write("tokenBudgetThreshold: plenty\n")
    portion.until(lambda: re.search(r"portion\.yaml:1:\d+", portion.front.log()), "an error with its place")
    assert budget(portion.front.call("search_bookings")) == 5000


def test_v8_cursors_are_opaque_and_signed(configured):
    front = configured("").front
    first = lawful(front.call("search_bookings"))
    assert re.fullmatch(r"[a-z]{12,48}-{0,3}", first.next) and len(first.next) <= 48
    for at in range(len(first.next)):
        forged = first.next[:at] + ("a" if first.next[at] != "a" else "b") + first.next[at + 1 :]
        assert front.at(first, forged).error["code"] == "cursor_invalid"


def test_v8_metadata_tell_nothing_of_the_inside(configured):
    portion = configured("")
    shown = portion.front.call("get_booking")
    told = json.dumps(shown.notice)
    for inside in [str(portion.path.parent), "127.0.0.1", "/home/", "thread", "snapshotId"]:
        assert inside not in told


def test_v8_the_configuration_is_validated_at_the_start(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("tokenBudgetTreshold: 8000\n")
    for command in (["wrap", "--config", str(path), "--", "true"], ["serve", "--config", str(path), "--", "true"], ["http", "--upstream", "http://127.0.0.1:9", "--config", str(path)]):
        ended = subprocess.run([PORTION, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert ended.returncode != 0 and re.search(r"portion\.yaml:1:\d+", ended.stderr) and "tokenBudgetThreshold" in ended.stderr


def test_v8_decisions_are_logged_at_info(configured):
    portion = configured("logLevel: info\n")
    lawful(portion.front.call("search_bookings"))
    name = re.escape(portion.front.endpoint("search_bookings"))
    portion.until(lambda: re.search(rf"INFO.*{name}.*paginated|INFO.*paginated.*{name}", portion.front.log()), "a decision in the log")
    assert "Lisboa" not in portion.front.log(), "no text of a payload is logged"


def test_v8_changes_are_logged_with_old_and_new_values(configured):
    portion = configured("tokenBudgetThreshold: 4000\n")
    portion.write("tokenBudgetThreshold: 8000\n")
    portion.until(lambda: re.search(r"tokenBudgetThreshold.*\b4000\b.*\b8000\b", portion.front.log()), "old and new value")


def test_v8_clients_that_ask_for_nothing_get_the_first_page(configured):
    first = lawful(configured("defaultPageSize: 25\n").front.call("search_bookings"))
    assert ids(first, "data", "items") == IDS[:25] and first.next
    assert {"offset": 0, "hasMore": True}.items() <= first.meta.items()


def test_v8_fields_are_only_added(configured):
    front = configured("metadata: always\n").front
    shown = front.call("search_bookings", fields="all", limit=3)
    whole = json.loads(PAYLOAD)
    value = json.loads(shown.text)
    assert value["status"] == "ok" and value["data"]["source"] == "fixture"
    assert value["data"]["items"] == whole[:3]
    assert set(value) <= {"status", "data", "nextCursor", "totalCount", "meta"}


SAMPLED = 1000


def large_replies(front, count):
    """So many replies that are too large to be counted exactly each time."""
    pages = list(walk(front, lawful(front.call("search_bookings"))))
    replies = [front.at(page, page.meta["cursor"]) for page in itertools.islice(itertools.cycle(pages), count)]
    return [*pages, *replies]


@pytest.mark.parametrize("name", FRONTS)
def test_v8_accuracy_is_sampled_at_one_per_cent(name, tmp_path):
    """Of those that are sampled, the record has the exact cost of what was sent, and the estimate is near it."""
    record = Recorded(tmp_path / "telemetry.db")
    with opened(name, "--tokenizer", "o200k", "--telemetry", str(record.path)) as front:
        shown = large_replies(front, SAMPLED)
    assert all(len(reply.text) > 2048 for reply in shown)
    records = record.requests(len(shown), "--limit", str(2 * SAMPLED))
    sampled = [(reply, each) for reply, each in zip(shown, records, strict=True) if each["actualTokens"] is not None]
    assert SAMPLED / 200 <= len(sampled) <= SAMPLED / 50
    for reply, each in sampled:
        assert each["actualTokens"] == reply.cost, "what a tokenizer that is not Portion's counts"
        assert abs(each["estimatedTokens"] - reply.cost) <= 0.2 * reply.cost
    [figures] = record.stats()
    assert (figures["sampled"], figures["estimatesNearShare"]) == (len(sampled), 1.0)


@pytest.mark.parametrize("name", FRONTS)
def test_v8_accuracy_is_not_sampled_at_zero_per_cent(name, tmp_path):
    record = Recorded(tmp_path / "telemetry.db")
    with opened(name, "--tokenizer", "o200k", "--telemetry", str(record.path), "--accuracy-sample", "0") as front:
        shown = large_replies(front, 200)
    assert all(each["actualTokens"] is None for each in record.requests(len(shown), "--limit", "1000"))


@pytest.mark.parametrize("name, wanted", [("wrapped", 3), ("REST through serve", 20), ("portion http", 20)])
def test_v8_one_half_of_the_sessions_with_and_the_other_without_to_compare(name, wanted, tmp_path):
    """Both are served, each session stays in its arm, and the telemetry compares what each was sent."""
    record, arms = Recorded(tmp_path / "telemetry.db"), {"shaped": [], "unshaped": []}
    options = ["--experiment", "{split: 50}", "--tokenizer", "o200k", "--telemetry", str(record.path)]

    def visit(front):
        shown = [front.call("list_bookings") for _ in range(2)]
        [is_shaped] = {lawful(reply).kind == "page" if reply.kind else not reply.is_untouched(PAYLOAD) for reply in shown}
        arms["shaped" if is_shaped else "unshaped"].append(sum(reply.cost for reply in shown) / 2)
        assert sum(map(len, arms.values())) < 200, "half of the sessions are in each arm"
        return min(map(len, arms.values())) >= wanted

    visit_sessions(name, visit, *options)
    count = 2 * sum(map(len, arms.values()))
    records = record.requests(count, "--limit", "1000")
    wanted_row = {"endpoint": records[0]["endpoint"], "design": "split", "measure": "tokensPerCall"}
    [tokens_] = [each for each in record.stats("--experiment") if wanted_row.items() <= each.items()]
    for arm, costs in arms.items():
        of_arm = [each for each in records if each["experimentArm"] == arm]
        assert (tokens_[f"{arm}Sessions"], tokens_[f"{arm}Requests"]) == (len(costs), len(of_arm)) == (len(costs), 2 * len(costs))
        assert len({each["session"] for each in of_arm}) == len(costs)
        assert tokens_[arm] == pytest.approx(sum(costs) / len(costs), rel=0.05), "the mean of what was sent"
    assert tokens_["difference"] == pytest.approx(tokens_["shaped"] - tokens_["unshaped"])
    assert tokens_["shaped"] < 0.1 * tokens_["unshaped"]
    assert tokens_["verdict"] == ("lower" if wanted >= 20 else "too few")


@pytest.mark.parametrize("name", FRONTS)
def test_v8_in_the_shadow_one_endpoint_is_as_it_was_and_what_it_would_be_is_recorded(name, tmp_path):
    record, path = Recorded(tmp_path / "telemetry.db"), tmp_path / "portion.yaml"
    options = ["--telemetry", str(record.path), "--tokenizer", "o200k", "--config", str(path)]
    path.write_text("")
    with opened(name, *options) as front:
        shaped, endpoint = lawful(front.call("list_bookings")), front.endpoint("list_bookings")
    path.write_text(f"endpoints:\n  {endpoint}: {{experiment: shadow}}\n")
    with opened(name, *options) as front:
        assert front.call("list_bookings").is_untouched(PAYLOAD)
        assert front.call("search_bookings").kind == "page", "others are shaped"
    plain, shadow = record.requests(2, "--endpoint", endpoint)
    assert (shadow["outcome"], shadow["shadowOutcome"]) == ("unshaped", plain["outcome"]) == ("unshaped", "paginated")
    assert shadow["shadowTokens"] == pytest.approx(shaped.cost, rel=0.05)
    assert shadow["estimatedTokens"] == pytest.approx(tokens.count(PAYLOAD), rel=0.05)


def write(folder, text):
    path = folder / "portion.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", FRONTS)
def test_v3_1_a_walk_goes_on_across_a_change(name, tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("tokenBudgetThreshold: 4000\n")
    with opened(name, "--config", str(path)) as front:
        first = lawful(front.call("search_bookings"))
        renamed_over(path, "tokenBudgetThreshold: 8000\n")
        until(lambda: budget(front.call("search_bookings")) == 8000, "8,000 tokens", told=front.log)
        assert [name for page in walk(front, first, 8000) for name in ids(page, "data", "items")] == IDS

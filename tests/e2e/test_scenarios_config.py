"""V3 and V8 on each front: a wrapped server, REST through `serve`, and `portion http`."""

import json
import re
import subprocess
from contextlib import contextmanager

import pytest

from fixture import corpus
from harness.command import PORTION
from harness.dense import records
from harness.fronts import FRONTS, lawful, opened, walk
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
    portion = configured("tokenBudgetThreshold: 4000\n")
    ask = lambda: portion.front.call("search_bookings")
    before = ask()
    assert budget(before) == 4000
    portion.write("tokenBudgetThreshold: 8000\n")
    after = portion.until(lambda: (shown := ask()) and budget(shown) == 8000 and shown, "8,000 tokens")
    assert len(records(after, "data", "items")[0]) > len(records(before, "data", "items")[0])


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


def test_v3_4_an_invalid_file_leaves_the_old_configuration_and_is_logged(configured):
    portion = configured("tokenBudgetThreshold: 5000\n")
    portion.write("tokenBudgetThreshold: plenty\n")
    portion.until(lambda: re.search(r"portion\.yaml:1:\d+", portion.front.log()), "an error with its place")
    assert budget(portion.front.call("search_bookings")) == 5000


def test_v8_cursors_are_opaque_and_signed(configured):
    front = configured("").front
    first = lawful(front.call("search_bookings"))
    assert re.fullmatch(r"[a-z]{12,48}", first.next)
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


@contextmanager
def recorded(name, tmp_path, *options):
    path = tmp_path / "telemetry.db"
    with opened(name, "--telemetry", str(path), *options) as front:
        yield front, path


@pytest.mark.parametrize("name", FRONTS)
def test_v8_accuracy_is_sampled_at_one_per_cent(name, tmp_path):
    said = subprocess.run([PORTION, "config", "show"], capture_output=True, text=True, timeout=60, cwd=tmp_path).stdout
    assert re.search(r"accuracySample:? +1\b", said), said
    with opened(name, "--accuracy-sample", "0", "--config", write(tmp_path, "")) as front:
        lawful(front.call("search_bookings"))


@pytest.mark.parametrize("name", FRONTS)
def test_v8_one_endpoint_with_and_without_to_compare(name, tmp_path):
    with opened(name, "--config", write(tmp_path, "")) as front:
        shaped = lawful(front.call("list_bookings"))
        endpoint = front.endpoint("list_bookings")
    with opened(name, "--config", write(tmp_path, f"endpoints:\n  {endpoint}: {{experiment: shadow}}\n")) as front:
        assert front.call("list_bookings").is_untouched(PAYLOAD)
        assert front.call("search_bookings").kind == "page", "others are shaped"
    assert shaped.cost < 0.4 * len(PAYLOAD) / 4


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

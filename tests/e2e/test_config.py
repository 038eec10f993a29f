"""V3 and V8: one file says how replies are made, endpoint by endpoint, and is obeyed while it changes."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from fixture import corpus
from harness.command import FIXTURE, PORTION, REPOSITORY, wrapped
from harness.configured import FRONTS, Configured
from harness.listening import Listening, served
from harness.peer import Peer
from harness.replacing import WAYS, renamed_over
from harness.reply import HARD_CAP, Reply, exact, items, lawful, pages_joined, raw_joined, walk
from harness.waiting import until

IDS = [f"BK-{number:04}" for number in range(1, 501)]
PAYLOAD = corpus.bookings()
SESSIONS = 16


@pytest.fixture(params=FRONTS)
def front(request):
    return request.param


@pytest.fixture
def configured(front, tmp_path):
    """A function of the file's text: Portion that has read it."""
    running = []

    def start(text, name="portion.yaml", way=Path.write_text):
        path = tmp_path / name
        way(path, text)
        running.append(Configured(front, path).__enter__())
        return running[-1]

    yield start
    for each in running:
        each.__exit__(None, None, None)


def budget(result):
    """The tokens that a reply was to cost at most."""
    meta = lawful(result, HARD_CAP).meta
    return meta["estimatedTokens"] + meta["budgetRemaining"]


def ids(result, *path):
    return [item["id"] for item in items(Reply(result), *path)]


def untouched(result):
    return "_meta" not in result and [block["text"] for block in result["content"]] == [PAYLOAD]


def is_page(result):
    reply = Reply(result)
    return reply.meta.get("kind") == "page"


def refused(path, *options):
    """What is said of a file with which nothing is started."""
    done = run(*wrapped(FIXTURE, "--config", str(path), *options))
    assert done.returncode != 0 and not done.stdout
    return done.stderr


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def test_v3_1_a_threshold_changed_in_the_running_server_is_what_the_next_replies_obey(configured):
    portion = configured("tokenBudgetThreshold: 3000\n")
    before = portion.peer.call("list_bookings")
    assert budget(before) == 3000
    portion.write("tokenBudgetThreshold: 6000\n")
    after = portion.until(lambda: (r := portion.peer.call("list_bookings")) and budget(r) == 6000 and r, "6,000 tokens")
    shown, wider = items(Reply(before)), items(Reply(after))
    assert len(json.dumps(wider)) > 1.3 * len(json.dumps(shown)), "twice the budget shows more"
    assert budget(portion.peer.call("search_bookings")) == 6000, "so it is everywhere"


def test_v3_1_a_walk_goes_on_across_a_change(configured):
    portion = configured("tokenBudgetThreshold: 4000\n")
    first = lawful(portion.peer.call("list_bookings"))
    portion.write("tokenBudgetThreshold: 8000\n")
    portion.until(lambda: budget(portion.peer.call("list_bookings")) == 8000, "8,000 tokens")
    walked = [item["id"] for page in walk(portion.peer, first, 8000) for item in items(page)]
    assert walked == IDS


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_v3_1_however_the_file_is_replaced(configured, way):
    written = [7000]
    portion = configured("tokenBudgetThreshold: 7000\n", way=way)

    def obeyed():
        threshold = budget(portion.peer.call("list_bookings"))
        assert threshold in written, "an empty or half written file is never obeyed"
        return threshold == written[-1]

    for threshold in (8000, 5000, 6000):
        written.append(threshold)
        portion.write(f"tokenBudgetThreshold: {threshold}\ndefaultPageSize: 10\n", way)
        portion.until(obeyed, f"{threshold} tokens")


def test_v3_1_json_is_read_as_well(configured):
    portion = configured('{"tokenBudgetThreshold": 3000}\n', "portion.json")
    assert budget(portion.peer.call("list_bookings")) == 3000
    portion.write('{"tokenBudgetThreshold": 5000}\n')
    portion.until(lambda: budget(portion.peer.call("list_bookings")) == 5000, "5,000 tokens")


def test_v3_2_paging_that_is_off_is_switched_on_for_one_endpoint(configured):
    portion = configured("pagination: false\n")
    assert not is_page(portion.peer.call("list_bookings"))
    assert not is_page(portion.peer.call("search_bookings"))
    portion.write("pagination: false\nendpoints:\n  list_bookings:\n    pagination: true\n")
    page = portion.until(lambda: is_page(r := portion.peer.call("list_bookings")) and r, "pages of list_bookings")
    assert ids(page) == IDS[:50]
    assert not is_page(portion.peer.call("search_bookings")), "others unchanged"


def test_v3_2_what_is_not_paged_is_as_it_came_up_to_a_limit(configured):
    portion = configured("pagination: false\n")
    assert portion.peer.call("list_bookings")["content"][0]["text"] == PAYLOAD
    portion.write("pagination: false\nunshapedByteLimit: 20KiB\n")
    portion.until(lambda: is_page(portion.peer.call("list_bookings")), "a page")
    assert raw_joined(portion.peer, lawful(portion.peer.call("list_bookings"))) == PAYLOAD


def test_v3_2_the_most_specific_pattern_wins(configured):
    sizes = {"*": 40, "list_bookings": 10, "list_*": 20}
    rules = "".join(f"  '{name}':\n    pageSize: {size}\n" for name, size in sizes.items())
    portion = configured(f"endpoints:\n{rules}")
    for tool, size in {"list_bookings": 10, "list_live": 20, "search_bookings": 40}.items():
        assert lawful(portion.peer.call(tool)).meta["pageSize"] == size, tool


@pytest.mark.parametrize("written", [None, "", "# nothing yet\n"])
def test_v3_3_nothing_configured_is_4000_tokens_and_50_items(tmp_path, written):
    options = []
    if written is not None:
        (tmp_path / "portion.yaml").write_text(written)
        options = ["--config", str(tmp_path / "portion.yaml")]
    with Peer(wrapped(FIXTURE, *options), cwd=tmp_path) as peer:
        first = peer.call("list_bookings")
    assert (budget(first), lawful(first).meta["pageSize"], ids(first)) == (4000, 50, IDS[:50])


def test_v3_3_the_defaults_are_documented():
    page = (REPOSITORY / "docs/reference/configuration.md").read_text()
    for key, default in {"tokenBudgetThreshold": "4000", "defaultPageSize": "50"}.items():
        assert re.search(rf"^\| `{key}` \| `{default}` \|", page, re.MULTILINE), key


def test_v3_3_the_file_in_the_working_directory_is_found(tmp_path):
    (tmp_path / "portion.yaml").write_text("defaultPageSize: 7\n")
    with Peer(wrapped(FIXTURE), cwd=tmp_path) as peer:
        assert ids(peer.call("list_bookings")) == IDS[:7]


def test_v3_4_an_invalid_file_changes_nothing_and_is_logged_with_its_place(configured):
    portion = configured("# limits\ntokenBudgetThreshold: 4000\n")
    portion.write("# limits\ntokenBudgetThreshold: plenty\ndefaultPageSise: 20\n")
    name = re.escape(portion.path.name)
    for line in (2, 3):
        portion.until(lambda line=line: re.search(rf"{name}:{line}:\d+", portion.log()), f"an error of line {line}")
    assert "defaultPageSize" in portion.log(), "the nearest key is named"
    assert budget(portion.peer.call("list_bookings")) == 4000
    assert ids(portion.peer.call("list_bookings")) == IDS[:50]
    portion.write("# limits\ntokenBudgetThreshold: 8000\n")
    portion.until(lambda: budget(portion.peer.call("list_bookings")) == 8000, "8,000 tokens after the file was mended")


@pytest.mark.parametrize("broken", ["tokenBudgetThreshold: [4000\n", "hardCap: 3000\n", "\t- x: {\n", "- 1\n"])
def test_v3_4_no_broken_file_is_ever_obeyed(configured, broken):
    portion = configured("tokenBudgetThreshold: 5000\ndefaultPageSize: 30\n")
    portion.write(broken)
    place = rf"{re.escape(portion.path.name)}:\d+:\d+"
    portion.until(lambda: re.search(place, portion.log()), "an error with its place")
    first = portion.peer.call("list_bookings")
    assert (budget(first), ids(first)) == (5000, IDS[:30])


def test_v3_4_a_file_that_goes_and_comes_back_is_read_again(configured):
    portion = configured("defaultPageSize: 30\n")
    portion.path.unlink()
    assert ids(portion.peer.call("list_bookings")) == IDS[:30], "what was read last stays"
    portion.write("defaultPageSize: 10\n")
    portion.until(lambda: ids(portion.peer.call("list_bookings")) == IDS[:10], "pages of 10")


def test_v8_configuration_is_validated_before_anything_is_started(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("tokenBudgetTreshold: 8000\nmaxPageSize: 10\ndefaultPageSize: 50\nhardCap: many\n")
    said = refused(path)
    for line in (1, 4):
        assert re.search(rf"portion\.yaml:{line}:\d+", said), f"line {line} in {said}"
    assert "tokenBudgetThreshold" in said, "the nearest key is named"


def test_v8_limits_are_validated_together(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("maxPageSize: 10\ndefaultPageSize: 50\n")
    said = refused(path)
    assert re.search(r"portion\.yaml:[12]:\d+", said) and "maxPageSize" in said and "defaultPageSize" in said


def test_v8_a_change_is_logged_with_old_and_new_value(configured):
    portion = configured("tokenBudgetThreshold: 4000\n")
    portion.write("tokenBudgetThreshold: 8000\ndefaultPageSize: 20\n")
    for key, old, new in (("tokenBudgetThreshold", 4000, 8000), ("defaultPageSize", 50, 20)):
        told = re.compile(rf"{key}.*\b{old}\b.*\b{new}\b")
        portion.until(lambda told=told: told.search(portion.log()), f"{key}: {old} → {new} in the log")


def test_v8_a_rule_that_matches_no_tool_is_logged_after_a_change_too(front, tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("endpoints: {list_bookings: {defaultPageSize: 20}}\n")
    with Configured(front, path) as portion:
        portion.peer.tools()
        assert "match no tool" not in portion.log()
        portion.write("endpoints: {lst_bookings: {defaultPageSize: 20}, lst_users: {defaultPageSize: 20}}\n")
        told = re.compile("match no tool.*lst_bookings, lst_users")
        portion.until(lambda: told.search(portion.log()), "the rules in one line of the log")
        assert portion.log().count("match no tool") == 1


def test_v8_clients_that_ask_for_nothing_get_the_first_page(configured):
    portion = configured("defaultPageSize: 25\n")
    first = lawful(portion.peer.call("list_bookings"))
    assert ids(first.result) == IDS[:25]
    assert {"offset": 0, "hasMore": True}.items() <= first.meta.items() and first.next


def test_v8_fields_are_only_added(configured):
    portion = configured("metadata: always\n")
    small = portion.peer.call("get_small_booking")
    assert small["content"][0]["text"] == corpus.small_booking(), "what is small is what it was"
    shaped = portion.peer.call("get_all_structured")
    added = set(shaped["structuredContent"]) - {"bookings"}
    assert added == {"nextCursor", "totalCount", "meta"}
    whole = pages_joined(portion.peer, lawful(portion.peer.call("list_bookings")))
    assert whole == exact(PAYLOAD)


def test_v8_the_same_endpoint_with_and_without(configured):
    portion = configured("endpoints:\n  list_bookings:\n    experiment: shadow\n")
    assert untouched(portion.peer.call("list_bookings")), "in the shadow nothing is changed"
    assert is_page(portion.peer.call("search_bookings"))
    portion.write("endpoints:\n  list_bookings:\n    experiment: none\n")
    portion.until(lambda: is_page(portion.peer.call("list_bookings")), "the end of the experiment")


def test_v8_the_arms_of_a_split_are_stable_within_a_session(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("experiment: {split: 50}\n")
    arms = []
    for _ in range(SESSIONS):
        with Peer(wrapped(FIXTURE, "--config", str(path))) as peer:
            served = {untouched(peer.call("list_bookings")) for _ in range(4)}
        assert len(served) == 1, "no session changes its arm"
        arms += served
    assert set(arms) == {True, False}, f"of {SESSIONS} sessions some are in each arm"


def test_v8_a_rollout_goes_on_and_back_without_a_restart(configured):
    portion = configured("rollout: 0\n")
    assert untouched(portion.peer.call("list_bookings"))
    portion.write("rollout: 100\n")
    portion.until(lambda: is_page(portion.peer.call("list_bookings")), "everybody is in")
    portion.write("rollout: 0\n")
    portion.until(lambda: untouched(portion.peer.call("list_bookings")), "nobody is in")


def test_v8_every_key_has_its_variable_and_options_come_first(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("defaultPageSize: 10\nmaxPageSize: 60\n")
    with Peer(wrapped(FIXTURE, "--config", str(path)), env={"PORTION_DEFAULT_PAGE_SIZE": "20"}) as peer:
        assert ids(peer.call("list_bookings")) == IDS[:20]
    options = ["--config", str(path), "--default-page-size", "30"]
    with Peer(wrapped(FIXTURE, *options), env={"PORTION_DEFAULT_PAGE_SIZE": "20"}) as peer:
        assert ids(peer.call("list_bookings")) == IDS[:30]


def test_v8_init_writes_a_valid_file_and_never_replaces_one(tmp_path):
    path = tmp_path / "portion.yaml"
    assert run(PORTION, "config", "init", str(path)).returncode == 0
    text = path.read_text()
    assert text.startswith("# yaml-language-server: $schema=portion.schema.json\n")
    assert json.loads((tmp_path / "portion.schema.json").read_text())["title"]
    assert run(PORTION, "config", "check", "--config", str(path)).stdout.endswith("valid, 0 warnings\n")
    path.write_text(f"{text}\nadmin: localhost:9465\nhardCapp: 1\nlimit: 2\n")
    said = run(PORTION, "config", "check", "--config", str(path))
    assert said.returncode != 0 and said.stderr.rstrip().endswith("2 errors"), said.stderr
    assert run(PORTION, "config", "init", str(path)).returncode != 0 and "hardCapp" in path.read_text()


def test_v8_init_replaces_no_schema_of_others(tmp_path):
    path, schema = tmp_path / "orders.yaml", tmp_path / "orders.schema.json"
    schema.write_text('{"title": "Orders"}')
    said = run(PORTION, "config", "init", str(path))
    assert said.returncode == 1 and str(schema) in said.stderr and "not a schema of Portion" in said.stderr
    assert not path.exists() and schema.read_text() == '{"title": "Orders"}'
    schema.write_text('{"title": "Configuration of Portion"}')
    assert run(PORTION, "config", "init", str(path)).returncode == 0
    assert "properties" in json.loads(schema.read_text())


@pytest.mark.parametrize("line, told", [
    (("--config", "mine.yaml"), "portion config init mine.yaml\n"),
    (("mine.toml",), "a configuration is YAML or JSON"),
])
def test_v8_init_writes_nothing_for_a_wrong_line(tmp_path, line, told):
    said = subprocess.run([PORTION, "config", "init", *line], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert said.returncode == 2 and told in said.stderr, said.stderr
    assert list(tmp_path.iterdir()) == []


def test_v8_secrets_are_never_said(tmp_path):
    path = tmp_path / "portion.yaml"
    server = "    url: http://127.0.0.1:9/mcp\n    headers:\n      Authorization: Bearer hunter2\n"
    path.write_text(f"upstreams:\n  one:\n{server}")
    said = run(PORTION, "config", "check", "--config", str(path))
    assert said.returncode != 0, "a secret is written by ${NAME} or a file"
    assert "hunter2" not in said.stdout + said.stderr


@pytest.mark.parametrize("variable, told", [
    ("PORTION_LEAN=1", "did you mean PORTION_PROFILE=lean?"),
    ("PORTION_LOG=loud", "write off, error, warn, info, debug or trace"),
])
def test_variables_without_an_effect_are_warned_of(tmp_path, variable, told):
    line = ["env", variable, PORTION, "config", "check"]
    said = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert said.returncode == 0 and told in said.stderr and said.stdout.endswith("valid, 1 warning\n"), said


KEY = "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE="


@pytest.mark.parametrize("text, told", [
    ("admin: 0.0.0.0:9999\n", "0.0.0.0:9999"),
    ("cursorKeys: ./missing.keys\n", "missing.keys"),
    (f"store: postgres://127.0.0.1\ncursorKeys: {KEY}\n", "redis://"),
])
def test_what_would_not_start_is_not_valid(tmp_path, text, told):
    path = tmp_path / "portion.yaml"
    path.write_text(text)
    for options in ([], ["--json"]):
        ended = subprocess.run([PORTION, "config", "check", *options, str(path)], capture_output=True, text=True, cwd=tmp_path)
        assert ended.returncode == 2 and told in ended.stdout + ended.stderr, ended
    started = subprocess.run([PORTION, "serve", "--config", str(path), "--listen", "127.0.0.1:0", "--", *FIXTURE],
                             capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert started.returncode == 2 and told in started.stderr, started


def test_a_listener_that_is_open_to_other_machines_is_not_valid(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("hardCap: 12000\nlisten: 0.0.0.0:9998\n")
    said = run(PORTION, "config", "check", "--json", str(path))
    [error] = json.loads(said.stdout)["errors"]
    assert said.returncode == 2 and error["place"] == f"{path}:2:1" and "0.0.0.0:9998" in error["message"]
    path.write_text("listen: 0.0.0.0:9998\ninsecure: true\n")
    assert run(PORTION, "config", "check", str(path)).returncode == 0


def test_servers_may_be_on_the_command_line_only(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("upstreams: {}\n")
    assert run(PORTION, "config", "check", str(path)).returncode == 0
    with Peer(wrapped(FIXTURE, "--config", str(path))) as peer:
        lawful(peer.call("list_bookings"))


def test_passthrough_is_valid_whatever_the_servers_of_the_file_are(tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("auth: passthrough\nupstreams: {a: {command: [cat]}}\n")
    assert run(PORTION, "config", "check", str(path)).returncode == 0, "the command line may name another server"
    line = [PORTION, "serve", "--config", str(path), "--listen", "127.0.0.1:0"]
    started = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert started.returncode == 2 and "exactly one upstream" in started.stderr, started


@pytest.mark.parametrize("text, told", [
    ("admin: 0.0.0.0:1\n", "0.0.0.0:1"),
    ("cursorKeys: /no/such.keys\n", "/no/such.keys"),
    (f"store: postgres://127.0.0.1\ncursorKeys: {KEY}\n", "redis://"),
])
def test_v3_4_a_file_that_would_not_start_changes_nothing(configured, text, told):
    portion = configured("tokenBudgetThreshold: 5000\n")
    portion.write(f"tokenBudgetThreshold: 6000\n{text}")
    portion.until(lambda: "the previous version stays in force" in portion.log(), "it is rejected")
    assert told in portion.log() and "portion.yaml:2:1" in portion.log()
    assert budget(portion.peer.call("list_bookings")) == 5000


def test_v3_4_a_file_without_servers_that_start_changes_nothing(tmp_path):
    path = tmp_path / "portion.yaml"
    server = f"upstreams: {{fixture: {{command: {json.dumps(FIXTURE)}}}}}\n"
    path.write_text(server)
    with Listening(served("--config", str(path))) as portion, Peer(portion.url) as peer:
        log = lambda: "".join(portion.said)
        for text, told in {
            "upstreams: {}\n": "no server given",
            "upstreams: {a: {command: [no-such-program]}}\n": "`no-such-program`: not found on PATH",
            "upstreams: {a: {openapi: no-such.yaml}}\n": "OpenAPI document no-such.yaml",
        }.items():
            renamed_over(path, f"tokenBudgetThreshold: 6000\n{text}")
            until(lambda: told in log(), told, told=log)
        assert budget(peer.call("list_bookings")) == 4000
        renamed_over(path, f"tokenBudgetThreshold: 6000\n{server}")
        until(lambda: budget(peer.call("list_bookings")) == 6000, "6,000 tokens", told=log)

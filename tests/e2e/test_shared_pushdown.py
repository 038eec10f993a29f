"""Lists that are fetched page by page, in a store that instances share: one instance fetches, and all serve the same list."""

import json
import time
from contextlib import ExitStack, contextmanager

import pytest

from harness.listening import Listening, served
from harness.reply import HARD_CAP, Reply, items, lawful
from harness.waiting import until
from test_pushdown import PAGED_FIXTURE
from test_shared_store import Caller, keys, redis  # noqa: F401

CONFIG = "endpoints: {by_offset: {pushdown: {limit: limit, offset: offset, items: /result, total: /count, pageSize: 100}}}\n"
TOTAL = 1000
PAGES = 10


class Pair:
    """Two instances in front of one server, and a caller at each."""

    def __init__(self, processes):
        self.processes = processes
        self.callers = [Caller(process) for process in processes]
        self._calls = []

    def first(self):
        return lawful(self.callers[0].call("by_offset", case="removes", total=TOTAL))

    def calls(self, **arguments):
        """The pages that the server was asked for until now."""
        self._calls += json.loads(Reply(self.callers[-1].call("calls", tool="by_offset", **arguments)).text)
        return [call.get("offset", 0) for call in self._calls]


@pytest.fixture(params=["redis", "file"])
def pair(request, keys, tmp_path):  # noqa: F811
    store = request.getfixturevalue("redis").url() if request.param == "redis" else "file"
    with instances(tmp_path, store, keys) as pair:
        yield pair


@contextmanager
def instances(directory, store, keys):  # noqa: F811
    config = directory / "portion.yaml"
    config.write_text(CONFIG)
    options = ["--store", store, "--cursor-keys", str(keys), "--config", str(config)]
    with ExitStack() as stack:
        server = stack.enter_context(Listening([*PAGED_FIXTURE, "--http"]))
        start = lambda: Listening(served(*options, "--url", server.url), env={"XDG_STATE_HOME": str(directory / "state")})
        yield Pair([stack.enter_context(start()) for _ in range(2)])


def ids(reply):
    return [int(item["id"]) for item in items(reply, "result")]


def ids_at(caller, cursor, offset):
    return ids(lawful(caller.call("portion_read", cursor=cursor, offset=offset, limit=5, fields="id"), HARD_CAP))


def walked(callers, first):
    """The ids of all pages, each page read from the next of the callers in turn, and what was said of the server's list."""
    numbers, said, reply, turn = ids(first), set(), first, 0
    while reply.next:
        turn += 1
        reply = lawful(callers[turn % len(callers)].call("portion_read", cursor=reply.next), HARD_CAP)
        numbers += ids(reply)
        said.add(reply.meta.get("upstream"))
    return numbers, said


def test_a_list_that_changes_while_it_is_fetched_is_one_list(pair):
    a, b = pair.callers
    first = pair.first()
    cursor = first.meta["cursor"]
    time.sleep(0.5)
    pair.calls(remove=50)
    elsewhere = lawful(b.call("portion_read", cursor=first.next), HARD_CAP)
    assert "upstream" not in elsewhere.meta
    assert lawful(a.call("portion_read", cursor=first.next), HARD_CAP).text == elsewhere.text
    found = {}
    for offset in (100, 250, 500, 800):
        found[offset] = ids_at(b, cursor, offset)
        assert ids_at(a, cursor, offset) == found[offset], f"at {offset}, while it is fetched"
    count = [Reply(caller.call("portion_query", cursor=cursor, sql="SELECT count(*) AS n FROM items")).text for caller in (a, b)]
    assert count[0] == count[1]
    for offset, numbers in found.items():
        assert ids_at(a, cursor, offset) == ids_at(b, cursor, offset) == numbers, f"at {offset}, afterwards"
    assert walked([a, b], first)[0] == walked([b], first)[0]
    assert len(pair.calls()) <= PAGES + 1


def test_a_walk_that_alternates_has_every_item_once(pair):
    numbers, said = walked(pair.callers, pair.first())
    assert numbers == list(range(1, TOTAL + 1))
    assert said == {None}
    assert len(pair.calls()) <= PAGES + 1


def test_a_query_at_the_other_instance_waits_for_the_list(pair):
    cursor = pair.first().meta["cursor"]
    reply = Reply(pair.callers[1].call("portion_query", cursor=cursor, sql="SELECT count(*) AS n FROM items"))
    assert [dict(row) for row in reply.json] == [{"n": str(TOTAL)}]
    assert len(pair.calls()) <= PAGES + 1


def test_another_instance_goes_on_if_the_fetching_one_is_gone(pair):
    first = pair.first()
    time.sleep(0.8)
    pair.processes[0].process.kill()
    numbers, said = walked(pair.callers[1:], first)
    assert numbers == list(range(1, TOTAL + 1))
    assert said == {None}
    offsets = pair.calls()
    assert offsets.count(0) == 1 and len(offsets) < 2 * PAGES, "it begins with what is stored"


def test_what_another_instance_fetches_is_unavailable_while_the_store_is_lost(redis, keys, tmp_path):  # noqa: F811
    with instances(tmp_path, redis.url(), keys) as pair:
        first, b = pair.first(), pair.callers[1]
        cursor = first.meta["cursor"]
        second = lawful(b.call("portion_read", cursor=first.next), HARD_CAP)
        redis.pause()
        reads = [{"cursor": second.next}, {"cursor": cursor, "page": 15}, {"cursor": cursor, "raw": True}, {"cursor": cursor, "path": "/result"}]
        for arguments in reads:
            assert Reply(b.call("portion_read", **arguments)).error["code"] == "store_unavailable", arguments
        counted = Reply(b.call("portion_query", cursor=cursor, sql="SELECT count(*) AS n FROM items"))
        assert counted.error["code"] == "store_unavailable"
        redis.resume()
        until(lambda: "error" not in b.call("portion_read", cursor=second.next)["content"][0]["text"], "it goes on")
        assert walked([b], first)[0] == list(range(1, TOTAL + 1))

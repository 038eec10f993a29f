"""Tools that page their results themselves are served as one list: totals, walks, queries and the calls that they cost."""

import json
import threading
from contextlib import ExitStack, contextmanager

import pytest
from harness.command import PORTION, with_sdk
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, items, lawful, walk
from harness.waiting import until

PAGED_FIXTURE = with_sdk("fixture/paged.py")
CONFIG = """
endpoints:
  by_offset:
    pushdown: {limit: limit, offset: offset, items: /result, total: /count, sort: sortOrder, pageSize: 100}
  search_bookings: {pushdown: hostaway}
  by_page: {pushdown: page}
  by_cursor: {pushdown: cursor}
  by_after_id: {pushdown: after-id}
  by_link: {pushdown: link}
  get_education_data: {pushdown: education}
  write_rows: {pushdown: limit-offset}
"""
LISTS = {
    "by_offset": ["result"],
    "search_bookings": ["result"],
    "by_page": ["items"],
    "by_cursor": ["data"],
    "by_after_id": ["result"],
    "by_link": ["items"],
}


@contextmanager
def portion(tmp_path, config=CONFIG, front="wrap"):
    path = tmp_path / "portion.yaml"
    path.write_text(config)
    options = ["--config", str(path)]
    with ExitStack() as stack:
        if front.endswith("url"):
            upstream = ["--url", stack.enter_context(Listening([*PAGED_FIXTURE, "--http"])).url]
        else:
            upstream = ["--", *PAGED_FIXTURE]
        if front.startswith("wrap"):
            yield stack.enter_context(Peer([PORTION, "wrap", *options, *upstream]))
        else:
            process = stack.enter_context(Listening(served(*options, *upstream)))
            mode = "legacy" if front == "serve session" else "auto"
            yield stack.enter_context(Peer(process.url, mode=mode))


@pytest.fixture(scope="module", params=["wrap", "wrap url", "serve", "serve session", "serve url"])
def peer(request, tmp_path_factory):
    with portion(tmp_path_factory.mktemp("pushdown"), front=request.param) as peer:
        yield peer


@pytest.fixture(scope="module")
def wrap_peer(tmp_path_factory):
    with portion(tmp_path_factory.mktemp("pushdown")) as peer:
        yield peer


def calls(peer, tool):
    return json.loads(Reply(peer.call("calls", tool=tool)).text)


def ids(reply, tool):
    return [int(item["id"]) for item in items(reply, *LISTS[tool])]


def walked(peer, tool, first):
    return [number for page in walk(peer, first, HARD_CAP) for number in ids(page, tool)]


@pytest.mark.parametrize("tool", LISTS)
def test_a_walk_is_the_whole_list_once(peer, tool):
    calls(peer, tool)
    first = lawful(peer.call(tool, total=470))
    assert first.meta["kind"] == "page" and ids(first, tool)[0] == 1
    assert walked(peer, tool, first) == list(range(1, 471))
    # Only after-id has no total, no cursor and no link: an empty page is its end.
    assert len(calls(peer, tool)) == {"by_after_id": 6, "by_link": 5}.get(tool, 5)


@pytest.mark.parametrize("tool", ["by_offset", "search_bookings", "by_cursor"])
def test_pages_by_number_go_on_where_a_short_first_page_ended(peer, tool):
    """An upstream that gives fewer items than it was asked for."""
    first = ids(lawful(peer.call(tool, total=130, case="caps")), tool)
    assert 0 < len(first) < 50
    seen, number = first, 2
    while page := ids(lawful(peer.call(tool, total=130, case="caps", page=number)), tool):
        seen, number = seen + page, number + 1
    assert seen == list(range(1, 131))


@pytest.mark.parametrize("tool", ["by_offset", "by_page", "search_bookings"])
def test_the_total_is_that_of_the_upstream_from_the_first_reply_on(peer, tool):
    assert lawful(peer.call(tool)).notice["totalCount"] == 500


def test_the_first_reply_does_not_wait_for_further_pages(peer):
    calls(peer, "by_offset")
    first = lawful(peer.call("by_offset", case="slow", total=900, limit=10), HARD_CAP)
    assert ids(first, "by_offset") == list(range(1, 11)) and first.notice["totalCount"] == 900
    # Fetches of other tests may still run.
    assert len([call for call in calls(peer, "by_offset") if call.get("total") == 900]) <= 2


@pytest.mark.parametrize("tool", ["by_offset", "by_page", "by_cursor", "by_after_id", "by_link"])
def test_a_short_list_is_passed_on_as_it_came(peer, tool):
    calls(peer, tool)
    result = peer.call(tool, total=3)
    assert ids(Reply(result), tool) == [1, 2, 3]
    assert "_meta" not in result or "io.portion/notice" not in result["_meta"]


@pytest.mark.parametrize("form", ["text", "indented", "structured", "both", "wrapped"])
def test_every_form_of_a_result_is_walked(peer, form):
    result = peer.call("by_offset", form=form, total=320)
    if form == "structured":
        first, numbers = Reply(result), [item["id"] for item in result["structuredContent"]["result"]]
        cursor = result["structuredContent"]["nextCursor"]
        for page in walk(peer, lawful(peer.call("portion_read", cursor=cursor), HARD_CAP), HARD_CAP):
            numbers += ids(page, "by_offset")
        assert first and numbers == list(range(1, 321))
        return
    assert walked(peer, "by_offset", lawful(result)) == list(range(1, 321))


@pytest.mark.parametrize(
    ("tool", "case", "pages"),
    [
        ("by_offset", "ignores_limit", 4),
        ("by_offset", "caps", 17),
        ("by_page", "no_total", 6),
        ("by_offset", "no_total", 6),
        ("by_cursor", "empty_more", 6),
        ("by_after_id", "repeats", 6),
        ("by_page", "repeats", 5),
        ("by_offset", "fails_once", 6),
    ],
)
def test_faults_that_lose_nothing(wrap_peer, tool, case, pages):
    if (tool, case) == ("by_page", "ignores_limit"):
        pytest.skip("pages of another size overlap")
    calls(wrap_peer, tool)
    first = lawful(wrap_peer.call(tool, case=case))
    assert walked(wrap_peer, tool, first) == list(range(1, 501))
    assert len(calls(wrap_peer, tool)) <= pages


def test_an_order_that_moves_is_said_and_nothing_comes_twice(wrap_peer):
    first = lawful(wrap_peer.call("by_offset", case="shifts", total=400))
    pages = list(walk(wrap_peer, first, HARD_CAP))
    numbers = [number for page in pages for number in ids(page, "by_offset")]
    assert len(numbers) == len(set(numbers)) and pages[-1].meta["changed"] is True


def test_a_total_that_changes_is_said(wrap_peer):
    first = lawful(wrap_peer.call("by_offset", case="total_changes", total=300))
    pages = list(walk(wrap_peer, first, HARD_CAP))
    assert [number for page in pages for number in ids(page, "by_offset")] == list(range(1, 301))
    assert pages[-1].meta["changed"] is True


def test_an_error_says_how_far_the_list_goes_and_the_next_call_tries_again(wrap_peer):
    first = lawful(wrap_peer.call("by_offset", case="fails"))
    pages = list(walk(wrap_peer, first, HARD_CAP))
    assert [number for page in pages for number in ids(page, "by_offset")] == list(range(1, 201))
    said = pages[-1].meta["upstream"]
    assert "of 200 fetched; the upstream has 500" in said and "the database is gone" in said
    calls(wrap_peer, "by_offset")
    again = lawful(wrap_peer.call("portion_read", cursor=pages[-1].meta["cursor"]), HARD_CAP)
    assert "of 200 fetched" in again.meta["upstream"] and calls(wrap_peer, "by_offset")


@pytest.mark.parametrize("front", ["wrap", "serve"])
def test_an_error_of_a_later_page_is_redacted(tmp_path, front):
    with portion(tmp_path, f"redact: secrets\n{CONFIG}", front) as peer:
        first = lawful(peer.call("by_offset", case="fails_with_a_secret"))
        results = [peer.call("portion_query", cursor=first.meta["cursor"], sql="SELECT COUNT(*) AS n FROM items")]
        results += [peer.call("portion_read", cursor=first.meta["cursor"], page=4)]
        for result in results:
            assert "refused" in json.dumps(result) and "hunter2" not in json.dumps(result)


@pytest.mark.parametrize("profile", ["lean", "default"])
def test_a_profile_with_samples_walks_the_whole_list(tmp_path, profile):
    with portion(tmp_path, f"profile: {profile}\nfirstRows: sample\nrows: objects\n{CONFIG}") as peer:
        first = lawful(peer.call("by_offset", total=470))
        assert first.notice["totalCount"] == 470
        assert walked(peer, "by_offset", first) == list(range(1, 471))


def test_an_upstream_that_ends_before_its_total_says_so(wrap_peer):
    pages = list(walk(wrap_peer, lawful(wrap_peer.call("by_offset", case="ends_early")), HARD_CAP))
    assert [number for page in pages for number in ids(page, "by_offset")] == list(range(1, 201))
    assert "of 200 fetched; the upstream has 500" in pages[-1].meta["upstream"]


def test_a_repeated_cursor_ends_the_fetch(wrap_peer):
    calls(wrap_peer, "by_cursor")
    pages = list(walk(wrap_peer, lawful(wrap_peer.call("by_cursor", case="repeats_cursor")), HARD_CAP))
    assert "repeats a cursor" in pages[-1].meta["upstream"]
    assert len(calls(wrap_peer, "by_cursor")) < 12


def test_controls_in_the_names_of_the_tool(peer):
    calls(peer, "by_offset")
    reply = lawful(peer.call("by_offset", limit=20, offset=230), HARD_CAP)
    assert ids(reply, "by_offset") == list(range(231, 251))
    assert reply.meta["offset"] == 230 and reply.notice["totalCount"] == 500
    reply = lawful(peer.call("by_page", per_page=20, page=3), HARD_CAP)
    assert ids(reply, "by_page") == list(range(41, 61))
    reply = lawful(peer.call("by_offset", page=3, limit=20), HARD_CAP)
    assert ids(reply, "by_offset") == list(range(41, 61))


def test_pages_past_the_end_and_bad_controls(peer):
    past = lawful(peer.call("by_offset", offset=900, limit=20), HARD_CAP)
    assert ids(past, "by_offset") == [] and past.next is None and past.meta["pastEnd"] is True
    assert Reply(peer.call("by_offset", limit=0)).error["code"] == "limit_invalid"
    assert Reply(peer.call("by_offset", offset=-1)).error["code"] == "offset_invalid"
    assert Reply(peer.call("by_page", page=0)).error["code"] == "page_invalid"


def test_the_tools_own_arguments_reach_every_page(peer):
    calls(peer, "by_offset")
    lawful(peer.call("by_offset", sort="id desc", fields="id"))
    until(lambda: len(seen := calls(peer, "by_offset")) and seen, "a call")
    first = lawful(peer.call("by_offset", sortOrder="newest", total=250))
    assert walked(peer, "by_offset", first) == list(range(1, 251))
    assert {call.get("sortOrder") for call in calls(peer, "by_offset") if call.get("total") == 250} == {"newest"}


@pytest.mark.parametrize("tool", LISTS)
def test_a_query_in_the_first_call_reads_all_pages(peer, tool):
    counted = peer.call(tool, query="SELECT count(*) AS n, min(id) AS first, max(id) AS last FROM items")
    assert json.loads(Reply(counted).text) == [{"n": 500, "first": 1, "last": 500}], tool
    lawful(counted, HARD_CAP)
    # What was fetched for the answer is kept: a further query and a page of it cost no call.
    assert calls(peer, tool)
    cursor = Reply(counted).meta["originalCursor"]
    pending = Reply(peer.call("portion_query", cursor=cursor, query="SELECT count(*) AS n FROM items WHERE status = 'pending'"))
    assert json.loads(pending.text) == [{"n": 250}]
    assert ids(Reply(peer.call("portion_read", cursor=cursor, offset=490, limit=5)), tool) == [491, 492, 493, 494, 495]
    # Pages of other lists may still be fetched.
    assert [call for call in calls(peer, tool) if "total" not in call] == []


def test_the_first_record_of_a_call_is_not_that_of_an_answer(peer):
    question = "SELECT count(*) AS n FROM items"
    counted = Reply(peer.call("by_offset", offset=200, query=question))
    then = Reply(peer.call("portion_query", cursor=lawful(peer.call("by_offset", offset=200)).meta["cursor"], query=question))
    assert json.loads(counted.text) == json.loads(then.text) != []


def test_a_query_sees_the_whole_list(peer):
    first = lawful(peer.call("by_offset", case="slow", total=470))
    reply = Reply(peer.call("portion_query", cursor=first.next, sql="SELECT count(*) AS n, max(id) AS top FROM items"))
    assert [dict(row) for row in reply.json] == [{"n": "470", "top": "470"}]


def test_a_part_of_a_list_is_not_sorted(peer):
    first = lawful(peer.call("by_offset", case="fails"))
    error = Reply(peer.call("portion_read", cursor=first.meta["cursor"], sort="id desc")).error
    assert error["code"] == "sort_invalid" and "of 200 fetched; the upstream has 500" in error["message"]
    assert "ORDER BY" in error["advice"] and error["cursor"]


def test_a_sorted_view_is_of_the_whole_list(peer):
    first = lawful(peer.call("by_page", total=470))
    reply = lawful(peer.call("portion_read", cursor=first.meta["cursor"], sort="id desc", limit=5), HARD_CAP)
    assert ids(reply, "by_page") == [470, 469, 468, 467, 466]


def test_fields_of_a_list_that_grows(peer):
    first = lawful(peer.call("by_cursor", fields="id", total=470))
    assert walked(peer, "by_cursor", first) == list(range(1, 471))


def test_concurrent_callers_each_get_their_list(peer):
    found = {}

    def run(total):
        found[total] = walked(peer, "by_page", lawful(peer.call("by_page", total=total, case="slow")))

    threads = [threading.Thread(target=run, args=[total]) for total in (210, 320, 430)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert {total: len(numbers) for total, numbers in found.items()} == {210: 210, 320: 320, 430: 430}


def test_a_tool_that_may_write_is_called_once(peer):
    calls(peer, "write_rows")
    reply = Reply(peer.call("write_rows", limit=60, case="x"))
    assert len(calls(peer, "write_rows")) == 1
    assert reply.meta.get("upstreamTotal") in (None, 500)


def test_education_data_pages_by_itself(peer):
    calls(peer, "get_education_data")
    first = lawful(peer.call("get_education_data", limit=20), HARD_CAP)
    assert first.notice["totalCount"] == 2500 and len(items(first, "results")) == 20
    reply = lawful(peer.call("get_education_data", limit=20, page=100), HARD_CAP)
    assert items(reply, "results")[0]["ncessch"] == f"{1980:012}"
    # Without a session and credentials, nothing of the first call is reused. The last page is fetched after the reply.
    fetched = set()

    def has_all():
        fetched.update(call["page"] for call in calls(peer, "get_education_data"))
        return fetched == {1, 2, 3}

    until(has_all, "all pages are fetched", told=lambda: str(fetched))


def test_beyond_the_bound_items_are_fetched_on_demand(tmp_path):
    config = CONFIG.replace("pageSize: 100", "pageSize: 50, maxFetch: 150")
    with portion(tmp_path, config) as peer:
        first = lawful(peer.call("by_offset"))
        reply = Reply(peer.call("portion_query", cursor=first.next, sql="SELECT count(*) AS n FROM items"))
        assert dict(reply.json[0])["n"] == "150"
        assert "of 150 fetched; the upstream has 500" in reply.meta["upstream"]
        assert len(calls(peer, "by_offset")) == 3
        assert walked(peer, "by_offset", first) == list(range(1, 501))


def test_requests_per_second_hold_for_prefetch(tmp_path):
    config = CONFIG.replace("pageSize: 100", "pageSize: 50, requestsPerSecond: 5")
    with portion(tmp_path, config) as peer:
        first = lawful(peer.call("by_offset", total=300))
        assert walked(peer, "by_offset", first) == list(range(1, 301))


def test_a_limit_above_the_largest_page_is_the_largest_page(wrap_peer):
    reply = lawful(wrap_peer.call("by_offset", limit=400, fields="id"), HARD_CAP)
    assert ids(reply, "by_offset") == list(range(1, 201)) and reply.next


def test_results_that_do_not_fit_are_refused_where_that_is_configured(tmp_path):
    config = "endpoints: {by_offset: {oversized: refuse}}"
    with portion(tmp_path, config) as peer:
        error = Reply(peer.call("by_offset", limit=300)).error
        assert error["code"] == "result_too_large" and "oversized: refuse" in error["message"]
        assert "by_offset again" in error["advice"] and "portion_read" in error["advice"]
        assert ids(lawful(peer.call("portion_read", cursor=error["cursor"])), "by_offset")[0] == 1
        assert ids(Reply(peer.call("by_offset", limit=5)), "by_offset") == [1, 2, 3, 4, 5]


def test_a_session_that_ends_ends_the_fetch(tmp_path):
    with portion(tmp_path) as peer:
        assert lawful(peer.call("by_offset", case="slow", total=3000)).notice["totalCount"] == 3000


def test_endpoints_that_only_read_by_configuration(tmp_path):
    config = "endpoints: {write_rows: {pushdown: limit-offset, read: true}}"
    with portion(tmp_path, config) as peer:
        first = lawful(peer.call("write_rows", total=250))
        pages = walk(peer, first, HARD_CAP)
        assert [int(item["id"]) for page in pages for item in items(page, "result")] == list(range(1, 251))

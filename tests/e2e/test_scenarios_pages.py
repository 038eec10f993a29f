"""V1 and V2 without any configuration, on each front: a wrapped server, REST through `serve`, and `portion http`."""

import json
from contextlib import contextmanager
from itertools import count

import pytest

from fixture import corpus
from harness.dense import records
from harness.fronts import FRONTS, lawful, opened, walk
from harness.reply import BUDGET, HARD_CAP

IDS = [f"BK-{number:04}" for number in range(1, 501)]
LISTS = {"list_bookings": [], "search_bookings": ["data", "items"]}
BOOKING = json.loads(corpus.big_booking())


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        yield front


@pytest.fixture(params=LISTS)
def tool(request):
    return request.param


def ids(shown, tool):
    return [record["id"] for record in records(shown, *LISTS[tool])]


CALLS = [{"page": 2}, {"offset": 490}, {"offset": 100, "limit": 200}, {"page": 3, "limit": 40}, {"page": 2, "fields": "all"}, {"page": 2, "fields": "id,status"}, {"sort": "id desc"}]
OTHERS = [{}, {"limit": 200}, {"limit": 3}, {"fields": "id"}, {"page": 5}, {"sort": "nights"}, {"offset": 7}]


@contextmanager
def callers(name):
    """Opens sessions of callers whose results nobody else has: each wrapped server is one."""
    if name == "wrapped":
        yield lambda: opened(name)
        return
    numbers = count()
    with opened(name) as front:
        yield lambda: front.session(next(numbers))


@pytest.mark.parametrize("name", FRONTS)
def test_s6_a_call_has_the_same_columns_before_and_after_other_calls(name):
    def columns(front, call):
        found = records(front.call("list_bookings", **call))
        return [(record["id"], list(record)) for record in found]

    with callers(name) as caller:
        first = []
        for call in CALLS:
            with caller() as front:
                first.append(columns(front, call))
        with caller() as front:
            for other in OTHERS:
                front.call("list_bookings", **other)
                assert [columns(front, call) for call in CALLS] == first, other


def value_at(booking, column):
    for step in column.split("."):
        booking = booking[step]
    return booking


QUESTIONS = [("id", "BK-0042"), ("property.id", "P-007"), ("checkIn", "2026-03-11"), ("nights", 4)]


@pytest.mark.parametrize("column, value", QUESTIONS)
def test_s5_one_question_has_one_answer_however_it_is_put(front, column, value):
    expected = sum(value_at(booking, column) == value for booking in json.loads(corpus.bookings()))
    name, literal = f'"{column}"', repr(value)
    sources = {
        "=": f"items WHERE {name} = {literal}",
        "IN": f"items WHERE {name} IN ({literal}, 'another')",
        "subquery": f"items WHERE {name} IN (SELECT {name} FROM items WHERE {name} = {literal})",
        "JOIN": f"items a JOIN (SELECT DISTINCT {name} AS k FROM items) b ON a.{name} = b.k WHERE b.k = {literal}",
        "ORDER BY": f"(SELECT {name} AS k FROM items ORDER BY {name}) WHERE k >= {literal} AND k <= {literal}",
    }
    queries = {form: f"SELECT count(*) AS n FROM {source}" for form, source in sources.items()}
    queries["NOT IN"] = f"SELECT 500 - count(*) AS n FROM items WHERE {name} NOT IN ({literal})"
    queries["GROUP BY"] = f"SELECT n FROM (SELECT {name} AS k, count(*) AS n FROM items GROUP BY {name}) WHERE k = {literal}"
    answers = {form: records(front.call("list_bookings", query=query)) for form, query in queries.items()}
    assert expected > 0 and answers == {form: [{"n": expected}] for form in queries}
    if isinstance(value, str):
        assert front.call("list_bookings", query=value).meta["matches"] == expected


def test_v1_1_a_plain_list_of_500_is_the_first_50_with_total_and_cursor(front, tool):
    first = lawful(front.call(tool))
    assert ids(first, tool) == IDS[:50] and first.total == 500 and first.next
    assert {"kind": "page", "pageSize": 50, "served": 50, "offset": 0, "hasMore": True}.items() <= first.meta.items()


def test_v1_2_each_cursor_gives_the_next_batch_and_a_new_cursor(front, tool):
    pages = list(walk(front, lawful(front.call(tool))))
    assert [ids(page, tool) for page in pages] == [IDS[start : start + 50] for start in range(0, 500, 50)]
    cursors = [page.next for page in pages[:-1]]
    assert all(cursors) and len(set(cursors)) == len(cursors)


def test_v1_2_the_cursors_ask_nothing_of_the_server(front, tool):
    first = lawful(front.call(tool))
    before = front.requests_of(tool)
    list(walk(front, first))
    assert front.requests_of(tool) == before


def test_v1_3_a_list_of_10_is_all_of_it_and_untouched(front):
    shown = front.call("list_bookings", count=10)
    assert shown.is_untouched(corpus.bookings(10)) and shown.notice == {} and shown.next is None
    if front.is_http:
        assert not [name for name in shown.response.headers if name.lower() == "link" or name.lower().startswith("x-")]


def test_v1_4_the_last_page_has_no_cursor(front, tool):
    *_, last = walk(front, lawful(front.call(tool)))
    assert ids(last, tool) == IDS[450:] and last.next is None and "nextCursor" not in last.notice
    assert last.meta["hasMore"] is False and last.meta["cursor"]
    if front.is_http:
        assert "next" not in last.response.links


def test_v2_1_a_large_booking_is_a_summary_that_says_how_to_get_its_sections(front):
    shown = lawful(front.call("get_booking"))
    value, details = json.loads(shown.text), shown.meta["detailsAvailable"]
    assert shown.kind == "summary" and value["status"] == BOOKING["status"]
    assert all(value[name] == BOOKING[name] for name in ("id", "guest", "dates", "property"))
    assert {"financials", "messages", "houseRules", "amenities"} <= set(details["sections"])
    assert details.get("tool", details.get("endpoint")) == ("/bookings/BK-0007" if front.is_http else "portion_read")


def test_v2_2_a_section_is_whole_and_nothing_else(front):
    first = lawful(front.call("get_booking"))
    before = front.requests_of("get_booking")
    for name in ("financials", "amenities"):
        section = json.loads(lawful(front.read(first, section=name), HARD_CAP).text)
        if isinstance(BOOKING[name], dict):
            added = {"nextCursor", "totalCount", "meta"} if front.is_http else set()
            assert {key: value for key, value in section.items() if key not in added} == BOOKING[name]
        else:
            assert section == BOOKING[name]
    assert front.requests_of("get_booking") == before


def test_v2_3_an_object_under_500_tokens_is_whole(front):
    assert front.call("get_small_booking").is_untouched(corpus.small_booking())


def test_v2_4_a_summary_tells_its_cost_and_what_is_left(front):
    meta = lawful(front.call("get_booking")).meta
    assert 0 < meta["estimatedTokens"] <= BUDGET and meta["budgetRemaining"] == BUDGET - meta["estimatedTokens"]
    assert abs(meta["budgetUsed"] - meta["estimatedTokens"] / BUDGET) <= 0.01

"""V1: lists are paged, and all pages together are the list."""

import itertools
import json

import pytest

from fixture import corpus
from harness.command import FILES_FIXTURE, FIXTURE, wrapped
from harness.dense import records
from harness.peer import Peer
from harness.reply import BUDGET, HARD_CAP, Reply, exact, items, lawful, pages_joined, raw_joined, walk
from harness.wire import same_line

IDS = [f"BK-{number:04}" for number in range(1, 501)]


def ids(reply, *path):
    return [item["id"] for item in items(reply, *path)]


def check_list(peer, result, payload, *path):
    """The first 50 of 500 at `path`, all of them in order on the pages, whole with `fields=all`, exact with `raw`."""
    first = lawful(result)
    assert first.meta["kind"] == "page" and first.notice["totalCount"] == 500
    assert ids(first, *path) == IDS[:50]
    walked = [name for page in walk(peer, first) for name in ids(page, *path)]
    assert walked == IDS
    whole = exact(payload)
    for name in path:
        whole = whole[name]
    assert pages_joined(peer, first, *path) == whole
    assert raw_joined(peer, first) == payload


def test_v1_1_a_plain_list_of_500_is_the_first_50_with_total_and_cursor(peer):
    first = lawful(peer.call("list_bookings"))
    assert ids(first) == IDS[:50]
    assert first.next and first.notice["totalCount"] == 500
    expected = {"kind": "page", "pageSize": 50, "served": 50, "offset": 0, "hasMore": True}
    assert expected.items() <= first.meta.items()
    assert {"id", "status", "guest"} <= {name.split(".")[0] for name in first.meta["fieldsAvailable"]}


def test_v1_1_what_a_condensed_page_left_out_is_named(peer):
    first = lawful(peer.call("list_bookings"))
    served, whole = items(first)[0], exact(corpus.bookings())[0]
    gone = set(whole.names()) - set(served.names())
    assert gone, "50 whole bookings do not fit in the budget"
    assert gone <= {name.split(".")[0] for name in first.meta["condensed"]}
    assert {"id", "status"} <= set(served.names())


def test_v1_1_a_requested_size_is_explicit_also_where_it_is_the_usual_one(peer):
    cursor = lawful(peer.call("list_bookings")).meta["cursor"]
    names = [
        sorted(items(Reply(peer.call("portion_read", cursor=cursor, limit=limit)))[0].names()) for limit in (49, 50, 51)
    ]
    assert names[0] == names[1] == names[2]


def test_v1_2_the_cursor_gives_the_next_batch_and_a_new_cursor(peer):
    first = lawful(peer.call("list_bookings"))
    second = lawful(peer.call("portion_read", cursor=first.next))
    assert ids(second) == IDS[50 : 50 + len(ids(second))]
    assert second.next and second.next != first.next


def test_v1_2_the_same_cursor_gives_the_same_reply(peer):
    first = lawful(peer.call("list_bookings"))
    assert peer.call("portion_read", cursor=first.next) == peer.call("portion_read", cursor=first.next)


def test_v1_2_the_tool_itself_takes_the_cursor_and_is_not_called_again(peer):
    first = lawful(peer.call("list_bookings"))
    before = peer.call("count_calls", tool="list_bookings")
    second = lawful(peer.call("list_bookings", cursor=first.next))
    assert ids(second)[0] == IDS[50]
    assert peer.call("count_calls", tool="list_bookings") == before


def test_v1_2_a_page_by_number_comes_from_the_same_snapshot(peer):
    lawful(peer.call("list_bookings"))
    before = peer.call("count_calls", tool="list_bookings")
    third = lawful(peer.call("list_bookings", page=3, limit=50), HARD_CAP)
    assert ids(third) == IDS[100 : 100 + len(ids(third))]
    assert third.meta["offset"] == 100
    assert peer.call("count_calls", tool="list_bookings") == before


def test_v1_2_a_page_past_the_end_is_empty_and_says_so(peer):
    past = lawful(peer.call("list_bookings", page=99, limit=50), HARD_CAP)
    assert items(past) == [] and past.meta["hasMore"] is False and past.next is None
    assert past.notice["totalCount"] == 500


def test_v1_3_a_list_of_10_is_whole_and_untouched():
    assert same_line(FIXTURE, "list_bookings", count=10)


def test_v1_4_the_last_page_has_no_next_cursor(peer):
    *_, last = walk(peer, lawful(peer.call("list_bookings")))
    assert last.next is None and "nextCursor" not in last.notice
    assert last.meta["hasMore"] is False and last.meta["cursor"]
    assert ids(last)[-1] == IDS[-1]


def test_v1_an_array_is_paged_and_nothing_lost(peer):
    check_list(peer, peer.call("list_bookings"), corpus.bookings())


def test_v1_a_nested_list_keeps_its_place_and_what_stands_around_it(peer):
    payload = f'{{"status":"ok","data":{{"items":{corpus.bookings()},"source":"fixture"}}}}'
    result = peer.call("search_bookings")
    assert lawful(result).json["status"] == "ok"
    check_list(peer, result, payload, "data", "items")


def test_v1_structured_content_is_the_same_view_of_whole_records(peer):
    peer.tools()
    whole = json.loads(corpus.bookings())
    for tool, key in (("get_all_structured", "bookings"), ("get_all_result", "result")):
        result = peer.call(tool)
        first = lawful(result)
        rows, cut = first.structured[key], first.meta["structuredContent"]
        assert rows and rows == whole[: len(rows)], "each as it came"
        assert cut == {"served": len(rows), "of": len(whole)}, "what only programs lack is told in the text"
        following = peer.call("portion_read", cursor=first.structured["nextCursor"], limit=1)
        assert items(lawful(following, HARD_CAP), key)[0]["id"] == IDS[len(rows)]
        assert first.structured["meta"]["cursor"] == first.meta["cursor"]
        check_list(peer, result, f'{{"{key}":{corpus.bookings()}}}', key)


def test_v1_fields_are_projected_and_go_on(peer):
    first = lawful(peer.call("list_bookings", fields="id,price.total", limit=100), HARD_CAP)
    rows = [row for page in walk(peer, first, HARD_CAP) for row in items(page)]
    assert [row["id"] for row in rows] == IDS
    assert all(row.names() == ["id", "price"] and row["price"].names() == ["total"] for row in rows)
    assert rows[1]["price"]["total"] == "315.50", "numbers keep their spelling"


def test_v1_odd_numbers_escapes_and_duplicate_keys_keep_their_bytes(peer):
    payload = corpus.oddities()
    first = lawful(peer.call("read_text", name="oddities"))
    assert first.meta["kind"] == "page" and first.notice["totalCount"] == 1200
    assert pages_joined(peer, first) == exact(payload)
    assert raw_joined(peer, first) == payload


def test_v1_the_notice_is_compact_json_and_counts_itself(peer):
    first = lawful(peer.call("list_bookings"))
    last = first.all_texts[-1]
    assert last == json.dumps(json.loads(last), ensure_ascii=False, separators=(",", ":"))
    assert first.meta["estimatedTokens"] <= BUDGET


# What a condensed page keeps of records that are too large

GUESTS = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Tony Hoare", "Donald Knuth"]


def day(number):
    return f"2026-{number % 12 + 1:02}-{number % 27 + 1:02}"


def booking(number, guest, first_name):
    return {
        "id": 1000 + number, "reference": f"R{number}", "status": ["new", "modified", "cancelled"][number % 3],
        "guestName": guest, "guestFirstName": first_name, "arrivalDate": day(number), "departureDate": day(number + 4),
        "totalPrice": number * 1.5, "currency": "EUR", "listingName": f"House {number % 7}", "nights": number % 9,
        "channelName": "airbnb", "notes": "long notes " * 20, "createdOn": "2026-01-01T00:00:00Z", "phone": f"+{number}",
    }


def payment(number):
    return {
        "id": number, "date": day(number), "description": f"payment {number} for a stay {'d' * 80}", "amount": number * 3.25,
        "currency": "EUR", "account": {"name": "A" * 30, "iban": "FR" * 12}, "category": ["rent", "fee"][number % 2],
        "memo": "m" * 120, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    }


STAY = {"arrivalDate", "departureDate", "totalPrice"}
LISTS = {
    "bookings": (lambda n: booking(n, f"{GUESTS[n % 7]} {n}", GUESTS[n % 7].split()[0]), STAY),
    "bookings with two equal columns": (lambda n: booking(n, f"{GUESTS[n % 7]} {n}", f"{GUESTS[n % 7]} {n}"), STAY),
    "bookings of returning guests": (lambda n: booking(n, GUESTS[n % 7], GUESTS[n % 7].split()[0]), STAY),
    "bookings with two names": (lambda n: booking(n, f"{GUESTS[n % 7]} {n}", f"Guest{n}"), STAY),
    "payments": (payment, {"date", "amount"}),
}


@pytest.fixture(scope="module")
def large_records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    for name, (record, _) in LISTS.items():
        text = json.dumps([record(number) for number in range(300)])
        (folder / name).write_text(json.dumps({"content": [{"type": "text", "text": text}]}))
    return [*FILES_FIXTURE, str(folder)]


def columns_of(reply):
    names = {name for record in records(reply) for name in record}
    assert names, "a page is not empty"
    return names


def condensed(peer, name):
    """The first page, and its columns, which are those of the second page too."""
    first = Reply(peer.call(name))
    columns = columns_of(first)
    assert first.meta["condensed"] and columns_of(Reply(peer.call("portion_read", cursor=first.next))) == columns
    return first, columns


ROOMY = ["--tokenizer o200k", "--rows auto --token-budget-threshold 2600", "--token-budget-threshold 5000", "--token-budget-threshold 8000"]
BOOKINGS = ["bookings", "bookings with two equal columns", "bookings of returning guests"]


@pytest.mark.parametrize(("options", "name"), [*itertools.product(ROOMY, [*BOOKINGS, "payments"]), ("", "payments")])
def test_v1_a_condensed_page_keeps_dates_and_amounts(large_records, options, name):
    with Peer(wrapped(large_records, *options.split())) as peer:
        _, columns = condensed(peer, name)
    assert columns >= LISTS[name][1], columns
    assert not (name == "bookings with two equal columns" and {"guestName", "guestFirstName"} <= columns)


@pytest.mark.parametrize(("budget", "name"), [*itertools.product([2000, 3000, 4000], LISTS)])
def test_v1_a_date_or_an_amount_is_left_out_only_where_it_does_not_fit(large_records, budget, name):
    with Peer(wrapped(large_records, "--token-budget-threshold", str(budget))) as peer:
        first, columns = condensed(peer, name)

        def cost(*fields):
            controls = {"fields": ",".join(fields), "limit": first.meta["served"], "maxTokens": HARD_CAP}
            reply = Reply(peer.call("portion_read", cursor=first.meta["cursor"], **controls))
            assert reply.meta["served"] == first.meta["served"]
            return reply.meta["estimatedTokens"]

        costs = {missing: cost(*columns, missing) - cost(*columns) for missing in LISTS[name][1] - columns}
    # Room for the notice is reserved before its size is known.
    left = first.meta["budgetRemaining"] - 0.17 * budget
    assert all(more > left for more in costs.values()), f"{left} tokens are left, and these cost {costs}: {sorted(columns)}"

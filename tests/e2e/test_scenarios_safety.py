"""V6 on each front: a wrapped server, REST through `serve`, and `portion http`."""

import json
import time

import pytest

from fixture import corpus
from harness.dense import records
from harness.fronts import FRONTS, lawful, opened, walk
from harness.recorded import Recorded
from harness.reply import HARD_CAP, WIRE_BYTES
from harness.waiting import until


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        yield front


@pytest.mark.parametrize("name", FRONTS)
def test_v6_1_a_cursor_whose_data_are_gone_is_an_error_that_suggests_asking_anew(name):
    with opened(name, "--snapshot-memory", "1MiB", "--snapshot-disk", "off") as front:
        gone = lawful(front.call("search_bookings"))
        for _ in range(8):
            front.call("get_noise")
        shown = front.at(gone, gone.next)
        assert shown.error["code"] == "cursor_expired"
        assert "without a cursor" in shown.error["advice"]
        assert ("/search" if front.is_http else "search_bookings") in shown.error["advice"]
        if front.is_http:
            assert shown.response.status_code == 410


@pytest.mark.parametrize("name", FRONTS)
def test_v6_1_a_cursor_that_is_too_old_is_an_error_that_suggests_asking_anew(name):
    """The time runs from the last use, so the cursor is left alone for longer than that between two looks."""
    with opened(name, "--snapshot-ttl", "1s") as front:
        old = lawful(front.call("search_bookings"))

        def ended():
            shown = front.at(old, old.next)
            return shown if shown.kind is None else None

        shown = until(ended, "the cursor ends", seconds=60, pause=2, told=front.log)
        assert shown.error["code"] == "cursor_expired"
        assert "without a cursor" in shown.error["advice"]
        assert ("/search" if front.is_http else "search_bookings") in shown.error["advice"]
        if front.is_http:
            assert shown.response.status_code == 410
        anew = lawful(front.call("search_bookings"))
        assert json.loads(anew.text)["data"] == json.loads(old.text)["data"], "asking anew helps"
        assert anew.next not in (None, old.next)


@pytest.mark.parametrize("name", FRONTS)
def test_v6_1_a_cursor_that_is_in_use_does_not_become_too_old(name):
    """Each follow-up renews the time, of which more goes by in all than the cursor has."""
    ttl = 4
    with opened(name, "--snapshot-ttl", f"{ttl}s") as front:

        def outlives_its_time():
            """False where the machine paused a use for so long that the cursor may have ended."""
            first = lawful(front.call("search_bookings"))
            begun = used = time.monotonic()
            while used < begun + 1.5 * ttl:
                time.sleep(0.1)
                shown = front.at(first, first.next)
                if time.monotonic() - used > 0.9 * ttl:
                    return False
                assert lawful(shown).next
                used = time.monotonic()
            return True

        until(outlives_its_time, "uses without a long pause", seconds=120, pause=0)


@pytest.mark.parametrize("cursor", ["x", "a" * 24, "a" * 5_000, "null"])
def test_v6_1_what_is_no_cursor_is_an_error(front, cursor):
    first = lawful(front.call("search_bookings"))
    assert front.at(first, cursor).error["code"] == "cursor_invalid"


@pytest.mark.parametrize("controls, code, says", [
    ({"limit": 500}, "limit_too_large", ["limit exceeds maximum of 200"]),
    ({"limit": 0}, "limit_invalid", ["limit", "0"]),
    ({"limit": -3}, "limit_invalid", ["limit", "-3"]),
    ({"limit": "many"}, "limit_invalid", ["limit", "many"]),
    ({"page": 0}, "page_invalid", ["page", "0"]),
    ({"offset": -1}, "offset_invalid", ["offset", "-1"]),
    ({"fields": "id,statsu"}, "field_unknown", ["statsu", "status", "guest"]),
    ({"path": "/nowhere"}, "path_unknown", ["/nowhere"]),
    ({"sort": "id sideways"}, "sort_invalid", ["sideways"]),
    ({"maxTokens": 299}, "max_tokens_invalid", ["maxTokens", "299", "300"]),
    ({"page": 2, "offset": 50}, "controls_conflict", ["page", "offset"]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_v6_2_malformed_controls_are_errors_that_say_what_is_allowed(front, controls, code, says):
    first = lawful(front.call("search_bookings"))
    error = front.read(first, **controls).error
    assert error["code"] == code
    assert all(word in error["message"] + error["advice"] for word in says), error


@pytest.mark.parametrize("controls", [{"limit": 500}, {"limit": "many"}, {"page": 0}], ids=str)
def test_v6_2_the_server_is_not_asked_with_malformed_controls(front, controls):
    before = front.requests_of("list_bookings")
    assert front.call("list_bookings", **controls).error
    assert front.requests_of("list_bookings") == before


@pytest.mark.parametrize("name", FRONTS)
def test_v6_3_a_badly_wrong_estimate_is_noticed_and_logged_and_bytes_are_bounded(name, tmp_path):
    record = Recorded(tmp_path / "telemetry.db")
    with opened(name, "--tokenizer", "len4", "--telemetry", str(record.path)) as front:
        for _ in range(2):
            assert len(front.call("get_noise").wire) <= 10 * 1024, "fallbackByteLimit"
        endpoint = front.endpoint("get_noise")
        log = front.log
        lawful(front.call("search_bookings"), HARD_CAP)
    assert [each["outcome"] for each in record.requests(2, "--endpoint", endpoint)] == ["capped", "capped"]
    assert sum("far too low" in line and endpoint in line for line in log().splitlines()) == 1, log()


@pytest.mark.parametrize("counter", ["auto", "o200k", "chars4"])
@pytest.mark.parametrize("name", FRONTS)
def test_v6_3_the_byte_limit_holds_whatever_the_estimate(name, counter):
    with opened(name, "--tokenizer", counter) as front:
        shown, text = front.call("read_text", name="padding"), ""
        while True:
            assert len(shown.wire) <= WIRE_BYTES
            text += shown.text
            if not shown.next:
                break
            shown = front.at(shown, shown.next)
    assert text == corpus.padding()


def test_v6_4_deeply_nested_data_are_described_and_not_lost(front):
    shown = lawful(front.call("read_text", name="deep"))
    assert '"T-1"' in shown.text and shown.meta["totalFields"] and shown.meta["detailsAvailable"]
    first = lawful(front.read(shown, raw=True), HARD_CAP)
    assert "".join(chunk.text for chunk in walk(front, first, HARD_CAP)) == corpus.deep()


def test_v6_4_base64_is_described_with_its_size(front):
    shown = lawful(front.call("read_text", name="photo"))
    value = json.loads(shown.text)
    assert (value["name"], value["mime"]) == ("Terrace", "image/png") and len(value["bytes"]) < 2000


def test_v6_4_binary_data_pass_untouched(front):
    if front.is_http:
        import requests

        image = requests.get(f"{front.url}/image?kibibytes=100", timeout=30)
        assert image.headers["content-type"] == "image/png" and len(image.content) == 100 * 1024
        return
    [block] = front.call("get_image", kibibytes=100).result["content"]
    assert (block["type"], block["mimeType"]) == ("image", "image/png")


def test_v6_5_pages_are_of_one_moment_while_the_data_change(front):
    rows = []
    for page in walk(front, lawful(front.call("list_live"))):
        lawful(front.call("list_live"))
        rows += [(row["id"], row["status"]) for row in records(page)]
    assert [name for name, _ in rows] == [f"BK-{number:04}" for number in range(1, 501)]
    assert len({(corpus.STATUSES.index(status) - int(name[3:])) % 5 for name, status in rows}) == 1

"""V4 on each front: a wrapped server, REST through `serve`, and `portion http`, which reads texts in JSON."""

import pytest

from fixture import corpus
from harness import tokens
from harness.fronts import FRONTS, lawful, opened, walk
from harness.reply import HARD_CAP


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with opened(request.param) as front:
        yield front


def lines(text, first, last):
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


def test_v4_1_a_log_of_10000_lines_is_its_first_200_a_cursor_and_the_total(front):
    first = lawful(front.call("read_text", name="short_log"))
    assert first.text == lines(corpus.short_log(), 1, 200)
    meta = first.meta
    assert first.next and (meta["startLine"], meta["endLine"], meta["totalLines"]) == (1, 200, 10_000)
    assert (meta["chunkIndex"], meta["bytesInChunk"]) == (0, len(first.text))


@pytest.mark.parametrize("name, may_follow", [
    ("short_log", lambda before, after: before.endswith("\n")),
    ("traced_log", lambda before, after: corpus.ENTRY.match(after)),
    ("prose", lambda before, after: before.rstrip().endswith(".")),
], ids=["lines", "entries", "sentences"])
def test_v4_2_no_chunk_cuts_a_sentence_or_an_entry_and_all_are_the_text(front, name, may_follow):
    joined = ""
    for index, chunk in enumerate(walk(front, lawful(front.call("read_text", name=name)))):
        assert chunk.kind == "chunk" and chunk.meta["chunkIndex"] == index
        assert tokens.count(chunk.text) <= 2000 and chunk.text.count("\n") <= 200
        assert index == 0 or may_follow(joined, chunk.text), chunk.text[:80]
        joined += chunk.text
    assert joined == getattr(corpus, name)()


@pytest.mark.parametrize("start, end, first, last", [(5000, 5010, 5000, 5010), (1, 1, 1, 1), (-5, -1, 9996, 10_000)])
def test_v4_3_a_line_range_is_exactly_that_range(front, start, end, first, last):
    whole = lawful(front.call("read_text", name="traced_log"))
    before = front.requests_of("read_text" if not front.is_http else "read_document")
    found = lawful(front.read(whole, startLine=start, endLine=end), HARD_CAP)
    assert found.text == lines(corpus.traced_log(), first, last)
    assert (found.kind, found.meta["startLine"], found.meta["endLine"]) == ("range", first, last)
    assert front.requests_of("read_text" if not front.is_http else "read_document") == before


def test_v4_4_text_under_1000_tokens_is_whole(front):
    assert tokens.count(corpus.short_text()) < 1000
    shown = front.call("read_text", name="short_text")
    if front.is_http:
        assert shown.kind is None and shown.response.json() == corpus.short_text()
    else:
        assert shown.is_untouched(corpus.short_text())

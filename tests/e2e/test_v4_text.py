"""V4: text is chunked where nobody minds a cut, and all chunks together are the text."""

import re

import pytest

from fixture import corpus
from harness import tokens
from harness.command import FIXTURE, wrapped
from harness.peer import Peer
from harness.reply import HARD_CAP, Reply, lawful, walk
from harness.wire import same_line

CHUNK_TOKENS = 2000
CHUNK_LINES = 200


def check_chunks(peer, name, text, may_follow):
    """The chunks of `text`, within their limits, joined the text; each begins where `may_follow` allows."""
    chunks = list(walk(peer, lawful(peer.call("read_text", name=name))))
    assert "".join(chunk.text for chunk in chunks) == text
    at = 0
    for index, chunk in enumerate(chunks):
        assert chunk.meta["kind"] == "chunk" and chunk.meta["chunkIndex"] == index
        assert tokens.count(chunk.text) <= CHUNK_TOKENS and chunk.text.count("\n") <= CHUNK_LINES
        assert index == 0 or may_follow(text[:at], chunk.text), f"cut at {text[at - 60 : at]!r} | {chunk.text[:60]!r}"
        at += len(chunk.text)
    return chunks


def lines(text, first, last):
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


def test_v4_1_a_log_of_10000_lines_is_its_first_200_a_cursor_and_the_total(peer):
    first = lawful(peer.call("read_text", name="short_log"))
    assert first.text == lines(corpus.short_log(), 1, 200)
    meta = first.meta
    assert first.next and (meta["startLine"], meta["endLine"], meta["totalLines"]) == (1, 200, 10_000)
    assert meta["bytesInChunk"] == len(first.text)


def test_v4_1_the_chunks_are_the_log(peer):
    chunks = check_chunks(peer, "short_log", corpus.short_log(), lambda before, _: before.endswith("\n"))
    assert len(chunks) == 50


def test_v4_2_no_log_entry_and_no_stack_trace_is_cut(peer):
    check_chunks(peer, "traced_log", corpus.traced_log(), lambda _, after: corpus.ENTRY.match(after))


def test_v4_2_no_sentence_is_cut(peer):
    check_chunks(peer, "prose", corpus.prose(), lambda before, _: before.rstrip().endswith("."))


def test_v4_2_no_code_block_is_cut(peer):
    check_chunks(peer, "manual", corpus.manual(), lambda before, _: before.count("```") % 2 == 0)


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(5000, 5010, 5000, 5010), (1, 1, 1, 1), (-5, -1, 9996, 10_000), (9_999, 10_000, 9_999, 10_000)],
)
def test_v4_3_a_line_range_is_exactly_that_range(peer, start, end, first, last):
    whole = lawful(peer.call("read_text", name="traced_log"))
    for asked in (
        peer.call("portion_read", cursor=whole.meta["cursor"], startLine=start, endLine=end),
        peer.call("read_text", name="traced_log", startLine=start, endLine=end),
    ):
        reply = lawful(asked, HARD_CAP)
        assert reply.text == lines(corpus.traced_log(), first, last)
        assert (reply.meta["kind"], reply.meta["startLine"], reply.meta["endLine"]) == ("range", first, last)


def test_v4_3_a_long_line_range_goes_on_by_cursor(peer):
    first = lawful(peer.call("read_text", name="traced_log", startLine=100, endLine=3000), HARD_CAP)
    joined = "".join(reply.text for reply in walk(peer, first, HARD_CAP))
    assert joined == lines(corpus.traced_log(), 100, 3000)


def test_v4_4_text_under_1000_tokens_is_whole():
    assert tokens.count(corpus.short_text()) < 600
    assert same_line(FIXTURE, "read_text", name="short_text")


def test_v4_a_section_by_its_heading(peer):
    first = lawful(peer.call("read_text", name="manual"))
    reply = lawful(peer.call("portion_read", cursor=first.meta["cursor"], section="Chapter 7"), HARD_CAP)
    manual = corpus.manual()
    assert reply.text == manual[manual.index("## Chapter 7\n") : manual.index("## Chapter 8\n")]


@pytest.mark.parametrize("name", ["short_log", "traced_log"])
@pytest.mark.parametrize("options", [[], ["--lean"], ["--metadata-style", "snake"]], ids=["usual", "lean", "snake"])
def test_v4_the_first_chunk_says_how_to_read_more_at_once(options, name):
    log = {"short_log": corpus.short_log, "traced_log": corpus.traced_log}[name]()
    with Peer(wrapped(FIXTURE, *options)) as peer:

        def read(**controls):
            """The number of calls that read the log to its end."""
            chunks = [Reply(peer.call("read_text", name=name))]
            while cursor := chunks[-1].next or chunks[-1].notice.get("next_cursor"):
                chunks.append(Reply(peer.call("portion_read", cursor=cursor, **controls)))
            assert "".join(chunk.text for chunk in chunks) == log
            return chunks[0], len(chunks)

        first, usual = read()
        told = re.search(r"maxTokens=(\d+) returns more", first.text_notice["meta"]["next"])
        assert int(told[1]) == (4000 if options == ["--lean"] else HARD_CAP)
        _, larger = read(maxTokens=int(told[1]))
        assert larger < usual / 3

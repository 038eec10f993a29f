"""The published filesystem server with files no context holds: the first reply fits, and nothing is lost."""

import pytest

from fixture import corpus
from harness.command import wrapped
from harness.peer import Peer
from harness.published import FILESYSTEM
from harness.reply import exact, lawful, pages_joined, raw_joined, walk

MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("large")
    (home / "bookings.json").write_text(corpus.bookings(14_000))
    (home / "sync.log").write_text(corpus.traced_log())
    return home


@pytest.fixture(scope="module")
def peer(home):
    with Peer(wrapped(FILESYSTEM.command(home))) as peer:
        peer.tools()
        yield peer


def test_a_json_file_of_5_mb_answers_in_4000_tokens_and_its_pages_are_the_file(peer, home):
    whole = (home / "bookings.json").read_text()
    assert len(whole.encode()) >= 5 * MEBIBYTE
    first = lawful(peer.call("read_text_file", path=str(home / "bookings.json")))
    assert first.notice["totalCount"] == 14_000
    assert pages_joined(peer, first) == exact(whole)
    assert raw_joined(peer, first) == whole


def test_a_log_of_10000_lines_answers_in_4000_tokens_and_its_chunks_are_the_file(peer, home):
    whole = (home / "sync.log").read_text()
    assert whole.count("\n") == 10_000
    first = lawful(peer.call("read_text_file", path=str(home / "sync.log")))
    assert first.meta["totalLines"] == 10_000
    assert "".join(chunk.text for chunk in walk(peer, first)) == whole

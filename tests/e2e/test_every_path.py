"""The law on every path that carries content: blocks, errors, resources, prompts, published servers' big results."""

import ast
import json

from fixture import corpus
from harness.command import wrapped
from harness.peer import Peer
from harness.published import FILESYSTEM, GIT, MEMORY, SQLITE
from harness.reply import again, exact, lawful, pages_joined, raw_joined, walk


def check_text(peer, result, text):
    """`result` is the first portion of `text`, and all of them joined are it."""
    first = lawful(result)
    assert first.next
    assert "".join(reply.text for reply in walk(peer, first)) == text


def test_a_big_resource_is_chunked(peer):
    check_text(peer, peer.read("fixture://log"), corpus.traced_log())


def test_a_big_list_in_a_resource_is_paged(peer):
    first = lawful(peer.read("fixture://bookings"))
    assert first.notice["totalCount"] == 500
    assert pages_joined(peer, first) == exact(corpus.bookings())


def test_a_small_resource_is_untouched(peer, direct):
    assert peer.read("fixture://note") == direct.read("fixture://note")


def test_a_big_prompt_is_chunked(peer):
    check_text(peer, peer.prompt("review_log"), corpus.traced_log())


def test_a_small_prompt_is_untouched(peer, direct):
    assert peer.prompt("greet") == direct.prompt("greet")


def test_a_big_error_stays_an_error_and_is_chunked(peer):
    result = peer.call("fail")
    assert result["isError"] is True
    check_text(peer, result, corpus.traced_log())


def test_a_small_error_is_untouched(peer, direct):
    assert peer.call("fail_briefly") == direct.call("fail_briefly")


def test_an_error_that_only_programs_could_read_is_told_as_text(peer):
    first = lawful(peer.call("fail_structured"))
    assert first.result["isError"] is True
    walked = [row["id"] for reply in walk(peer, first) for row in json.loads(reply.text)["rows"]]
    assert walked == [f"BK-{number:04}" for number in range(1, 201)]


def test_what_stands_beside_the_content_is_not_lost_in_silence(peer):
    first = lawful(peer.call("get_aside"))
    assert first.text == "a note" and "vendor" not in first.result
    assert list(first.meta["partsNotShown"]) == ["/vendor"]
    vendor = "".join(reply.text for reply in again(peer, first, path="/vendor", raw=True))
    assert json.loads(vendor) == {"log": corpus.traced_log()}


def test_a_string_that_a_python_server_wraps_is_one_part_with_its_text(peer):
    check_text(peer, peer.call("get_log_result"), corpus.traced_log())


def test_one_cursor_crosses_many_blocks(peer):
    small = ["Bookings and the log follow.", "Half way.", "The end."]
    walked = [text for reply in walk(peer, lawful(peer.call("get_blocks"))) for text in reply.texts]
    assert sorted(text for text in walked if text in small) == sorted(small), "each once"
    rows = [row["id"] for text in walked if text.startswith("[") for row in json.loads(text)]
    assert rows == [f"BK-{number:04}" for number in range(1, 201)]
    log = "".join(text for text in walked if text not in small and not text.startswith("["))
    assert log == corpus.traced_log()


def test_a_big_memory_graph_is_served_in_portions(tmp_path):
    home = tmp_path / "home"
    MEMORY.fresh(home)
    entities = [
        {"name": f"Guest {n}", "entityType": "guest", "observations": [f"stayed {n} nights", "likes the sea " * 9]}
        for n in range(400)
    ]
    with Peer(wrapped(MEMORY.command(home)), env=MEMORY.env(home)) as peer:
        peer.tools()
        peer.call("create_entities", entities=entities)
        first = lawful(peer.call("read_graph"))
        assert first.structured["entities"][0]["name"] == "Guest 0"
        assert pages_joined(peer, first, "entities") == exact(json.dumps(entities))


def test_a_long_git_diff_is_served_in_portions(tmp_path):
    home = tmp_path / "home"
    GIT.fresh(home)
    (home / "list.txt").write_text("".join(f"line {n} is now of the fourth kind\n" for n in range(3000)))
    arguments = {"repo_path": str(home), "context_lines": 1}
    with Peer(GIT.command(home)) as direct, Peer(wrapped(GIT.command(home))) as peer:
        whole = direct.call("git_diff_unstaged", **arguments)["content"][0]["text"]
        check_text(peer, peer.call("git_diff_unstaged", **arguments), whole)


def test_many_sqlite_rows_are_served_in_portions(tmp_path):
    home = tmp_path / "home"
    SQLITE.fresh(home)
    fill = "CREATE TABLE nights AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000) "
    with Peer(wrapped(SQLITE.command(home))) as peer:
        peer.call("create_table", query=fill + "SELECT i night, 'House ' || (i % 40) house, i * 1.5 price FROM n")
        first = lawful(peer.call("read_query", query="SELECT * FROM nights"))
        rows = ast.literal_eval(raw_joined(peer, first))
    assert len(rows) == 3000 and rows[-1] == {"night": 3000, "house": "House 0", "price": 4500.0}


def test_a_big_directory_listing_is_served_in_portions(tmp_path):
    home = tmp_path / "home"
    FILESYSTEM.fresh(home)
    for number in range(1500):
        (home / f"booking-{number:04}.txt").touch()
    with Peer(FILESYSTEM.command(home)) as direct, Peer(wrapped(FILESYSTEM.command(home))) as peer:
        whole = direct.call("list_directory", path=str(home))["content"][0]["text"]
        peer.tools()
        check_text(peer, peer.call("list_directory", path=str(home)), whole)

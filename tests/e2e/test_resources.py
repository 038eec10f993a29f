"""Resources and prompts are read to the end, by URI as by tool; blobs in ranges; every read is of one moment."""

import base64
import json

import pytest

from fixture import corpus
from fixture.server import BLOBS, TALK
from harness import tokens
from harness.command import FIXTURE, wrapped
from harness.published import EVERYTHING
from harness.peer import Peer
from harness.reply import BUDGET, HARD_CAP, NOTICE, Reply, items, lawful, walk
from harness.wire import Wire, request

LONGEST = 1000


def entries(reply):
    """A reply's own contents or content: all but the notice."""
    return (reply.result.get("contents") or reply.result["content"])[:-1]


def read_on(peer, reply, by_tool):
    """`reply` and all that follow, by `portion_read` where `by_tool(step)` says so, else by URI."""
    uris = set()
    for step in range(LONGEST):
        yield reply
        if not reply.next:
            return
        if by_tool(step):
            reply = lawful(peer.call("portion_read", cursor=reply.next))
        else:
            reply = lawful(peer.read(f"portion://read/{reply.next}"))
            assert uris.isdisjoint(entry["uri"] for entry in entries(reply)), "a URI twice"
            uris.update(entry["uri"] for entry in entries(reply))
    pytest.fail("no end")


@pytest.mark.parametrize("by_tool", [lambda _: False, lambda _: True, lambda step: step % 3 == 0])
def test_a_resource_of_a_megabyte_is_read_by_uri_by_tool_and_by_both(peer, by_tool):
    first = lawful(peer.read("fixture://book"))
    assert first.result["contents"][-1]["uri"] == first.meta["nextUri"] == f"portion://read/{first.next}"
    text = corpus.prose() * 20
    assert len(text) > 2**20 and "".join(reply.text for reply in read_on(peer, first, by_tool)) == text


@pytest.mark.parametrize("uri", ["fixture://form", "fixture://view"])
def test_a_blob_within_its_limit_is_untouched(peer, direct, uri):
    assert peer.read(uri) == direct.read(uri)


@pytest.mark.parametrize("uri", ["fixture://paper", "fixture://poster"])
def test_a_blob_over_its_limit_is_described_and_read_in_ranges(peer, uri):
    mime, size = BLOBS[uri]
    first = lawful(peer.read(uri))
    assert first.text.startswith(f"[{uri}: {mime}, {size} bytes, not shown; ")
    link = first.text.split("resources/read ")[1].split(" ")[0]
    ranges = [entry["blob"] for reply in read_on(peer, lawful(peer.read(link)), lambda _: False) for entry in entries(reply)]
    assert "".join(ranges) == corpus.noise(size)
    assert sum(len(base64.b64decode(part, validate=True)) for part in ranges) == size
    assert len(ranges) < size / 30_000, "ranges are wide"


def test_a_blob_is_read_as_text_by_the_call_that_is_told(peer):
    first = lawful(peer.call("get_embedded", kibibytes=60))
    assert 'portion_read(cursor, path="/content/0/resource/blob") reads it as base64' in first.text
    cursor = first.meta["cursor"]
    begun = lawful(peer.call("portion_read", cursor=cursor, path="/content/0/resource/blob", maxTokens=HARD_CAP), HARD_CAP)
    parts = [reply.text for reply in walk(peer, begun, HARD_CAP)]
    assert "".join(parts) == corpus.noise(60 * 1024)
    assert all(base64.b64decode(part, validate=True) for part in parts), "each by itself"
    raw = lawful(peer.call("portion_read", cursor=cursor, path="/content/0/resource/blob", raw=True))
    assert raw.text and begun.text.startswith(raw.text)


def test_an_image_over_its_limit_is_read_in_ranges(peer):
    first = lawful(peer.call("get_image", kibibytes=6 * 1024))
    begun = lawful(peer.read(f"portion://read/{first.meta['cursor']}?path=/content/0/data"))
    ranges = [entry["blob"] for reply in read_on(peer, begun, lambda _: False) for entry in entries(reply)]
    assert "".join(ranges) == corpus.noise(6 * 2**20)


def test_an_embedded_blob_within_the_byte_limit_is_untouched(peer, direct):
    assert peer.call("get_embedded", kibibytes=40) == direct.call("get_embedded", kibibytes=40)


def test_thousands_of_links_are_cut_and_all_can_be_read(peer, direct):
    first = lawful(peer.call("get_links", count=5000))
    read = [block for reply in read_on(peer, first, lambda _: True) for block in entries(reply)]
    assert read == direct.call("get_links", count=5000)["content"]


def test_a_prompt_goes_on_with_the_roles_told(peer):
    first = lawful(peer.prompt("talk"))
    turns = [[message["role"], message["content"]["text"]] for message in first.result["messages"][:-1]]
    for reply in list(read_on(peer, first, lambda _: True))[1:]:
        for role, text in zip(reply.meta["of"], reply.texts, strict=True):
            if turns[-1][0] == role:
                turns[-1][1] += text
            else:
                turns.append([role, text])
    assert turns == [[role, text()] for role, text in TALK]


def test_an_update_makes_a_new_snapshot_and_old_cursors_keep_the_old():
    with Wire(wrapped(FIXTURE)) as wire:
        wire.open()

        def read(number, uri):
            answer = json.loads(wire.ask(request(number, "resources/read", {"uri": uri})))
            return lawful(answer["result"])

        def revision(number, reply):
            """The statuses of all that follows, less what their place says of them: one number for one moment."""
            rows = items(reply)
            while reply.next:
                reply = read(number, f"portion://read/{reply.next}")
                rows += items(reply)
            assert len(rows) == 500
            shifts = {(corpus.STATUSES.index(row["status"]) - int(row["id"][3:])) % 5 for row in rows}
            assert len(shifts) == 1
            return shifts.pop()

        old = read(1, "fixture://live")
        wire.send(request(2, "tools/call", {"name": "refresh", "arguments": {}}))
        told = [json.loads(line) for line in wire.until(lambda message: message.get("id") == 2)]
        update = {"method": "notifications/resources/updated", "params": {"uri": "fixture://live"}}
        assert {"jsonrpc": "2.0", **update} in told
        new = read(3, "fixture://live")
        assert (revision(4, new) - revision(5, old)) % 5 == 1


@pytest.mark.parametrize("control", ["fields", "path", "section"])
def test_an_error_of_a_long_uri_fits_the_budget(control):
    """Its message is in it twice: for people, and in the data."""
    with Wire(wrapped(FIXTURE)) as wire:
        wire.open()
        answer = json.loads(wire.ask(request(1, "resources/read", {"uri": "fixture://live"})))
        uri = f"portion://read/{lawful(answer['result']).next}?{control}={'qx%25zz!' * 5000}"
        error = json.loads(wire.ask(request(2, "resources/read", {"uri": uri})))["error"]
    assert error["message"] == error["data"]["error"]["message"] and error["data"]["error"]["advice"]
    assert tokens.count(json.dumps(error, ensure_ascii=False, separators=(",", ":"))) <= BUDGET // 2


def test_a_uri_that_leads_nowhere_is_an_error_with_the_way_on(peer):
    for uri, code in [
        ("portion://read/x", "cursor_invalid"),
        (f"portion://read/{lawful(peer.read('fixture://log')).next}?limit=0", "limit_invalid"),
    ]:
        error = peer.read(uri)["error"]
        assert error["code"] in (-32002, -32602) and error["data"]["error"]["code"] == code
        assert error["data"]["error"]["advice"]


def test_the_resources_of_a_published_server_are_as_they_are(tmp_path):
    with Peer(EVERYTHING.command(tmp_path)) as direct, Peer(wrapped(EVERYTHING.command(tmp_path))) as peer:
        listed = direct.resources()["resources"]
        assert peer.resources()["resources"] == listed and listed
        shaped = 0
        for uri in [each["uri"] for each in listed]:
            whole, reply = direct.read(uri), peer.read(uri)
            if NOTICE in (reply.get("_meta") or {}):
                shaped += 1
                parts = "".join(each.text for each in read_on(peer, lawful(reply), lambda step: step % 2 == 0))
                assert parts == "".join(Reply(whole).all_texts)
            else:
                assert reply == whole
        assert shaped < len(listed)

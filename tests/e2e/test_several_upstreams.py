"""Several servers behind one front: each at its own path, none with anything of another's."""

import json

import pytest

from fixture.raw_http import METADATA
from harness.command import PORTION, RAW_FIXTURE
from harness.pairing import Listening
from harness.reply import lawful
from harness.talk import OverHttp, exchange
from harness.waiting import until


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def front(server):
    upstreams = [f"streams={server.url}/mcp", f"json={server.url}/json/mcp"]
    options = [part for upstream in upstreams for part in ("--upstream", upstream)]
    with Listening([PORTION, "serve", "--listen", "127.0.0.1:0", *options]) as front:
        yield front


def at(front, path):
    return "/".join(front.url.split("/")[:3]) + path


def test_each_is_told_of_with_its_own_path(front):
    # The first address is enough to begin with; the second line may come a moment later.
    until(lambda: len(front.urls) == 2, "both addresses are printed", seconds=30)
    assert {"/".join(url.split("/")[3:]) for url in front.urls} == {"streams/mcp", "json/mcp"}


def test_each_answers_for_itself(front, server):
    kinds = {"/streams/mcp": "text/event-stream", "/json/mcp": "application/json"}
    for path, kind in kinds.items():
        session = OverHttp(at(front, path))
        session.open()
        with session.post('{"jsonrpc":"2.0","id":1,"method":"ping"}') as response:
            assert response.headers["content-type"].startswith(kind)
            response.read()
        assert lawful(session.call(2, "list_rows")["result"]).next


def test_a_cursor_of_one_is_none_of_the_other(front):
    one, other = OverHttp(at(front, "/streams/mcp")), OverHttp(at(front, "/json/mcp"))
    one.open()
    other.open()
    first = lawful(one.call(1, "list_rows")["result"])
    refused = other.call(2, "portion_read", cursor=first.next)["result"]
    assert refused["isError"] is True and "cursor_invalid" in refused["content"][0]["text"]
    assert lawful(one.call(3, "portion_read", cursor=first.next)["result"])


def test_a_cursor_of_one_principal_is_none_of_another(front):
    first_user, second_user = ("Authorization", "Bearer one"), ("Authorization", "Bearer two")
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
    session = OverHttp(at(front, "/json/mcp"))
    session.open()
    with session.post(call % ("list_rows", "{}"), first_user) as response:
        cursor = lawful(json.load(response)["result"]).next
    for user, is_theirs in ((second_user, False), (("X-None", "1"), False), (first_user, True)):
        with session.post(call % ("portion_read", json.dumps({"cursor": cursor})), user) as response:
            result = json.load(response)["result"]
        assert result.get("isError", False) is not is_theirs, user


def test_the_metadata_of_each_are_its_servers(front):
    with exchange(front.url, target="/.well-known/oauth-protected-resource/streams/mcp") as response:
        assert (response.status, response.read()) == (200, METADATA)


@pytest.mark.parametrize("path", ["/mcp", "/", "/streams", "/streams/mcp/", "/STREAMS/mcp", "/json/mcp/x"])
def test_other_paths_are_told_which_there_are(front, path):
    with exchange(front.url, "POST", {"Content-Type": "application/json"}, b"{}", target=path) as response:
        assert response.status == 404
        told = json.load(response)["error"]["message"]
    assert "/streams/mcp" in told and "/json/mcp" in told

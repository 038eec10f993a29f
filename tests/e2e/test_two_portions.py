"""A Portion in front of another one: programs that follow `nextCursor` get every record, and the inner notice stays readable."""

import json

import jsonschema
import pytest
import requests

from harness.command import CLIENT_BIN, E2E, FIXTURE, PORTION, TYPED_FIXTURE
from harness.listening import Listening
from harness.wire import Wire, request
from fixture import corpus

COUNT = 111
WIDE = ["--token-budget-threshold", "11000", "--reply-target", "11000"]


def called(wire, number, tool, **arguments):
    return json.loads(wire.ask(request(number, "tools/call", {"name": tool, "arguments": arguments})))["result"]


@pytest.mark.parametrize("inner", [[], WIDE, ["--lean"]], ids=["usual", "wide", "lean"])
@pytest.mark.parametrize("outer", [["--lean"], [], ["--metadata-style", "snake", "--lean"]], ids=["lean", "usual", "snake"])
def test_a_program_that_follows_the_cursor_gets_every_record(outer, inner):
    style = "next_cursor" if "snake" in outer else "nextCursor"
    with Wire([PORTION, "wrap", *outer, "--", PORTION, "wrap", *inner, "--", *TYPED_FIXTURE]) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        guests, arguments, notices = [], {}, 0
        for number in range(1, COUNT):
            result = called(wire, number, "list_guests", count=COUNT, **arguments)
            assert not result.get("isError"), result
            served = result["structuredContent"]
            notices += "io.portion/upstream" in result["_meta"]
            guests += [guest["id"] for guest in served["guests"]]
            cursor = served.get(style) or served.get("nextCursor")
            if not cursor:
                break
            arguments = {"cursor": cursor}
        assert guests == list(range(COUNT))
        assert notices, "the notice of the inner one is passed on"


@pytest.mark.parametrize("count", [140, 150, 400])
def test_the_top_level_cursor_leads_to_the_end_where_the_last_inner_page_is_large(count):
    with Wire([PORTION, "wrap", "--lean", "--", PORTION, "wrap", "--", *TYPED_FIXTURE]) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        guests, arguments = [], {}
        for number in range(1, count):
            served = called(wire, number, "list_guests", count=count, **arguments)["structuredContent"]
            guests += [guest["id"] for guest in served["guests"]]
            assert "nextCursor" not in served.get("portion", {}), served["portion"]
            if "nextCursor" not in served:
                break
            arguments = {"cursor": served["nextCursor"]}
        assert guests == list(range(count))


def test_the_inner_cursor_is_read_through_the_outer_one():
    with Wire([PORTION, "wrap", "--lean", "--", PORTION, "wrap", *WIDE, "--", *TYPED_FIXTURE]) as wire:
        wire.open()
        tools = json.loads(wire.ask(request(0, "tools/list", {})))["result"]["tools"]
        assert {"portion_read", "portion_read_2"} <= {tool["name"] for tool in tools}
        inner = called(wire, 1, "list_guests", count=300)["_meta"]["io.portion/upstream"]["nextCursor"]
        first = called(wire, 2, "portion_read", cursor=inner)
        again = called(wire, 3, "list_guests", count=300, cursor=inner)
        for result in (first, again):
            assert not result.get("isError") and "Guest" in result["content"][0]["text"], result


LARGE_CHUNKS = [*WIDE, "--chunk-above", "9000", "--chunk-size", "9000", "--chunk-lines", "9000"]


@pytest.mark.parametrize("text", ["manual", "prose"])
@pytest.mark.parametrize("style", ["camel", "snake"])
def test_the_inner_notice_is_no_content_and_its_next_step_is_told(text, style):
    inner = [*LARGE_CHUNKS, "--metadata-style", style]
    with Wire([PORTION, "wrap", "--lean", "--", PORTION, "wrap", *inner, "--", *FIXTURE]) as wire:
        wire.open()
        wire.ask(request(0, "tools/list", {}))
        whole, number, told = "", 0, 0
        tool, arguments = "read_text", {"name": text}
        while tool:
            number += 1
            result = called(wire, number, tool, **arguments)
            behind = result["_meta"]["io.portion/upstream"]
            inner_cursor = behind.get("nextCursor") or behind.get("next_cursor")
            step = f"portion_read(cursor={inner_cursor})" if inner_cursor else None
            # The chunks of the outer one, which are all of the inner chunk. A small inner chunk passes as it is.
            notices = []
            while True:
                *content, last = [block["text"] for block in result["content"]]
                assert len(content) == 1, result
                whole += content[0]
                if "io.portion/notice" not in result["_meta"]:
                    break
                notice = json.loads(last)
                assert "partsNotShown" not in notice["meta"] and "totalCount" not in notice, notice
                notices.append(notice)
                if "nextCursor" not in notice:
                    break
                number += 1
                result = called(wire, number, "portion_read_2", cursor=notice["nextCursor"])
            for notice in notices[:1] + notices[-1:]:
                assert notice["meta"].get("upstreamNext") == step, notice
                told += step is not None
            tool, arguments = "portion_read" if inner_cursor else None, {"cursor": inner_cursor}
        assert whole == getattr(corpus, text)() and told


@pytest.mark.parametrize("outer", [[], ["--lean"], ["--metadata-style", "snake"], ["--envelope", "wrap"]], ids=" ".join)
def test_a_resource_is_read_on_by_the_uris_of_the_inner_one(outer):
    """A client that only reads resources needs no tool for the rest."""
    with Wire([PORTION, "wrap", *outer, "--", PORTION, "wrap", "--", *FIXTURE]) as wire:
        wire.open()
        whole, uri, number = "", "fixture://book", 0
        while uri:
            number += 1
            answer = json.loads(wire.ask(request(number, "resources/read", {"uri": uri})))
            assert "error" not in answer, answer
            *contents, notice = answer["result"]["contents"]
            whole += "".join(entry["text"] for entry in contents)
            last = json.loads(notice["text"])
            uri = last["meta"].get("nextUri") or last["meta"].get("upstreamNext", "").rpartition(" ")[2]
        assert whole == corpus.prose() * 20
        # A cursor that neither has issued is refused by the inner one, with the same words.
        answer = json.loads(wire.ask(request(number + 1, "resources/read", {"uri": "portion://read/nocursor"})))
        assert answer["error"]["data"]["error"]["code"] == "cursor_invalid", answer


FORMS = [[], ["--envelope", "wrap"], ["--metadata-style", "snake"], ["--metadata", "always"]]


@pytest.mark.parametrize("inner", FORMS, ids=" ".join)
@pytest.mark.parametrize("outer", FORMS, ids=" ".join)
def test_structured_content_matches_the_listed_schema(outer, inner):
    """The TypeScript SDK throws where it does not."""
    with Wire([PORTION, "wrap", *outer, "--", PORTION, "wrap", *inner, "--", *TYPED_FIXTURE]) as wire:
        wire.open()
        tools = json.loads(wire.ask(request(0, "tools/list", {})))["result"]["tools"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in tools if "outputSchema" in tool}
        calls = [("add", {"a": 1, "b": 2}), ("is_open", {"count": 1})]
        for tool, path in [("list_guests", "/guests/0"), ("list_bare", "/result/0")]:
            for controls in [{}, {"raw": True}, {"path": path}, {"limit": 3, "page": 2}, {"maxTokens": 300}, {"fields": "id"}]:
                calls += [(tool, {"count": count, **controls}) for count in (1, 111)]
        checked = 0
        for number, (tool, arguments) in enumerate(calls, 1):
            result = called(wire, number, tool, **arguments)
            # The path of a value depends on the envelope: an error says which there are.
            if tool in schemas and not result.get("isError"):
                jsonschema.validate(result["structuredContent"], schemas[tool])
                checked += 1
        assert checked > 20


def test_a_list_of_an_api_is_walked_by_the_links_of_the_inner_proxy():
    options = ["--listen", "127.0.0.1:0", "--admin", "off"]
    with Listening([str(CLIENT_BIN / "python"), str(E2E / "fixture/api.py")]) as api:
        with Listening([PORTION, "http", "--upstream", f"{api.url}/api", *options]) as inner:
            with Listening([PORTION, "http", "--upstream", inner.url, *options]) as outer:
                direct = requests.get(f"{api.url}/api/bookings", timeout=30).json()
                records, url = [], f"{outer.url}/bookings"
                while url:
                    response = requests.get(url, timeout=30)
                    assert response.status_code == 200, response.text
                    records += [record["id"] for record in response.json()]
                    url = response.links.get("next", {}).get("url")
                    url = url and requests.compat.urljoin(outer.url, url)
                assert records == [record["id"] for record in direct]

"""A Portion in front of another one: programs that follow `nextCursor` get every record, and the inner notice stays readable."""

import json

import pytest

from harness.command import PORTION, TYPED_FIXTURE
from harness.wire import Wire, request

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

"""What programs get in `structuredContent`: whole records under the server's own schema, or everything where that is allowed."""

import json

import jsonschema
import pytest

from harness.command import PORTION, TYPED_FIXTURE, TYPED_FIXTURE_1
from harness.pairing import pairing
from harness.talk import ACCEPT, exchange
from harness.wire import Wire, request

TYPED = {"python 1": TYPED_FIXTURE_1, "python 2": TYPED_FIXTURE}
COUNT = 111


def opened(wire):
    wire.open()
    tools = json.loads(wire.ask(request(0, "tools/list", {})))["result"]["tools"]
    return {tool["name"]: tool for tool in tools}


def called(wire, number, tool, meta=None, **arguments):
    params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return json.loads(wire.ask(request(number, "tools/call", params)))["result"]


def direct(sdk):
    with Wire(TYPED[sdk]) as wire:
        return opened(wire), called(wire, 1, "list_guests", count=COUNT)["structuredContent"]


@pytest.mark.parametrize("sdk", TYPED)
@pytest.mark.parametrize("options", [[], ["--lean"]], ids=["usual", "lean"])
def test_every_record_is_whole_and_the_cursor_is_seen(sdk, options):
    theirs, whole = direct(sdk)
    with Wire([PORTION, "wrap", *options, "--", *TYPED[sdk]]) as wire:
        listed = opened(wire)
        for name in ("add", "is_open"):
            assert listed[name]["outputSchema"] == theirs[name]["outputSchema"], "never shortened, so untouched"
        schema, was = listed["list_guests"]["outputSchema"], theirs["list_guests"]["outputSchema"]
        first, second, _ = schema["anyOf"]
        assert first == {key: value for key, value in was.items() if key != "$defs"}
        assert schema["type"] == "object" and set(second["required"]) == {*was["required"], "nextCursor", "meta"}
        result, guests = called(wire, 1, "list_guests", count=COUNT), []
        while True:
            served = result["structuredContent"]
            jsonschema.validate(served, schema)
            assert served["source"] == whole["source"]
            assert served["guests"] == whole["guests"][len(guests) : len(guests) + len(served["guests"])]
            guests += served["guests"]
            if "nextCursor" not in served:
                break
            jsonschema.validate(served, second | {"$defs": schema.get("$defs", {})})
            result = called(wire, 2, "list_guests", count=COUNT, cursor=served["nextCursor"])
        assert guests == whole["guests"]


def test_a_program_has_all_where_that_is_allowed():
    _, whole = direct("python 2")
    asking = {"io.portion/whole": True}
    for options, gets_it in (([], False), (["--allow-whole", "true"], True)):
        with Wire([PORTION, "wrap", *options, "--", *TYPED_FIXTURE]) as wire:
            opened(wire)
            assert len(called(wire, 1, "list_guests", count=COUNT)["structuredContent"]["guests"]) < COUNT
            served = called(wire, 2, "list_guests", meta=asking, count=COUNT)["structuredContent"]
            assert (served == whole) is gets_it
    limited = ["--allow-whole", "true", "--unshaped-byte-limit", "4KiB"]
    with Wire([PORTION, "wrap", *limited, "--", *TYPED_FIXTURE]) as wire:
        opened(wire)
        served = called(wire, 1, "list_guests", meta=asking, count=COUNT)["structuredContent"]
        assert served["nextCursor"] and len(served["guests"]) < COUNT
    with Wire([PORTION, "wrap", "--preset", "code", "--allow-whole", "true", "--", *TYPED_FIXTURE]) as wire:
        opened(wire)
        assert called(wire, 1, "list_guests", count=COUNT)["structuredContent"] == whole


def test_a_header_asks_for_the_whole():
    _, whole = direct("python 2")
    with pairing("http", "--allow-whole", "true", "--", *TYPED_FIXTURE) as target:
        fields = [("Content-Type", "application/json"), ("Accept", ACCEPT)]

        def post(number, method, parameters, *more):
            with exchange(target["url"], "POST", [*fields, *more], request(number, method, parameters)) as response:
                return response.headers, response.read()

        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        headers, _ = post(0, "initialize", opening)
        session = ("Mcp-Session-Id", headers["Mcp-Session-Id"])
        call = {"name": "list_guests", "arguments": {"count": COUNT}}
        _, body = post(1, "tools/call", call, session, ("X-Portion-Whole", "true"))
        assert json.loads(body)["result"]["structuredContent"] == whole
        _, body = post(2, "tools/call", call, session)
        assert len(json.loads(body)["result"]["structuredContent"]["guests"]) < COUNT

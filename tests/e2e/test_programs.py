"""What programs get in `structuredContent`: whole records under the server's own schema, or everything where that is allowed."""

import json

import jsonschema
import pytest

from harness.command import PORTION, TYPED_FIXTURE, TYPED_FIXTURE_1
from harness.pairing import pairing
from harness.reply import NOTICE
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
        first, *shortened = schema["anyOf"]
        assert first == {key: value for key, value in was.items() if key != "$defs"}
        assert schema["type"] == "object" and shortened == [{"required": ["meta"]}, {"required": ["portion"]}]
        result, guests = called(wire, 1, "list_guests", count=COUNT), []
        while True:
            served = result["structuredContent"]
            jsonschema.validate(served, schema)
            assert served["source"] == whole["source"]
            assert served["guests"] == whole["guests"][len(guests) : len(guests) + len(served["guests"])]
            guests += served["guests"]
            if "nextCursor" not in served:
                break
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


# Several lists, and lists beside a table


def notice_of(result):
    """What a reader of the text sees."""
    return json.loads(result["content"][-1]["text"])


@pytest.mark.parametrize("options", [[], ["--lean"]], ids=["usual", "lean"])
def test_of_two_lists_of_equal_size_no_record_is_cut_and_each_is_reached(options):
    with Wire(TYPED_FIXTURE) as wire:
        wire.open()
        whole = called(wire, 1, "list_stays", count=COUNT)["structuredContent"]
    assert len(whole["arrivals"]) == len(whole["departures"]) == COUNT
    with Wire([PORTION, "wrap", *options, "--", *TYPED_FIXTURE]) as wire:
        schema = opened(wire)["list_stays"]["outputSchema"]
        result = first = called(wire, 1, "list_stays", count=COUNT)
        main, other = ("arrivals", "departures") if "/departures" in notice_of(first)["meta"]["omitted"] else ("departures", "arrivals")
        reached = []
        while True:
            served, told = result["structuredContent"], notice_of(result)["meta"]
            jsonschema.validate(served, schema)
            assert served[other] == whole[other][: len(served[other])], "the other list begins at its beginning"
            assert served[main] == whole[main][len(reached) : len(reached) + len(served[main])]
            assert told["omitted"].keys() == served["meta"]["omitted"].keys() == {f"/{other}"}
            reached += served[main]
            if "nextCursor" not in served:
                break
            assert told["structuredContent"] == {"served": len(served[main]), "of": COUNT}
            result = called(wire, 2, "list_stays", count=COUNT, cursor=served["nextCursor"])
        assert reached == whole[main]
        cursor, reached = first["_meta"][NOTICE]["meta"]["cursor"], []
        result = called(wire, 3, "list_stays", count=COUNT, cursor=cursor, path=f"/{other}", fields="all")
        while True:
            served = result["structuredContent"]["portion"]
            reached += served["value"]
            if "nextCursor" not in served:
                break
            result = called(wire, 4, "list_stays", count=COUNT, cursor=served["nextCursor"])
        assert reached == whole[other]


def under_its_heading(report, first_row, omitted):
    """Each value names its column. A list beside the columns is as long as they are, or it is absent and reported."""
    names = report["columns"]
    beside = {"units": report.get("units"), "totals": report.get("totals"), "stats": report.get("stats")}
    assert {f"/{name}" for name, values in beside.items() if values is None} == set(omitted)
    stats = beside.pop("stats") or {}
    for name, values in [*beside.items(), *stats.items()]:
        expected = [f"{name.removesuffix('s')} of {column}" for column in names]
        assert values in (None, expected), f"{name}: {len(values)} values under {len(names)} columns"
    assert report["rows"]
    for number, row in enumerate(report["rows"], first_row):
        assert row == [f"value {number} of {name}" for name in names]


@pytest.mark.parametrize("fields", [None, "column 1,column 3,column 5", "column 5,column 2"])
@pytest.mark.parametrize("options", [[], ["--lean"], ["--preset", "claude-code"]], ids=["usual", "lean", "claude-code"])
def test_totals_stand_under_their_columns(options, fields):
    with Wire([PORTION, "wrap", *options, "--", *TYPED_FIXTURE]) as wire:
        opened(wire)
        for columns in (6, 36):
            asked = {"columns": columns, "rows": 120}
            result = called(wire, 1, "get_report", **asked, **({"fields": fields} if fields else {}))
            for _ in range(3):
                text, notice = json.loads(result["content"][0]["text"]), result["_meta"][NOTICE]
                served = result["structuredContent"].get("portion", result["structuredContent"])
                for table, meta in ((text, notice["meta"]), (served.get("value", served), served["meta"])):
                    under_its_heading(table, meta["offset"], meta.get("omitted", {}))
                    assert not fields or set(table["columns"]) == set(fields.split(","))
                if "nextCursor" not in served:
                    break
                result = called(wire, 2, "get_report", **asked, cursor=served["nextCursor"])

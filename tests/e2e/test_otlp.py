"""What is served is told to a collector of OpenTelemetry: spans in the caller's trace, and measurements that add up."""

import json
import re
import socket
import time
from contextlib import contextmanager

import pytest

from harness.collector import Collector
from harness.command import RAW_FIXTURE, wrapped
from harness.figures import HANG, at_most
from harness.hook import asked
from harness.listening import Listening, served
from harness.ports import free_port
from harness.reply import Reply
from harness.talk import OverHttp, OverStdio
from harness.wire import Wire

FRONTS = ["wrap", "serve"]
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "200"}


@pytest.fixture
def collector():
    with Collector() as collector:
        yield collector


@pytest.fixture(params=FRONTS)
def front(request):
    return request.param


@pytest.fixture
def start(tmp_path):
    """A function: a conversation with the raw server behind Portion, and what Portion says on stderr."""

    @contextmanager
    def started(front, *options, **environment):
        environment = {"XDG_DATA_HOME": str(tmp_path), **environment}
        if front == "wrap":
            with Wire(wrapped(RAW_FIXTURE, *options), env=environment) as wire:
                yield opened(OverStdio(wire)), wire.stderr
        else:
            with Listening(served(*options, "--", *RAW_FIXTURE), env=environment) as portion:
                yield opened(OverHttp(portion.url)), lambda: "".join(portion.said)

    return started


def opened(session):
    session.open()
    session.ask('{"jsonrpc":"2.0","id":"tools","method":"tools/list"}')
    session.seen()
    return session


def call(number, tool, parent=None, **arguments):
    """A call as few clients would write it: every byte of it but for a span's id is to pass."""
    meta = f', "_meta" : {{"tracestate":"a=1,b=2","traceparent":"{parent}" ,"x":1e0}}' if parent else ""
    params = f'{{"name":"{tool}","arguments":{json.dumps(arguments)}{meta}}}'
    return f'{{ "jsonrpc":"2.0","id":{number},"params":{params},"method":"tools/call","x":[1.50] }}'


def following(answers):
    """The cursor to what follows."""
    return Reply(json.loads(answers[-1])["result"]).next


def spans(collector, count):
    found = collector.until(lambda: len(s := collector.spans()) >= count and s, f"{count} spans")
    assert len(found) == count, found
    return sorted(found, key=lambda span: span["start"])


def test_a_call_hangs_below_the_clients_span_and_the_server_below_the_calls(front, start, collector):
    with start(front, "--otlp", collector.url, **SOON) as (session, _):
        before = time.time()
        assert len(session.ask(call(1, "list_rows", PARENT, count=3))) == 1
        [it] = spans(collector, 1)
        assert (it["trace"], it["parent"], it["kind"]) == (TRACE, SPAN, "SERVER")
        assert before - 1 < it["start"] and 0 < it["seconds"] < time.time() - before + 1
        ours = PARENT.replace(SPAN, it["span"])
        assert ours != PARENT and session.seen() == [call(1, "list_rows", ours, count=3)]
        assert (it["name"], it["mcp.method.name"]) == ("tools/call list_rows", "tools/call")
        assert (it["gen_ai.tool.name"], it["gen_ai.operation.name"]) == ("list_rows", "execute_tool")
        assert (it["portion.outcome"], it["portion.follow_up"], it["failed"]) == ("untouched", False, False)
        assert it["portion.bytes.original"] == it["portion.bytes.served"] > 0
        assert collector.resource()["service.name"] == "portion"


def test_follow_ups_are_spans_although_no_server_hears_of_them(front, start, collector):
    with start(front, "--otlp", collector.url, **SOON) as (session, _):
        cursor = following(session.ask(call(1, "list_rows", PARENT, count=500)))
        session.seen()
        session.ask(call(2, "portion_read", PARENT, cursor=cursor))
        session.ask(call(3, "portion_read", PARENT, cursor="spoiled"))
        assert session.seen() == []
        came, read, refused = spans(collector, 3)
        assert len({came["span"], read["span"], refused["span"]}) == 3
        assert {(it["trace"], it["parent"]) for it in (came, read, refused)} == {(TRACE, SPAN)}
        assert (came["portion.outcome"], came["portion.follow_up"]) == ("paginated", False)
        assert (read["portion.outcome"], read["portion.follow_up"]) == ("paginated", True)
        assert came["portion.items.total"] == 500 and came["portion.items"] + read["portion.items"] <= 500
        assert came["portion.tokens.served"] < came["portion.tokens.original"]
        assert (refused["portion.outcome"], refused["error.type"]) == ("refused", "cursor_invalid")
        assert refused["failed"] and not read["failed"]


def test_without_a_caller_each_call_is_a_trace_of_its_own_and_unkept_ones_stay_so(start, collector):
    with start("wrap", "--otlp", collector.url, **SOON) as (session, _):
        unkept = call(1, "list_rows", PARENT[:-1] + "0", count=1)
        session.ask(unkept)
        assert session.seen() == [unkept]
        session.ask(call(2, "list_rows", count=1))
        session.ask(call(3, "list_rows", count=1))
        one, other = spans(collector, 2)
        assert one["trace"] != other["trace"] and {one["parent"], other["parent"]} == {""}


def test_measurements_add_up(front, start, collector):
    with start(front, "--otlp", collector.url, **SOON) as (session, _):
        for number in range(5):
            session.ask(call(number, "list_rows", count=2))
        cursor = following(session.ask(call(5, "list_rows", count=500)))
        session.ask(call(6, "portion_read", cursor=cursor))
        all_of = spans(collector, 7)

        def by(name, attribute):
            return {point.get(attribute): point["sum"] for point in collector.points(name)}

        requests = {"untouched": 5, "paginated": 2}
        collector.until(lambda: by("portion.requests", "outcome") == requests, requests)
        tokens = {
            "upstream": sum(it["portion.tokens.original"] for it in all_of if not it["portion.follow_up"]),
            "served": sum(it["portion.tokens.served"] for it in all_of),
        }
        collector.until(lambda: by("portion.tokens", "direction") == tokens, tokens)
        assert by("portion.calls_oversized", "endpoint") == {"list_rows": 1}
        assert by("portion.follow_ups", "endpoint") == {"list_rows": 1}
        durations = collector.points("mcp.server.operation.duration")
        assert sum(point["count"] for point in durations) == 7
        assert {point["gen_ai.tool.name"] for point in durations} == {"list_rows"}
        assert sum(it["seconds"] for it in all_of) == pytest.approx(sum(p["sum"] for p in durations), abs=1e-3)
        [overhead] = collector.points("portion.overhead")
        assert overhead["count"] == 7
        assert overhead["sum"] == pytest.approx(sum(it["portion.overhead"] for it in all_of))


def scraped(port):
    """What `/metrics` has: series without their units and ends, by name, labels and value; of histograms counts and sums."""
    found = set()
    for name, labels, value in re.findall(r"^(\w+?)(?:{(.*)})? (\S+)$", asked(port, "/metrics"), re.MULTILINE):
        labels = frozenset(re.findall(r'(\w+)="([^"]*)"', labels))
        if not name.endswith("_bucket"):
            found.add((re.sub("_total$", "", name), labels, round(float(value), 6)))
    return found


def exported(collector):
    """The same of what was sent last."""
    found = set()
    for name, points in collector.latest().items():
        for point in points:
            count, total = point.pop("count", None), point.pop("sum")
            labels = frozenset((key.replace(".", "_"), value) for key, value in point.items())
            name = name.replace(".", "_")
            parts = [("", total)] if count is None else [("_count", count), ("_sum", total)]
            found |= {(name + part, labels, round(float(value), 6)) for part, value in parts}
    return found


def unitless(series):
    units = "_(seconds|bytes|ratio)(?=$|_count$|_sum$)"
    return {(re.sub(units, "", name), labels, value) for name, labels, value in series}


def test_what_is_sent_is_what_is_scraped(front, start, collector):
    port = free_port()
    with start(front, "--otlp", collector.url, f"--admin=127.0.0.1:{port}", "--alert-on=every", **SOON) as (session, _):
        cursor = following(session.ask(call(1, "list_rows", count=500)))
        session.ask(call(2, "portion_read", cursor=cursor))
        session.ask(call(3, "portion_read", cursor="spoiled"))
        for number in range(4, 30):
            session.ask(call(number, "list_rows", count=500))

        def same():
            expect = unitless(scraped(port))
            return collector.metrics and exported(collector) == expect and expect

        same = collector.until(same, "the same figures")
        assert {name for name, labels, value in same if labels == {("alert", "oversized")} and value == 1} == {
            "portion_alert_active",
            "portion_alert_share",
            "portion_alerts_raised",
        }
        assert {"portion_records_dropped", "portion_config_valid", "portion_snapshots"} <= {name for name, *_ in same}


def test_what_was_served_last_is_sent_at_the_end(front, start, collector):
    with start(front, "--otlp", collector.url) as (session, _):
        session.ask(call(1, "list_rows", PARENT, count=1))
    [it] = collector.spans()
    assert it["trace"] == TRACE
    assert [point["sum"] for point in collector.points("portion.requests")] == [1]


def test_the_variables_of_opentelemetry_are_heeded(start, collector):
    named = {
        **SOON,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20mine",
        "OTEL_SERVICE_NAME": "bookings",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=others,deployment.environment.name=test%20here",
        "OTEL_METRICS_EXPORTER": "none",
    }
    with start("wrap", **named) as (session, _):
        session.ask(call(1, "list_rows", PARENT, count=1))
        spans(collector, 1)
    resource = collector.resource()
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("bookings", "test here")
    assert resource["service.version"] and resource["service.instance.id"]
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer mine"}
    assert not collector.metrics


@pytest.mark.parametrize("off", ["--otlp=off", {"OTEL_SDK_DISABLED": "true"}], ids=str)
def test_what_is_off_sends_nothing_and_changes_no_byte(start, collector, off):
    options, more = ([off], {}) if isinstance(off, str) else ([], off)
    with start("wrap", *options, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **SOON, **more) as (session, _):
        said = call(1, "list_rows", PARENT, count=1)
        session.ask(said)
        assert session.seen() == [said]
    assert not collector.headers


def test_the_file_names_a_collector_by_reference(start, collector, tmp_path):
    path = tmp_path / "portion.yaml"
    path.write_text("otlp: http://${COLLECTOR}\n")
    address = collector.url.removeprefix("http://")
    with start("wrap", "--config", str(path), COLLECTOR=address, **SOON) as (session, _):
        session.ask(call(1, "list_rows", PARENT, count=1))
        spans(collector, 1)


@pytest.fixture(params=["away", "silent", "broken"])
def trouble(request, collector):
    """The URL of a collector that takes nothing."""
    if request.param == "away":
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    elif request.param == "silent":
        # Connections are taken by the system, and nobody reads from them.
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
    else:
        collector.status = 500
        yield collector.url


def test_a_collector_that_takes_nothing_costs_no_request_and_is_told_of_once(front, start, trouble):
    within = {"OTEL_EXPORTER_OTLP_TIMEOUT": "300"}
    with start(front, "--otlp", trouble, **SOON, **within) as (session, stderr):

        def told():
            warnings = [line for line in stderr().splitlines() if "signal=" in line]
            return sorted(kind for line in warnings for kind in ("traces", "metrics") if f'signal="{kind}"' in line)

        def served(number):
            answer = json.loads(session.ask(call(number, "list_rows", PARENT, count=2))[-1])
            return "error" not in answer and not answer["result"].get("isError")

        end, number = time.monotonic() + HANG, 0
        while told() != ["metrics", "traces"] and time.monotonic() < end:
            number += 1
            assert served(number)
        assert all(served(number + more) for more in range(1, 500))
        assert told() == ["metrics", "traces"], stderr()


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "http:/me:s3cret@127.0.0.1:4318"])
def test_an_endpoint_that_is_no_url_is_told_and_costs_no_request(front, start, endpoint):
    with start(front, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **SOON) as (session, stderr):
        answer = json.loads(session.ask(call(1, "list_rows", count=1))[-1])
        assert "error" not in answer and not answer["result"].get("isError")
    said = stderr()
    assert said.count("the endpoint is not a URL") == 2 and "s3cret" not in said, said


def test_a_collector_that_takes_nothing_holds_nobody_up_at_the_end_and_what_is_lost_is_told(start, trouble):
    with start("wrap", "--otlp", trouble) as (session, stderr):
        for number in range(3):
            session.ask(call(number, "list_rows", PARENT, count=1))
        left = time.monotonic()
    assert time.monotonic() - left < at_most(5), "two seconds, and what ends the server"
    assert re.search(r'signal="traces" lost=3\b', stderr()), stderr()


def test_a_collector_that_comes_back_is_sent_to_again(start, collector):
    collector.status = 503
    with start("wrap", "--otlp", collector.url, "--log-level", "info", **SOON) as (session, stderr):
        session.ask(call(1, "list_rows", count=1))
        collector.until(lambda: "traces" in stderr(), "a warning")
        collector.status = 200
        session.ask(call(2, "list_rows", count=1))
        collector.until(lambda: "again" in stderr() and collector.spans(), "its end")
        collector.until(lambda: [p["sum"] for p in collector.points("portion.requests")] == [2], "sums of all")

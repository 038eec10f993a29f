"""V5: what was served is recorded, logged and added up, one record a request, and never its content."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from fixture import corpus
from harness import tokens
from harness.command import FIXTURE, PORTION, wrapped
from harness.hook import asked
from harness.listening import Listening, served
from harness.machine import Machine
from harness.peer import Peer
from harness.ports import free_port
from harness.recorded import Recorded
from harness.reply import Reply, lawful, walk
from harness.waiting import until
from harness.wire import Wire, request

SECRETS = ["Ana Sousa", "example.org", "House 3", "+351 21", "BK-0001"]


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path / "data" / "telemetry.db")


@pytest.fixture(params=["wrap", "serve"])
def served_by(request):
    """A function that serves the fixture with these options, and gives a client and what was logged."""
    running = []

    def start(*options):
        if request.param == "serve":
            process = Listening(served(*options, "--admin", "off", "--", *FIXTURE)).__enter__()
            running.append(process)
            peer = Peer(process.url)
            said = lambda: "".join(process.said)  # noqa: E731
        else:
            peer = Peer(wrapped(FIXTURE, *options))
            said = peer.said
        running.append(peer.__enter__())
        return peer, said

    def stop():
        while running:
            running.pop().__exit__(None, None, None)

    start.stop = stop
    yield start
    stop()


def cost(result):
    """What the texts of a reply cost by an encoder that is not Portion's."""
    return sum(map(tokens.count, Reply(result).all_texts))


def near(one, other, share):
    return abs(one - other) <= share * other


def test_v5_1_each_of_a_hundred_requests_is_recorded_with_tokens_bytes_items_and_latency(served_by, recorded):
    peer, _ = served_by("--telemetry", str(recorded.path), "--tokenizer", "o200k")
    counts = [(number * 7) % 60 + 1 for number in range(100)]
    results = [peer.call("list_bookings", count=count) for count in counts]
    served_by.stop()
    records = recorded.requests(100)
    assert len(records) == 100, "one a request, those that came last included"
    assert len({record["requestId"] for record in records}) == 100
    assert [record["timestamp"] for record in records] == sorted(record["timestamp"] for record in records)
    for count, result, record in zip(counts, results, records, strict=True):
        reply = Reply(result)
        assert (record["endpoint"], record["kind"], record["error"]) == ("list_bookings", "tool", None)
        assert record["arguments"] == ["count"], "names of arguments, not their values"
        assert near(record["estimatedTokens"], cost(result), 0.2), "a token is a token"
        assert record["totalItems"] == count and 0 < record["itemCount"] <= count
        assert record["originalBytes"] == len(corpus.bookings(count).encode())
        shown = sum(len(text.encode()) for text in reply.all_texts)
        assert near(record["responseBytes"], shown, 0.01), "bytes of what is shown"
        assert 0 <= record["overheadMs"] <= record["latencyMs"] < 60_000
        assert record["tokensPerItem"] == pytest.approx(record["estimatedTokens"] / record["itemCount"])
        if reply.notice is None:
            assert (record["outcome"], record["itemCount"]) == ("untouched", count)


def test_v5_1_estimates_are_held_against_exact_counts_where_that_is_cheap(served_by, recorded):
    peer, _ = served_by("--telemetry", str(recorded.path), "--tokenizer", "o200k")
    for count in range(1, 4):
        peer.call("list_bookings", count=count)
    served_by.stop()
    for record in recorded.requests(3):
        exact = tokens.count(corpus.bookings(record["totalItems"]))
        assert record["actualTokens"] == exact and near(record["estimatedTokens"], exact, 0.2), record


@pytest.mark.parametrize("tokenizer", ["o200k", "auto"])
def test_v5_1_every_reply_is_held_against_an_exact_count_where_that_is_asked_for(served_by, recorded, tokenizer):
    options = ("--tokenizer", tokenizer, "--accuracy-sample", "100")
    peer, _ = served_by("--telemetry", str(recorded.path), *options)
    results = [peer.call("list_bookings"), peer.call("read_text", name="manual"), peer.call("list_bookings", count=2)]
    served_by.stop()
    records = recorded.requests(3)
    assert all(record["actualTokens"] for record in records)
    for record, result in zip(records, results, strict=True):
        assert near(record["estimatedTokens"], record["actualTokens"], 0.2), record
        assert near(record["actualTokens"], cost(result), 0.1), record
    [figures] = recorded.stats("--endpoint", "list_bookings")
    assert (figures["counter"], figures["sampled"], figures["estimatesNearShare"]) == (tokenizer, 2, 1.0)
    assert figures["estimatesBias"] == pytest.approx({"o200k": 0, "auto": 0.1}[tokenizer], abs=0.02)


@pytest.mark.parametrize("form", ["json", "text"])
def test_v5_2_a_reply_over_budget_is_logged_with_both_sizes_and_the_reduction(served_by, recorded, form):
    options = ("--log-level", "info", "--log-format", form, "--tokenizer", "o200k")
    peer, said = served_by("--telemetry", str(recorded.path), *options)
    result = peer.call("list_bookings", count=500)
    lawful(result)
    served_by.stop()
    record = recorded.one()
    original, final = len(corpus.bookings().encode()), record["responseBytes"]
    assert (record["outcome"], record["originalBytes"]) == ("paginated", original)
    assert near(record["originalTokens"], tokens.count(corpus.bookings()), 0.2)
    reduction = round(1 - final / original, 3)
    [told] = [line for line in said().splitlines() if "list_bookings" in line and "paginated" in line]
    if form == "json":
        event = json.loads(told)
        assert (event["level"], event["endpoint"], event["outcome"]) == ("INFO", "list_bookings", "paginated")
        assert (event["original_bytes"], event["bytes"], event["reduction"]) == (original, final, reduction)
        assert (event["original_tokens"], event["request_id"]) == (record["originalTokens"], record["requestId"])
        assert event["arguments"] == "count"
    else:
        values = (original, final, reduction, record["originalTokens"], record["requestId"])
        assert "INFO" in told and all(f"{value}" in told for value in values)
    assert not [secret for secret in SECRETS if secret in said()], "no text of a payload is logged"


def test_v5_2_every_decision_is_logged(served_by, recorded):
    peer, said = served_by("--telemetry", str(recorded.path), "--log-level", "info", "--log-format", "json")
    page = lawful(peer.call("list_bookings"))
    peer.call("portion_read", cursor=page.meta["cursor"], fields="id,status")
    peer.call("portion_query", cursor=page.meta["cursor"], find="Lisboa")
    peer.call("portion_read", cursor="A" * 48)
    peer.call("read_text", name="manual")
    peer.call("list_bookings", count=1)
    served_by.stop()
    events = [json.loads(line) for line in said().splitlines() if line.startswith("{")]
    outcomes = {event["outcome"] for event in events if "outcome" in event}
    recorded_outcomes = {record["outcome"] for record in recorded.requests(6)}
    assert {"paginated", "queried", "refused"} <= recorded_outcomes
    assert outcomes >= recorded_outcomes - {"untouched"}
    assert any(event.get("error") == "cursor_invalid" for event in events)
    assert "Lisboa" not in said(), "arguments are named, their values are not told"


def test_v5_a_cursor_that_comes_too_late_is_recorded_with_what_it_came_from(served_by, recorded):
    options = ("--snapshot-memory", "1MiB", "--snapshot-disk", "off", "--log-level", "info", "--log-format", "json")
    peer, said = served_by("--telemetry", str(recorded.path), *options)
    cursor = lawful(peer.call("list_bookings")).meta["cursor"]
    for _ in range(8):
        peer.call("get_noise")
    assert Reply(peer.call("portion_read", cursor=cursor)).error["code"] == "cursor_expired"
    peer.call("list_bookings", cursor=cursor)
    peer.call("portion_query", cursor=cursor, find="Lisboa")
    peer.call("portion_read", cursor=cursor, limit=-1)
    peer.call("list_bookings", cursor=cursor, limit=-1)
    served_by.stop()
    first, *late = recorded.requests(6, "--endpoint", "list_bookings")
    assert [(record["outcome"], record["error"]) for record in late] == [
        *[("expired", "cursor_expired")] * 3,
        *[("refused", "limit_invalid")] * 2,
    ]
    assert first["origin"] and {record["origin"] for record in late} == {first["origin"]}
    assert all(record["followUp"] and record["kind"] == "tool" for record in late)
    events = [json.loads(line) for line in said().splitlines() if '"expired"' in line]
    assert [event["endpoint"] for event in events] == ["list_bookings"] * 3


def test_v5_errors_of_the_server_are_recorded_and_logged_as_such(served_by, recorded):
    options = ("--telemetry", str(recorded.path), "--log-level", "info", "--log-format", "json")
    peer, said = served_by(*options)
    assert peer.call("fail_briefly")["isError"] and peer.call("fail")["isError"]
    assert peer.read("fixture://nowhere")["error"]
    peer.call("list_bookings", count=1)
    served_by.stop()
    records = recorded.requests(4)
    assert [(record["endpoint"], record["outcome"], record["error"]) for record in records] == [
        ("fail_briefly", "untouched", "upstream"),
        ("fail", "chunked", "upstream"),
        ("fixture://nowhere", "untouched", "upstream"),
        ("list_bookings", "untouched", None),
    ]
    events = [json.loads(line) for line in said().splitlines() if line.startswith("{")]
    failed = [event["endpoint"] for event in events if event.get("error") == "upstream"]
    assert sorted(failed) == ["fail", "fail_briefly", "fixture://nowhere"]


class Failing(BaseHTTPRequestHandler):
    """A server over HTTP that lists a tool, and fails beneath MCP when that is called."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match asked["method"]:
            case "initialize":
                version = asked["params"]["protocolVersion"]
                info = {"name": "failing", "version": "1"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [{"name": "list_bookings", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                return self.say(500, "text/html", b"<h1>Internal Server Error</h1>")
            case _:
                return self.say(202, "text/plain", b"")
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
        return self.say(200, "application/json", json.dumps(answer).encode())

    def do_GET(self):
        self.say(405, "text/plain", b"")

    def say(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("by", ["wrap", "serve"])
def test_v5_a_server_that_fails_beneath_mcp_leaves_a_record(recorded, by):
    call = request(7, "tools/call", {"name": "list_bookings", "arguments": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        options = ("--telemetry", str(recorded.path), "--url", url)
        if by == "wrap":
            with Wire([PORTION, "wrap", *options]) as wire:
                wire.open()
                assert "error" in json.loads(wire.ask(call))
        else:
            with Listening(served("--admin", "off", *options)) as listening:
                headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                with pytest.raises(HTTPError) as failed:
                    urlopen(Request(listening.url, data=call, headers=headers), timeout=60)
                assert (failed.value.code, failed.value.read()) == (500, b"<h1>Internal Server Error</h1>")
        server.shutdown()
    record = recorded.one()
    assert (record["endpoint"], record["outcome"], record["error"]) == ("list_bookings", "untouched", "upstream")
    assert recorded.stats("--endpoint", "list_bookings")[0]["errors"] == 1


def test_v5_3_pages_are_counted_apart(served_by, recorded):
    peer, _ = served_by("--telemetry", str(recorded.path))
    first = lawful(peer.call("list_bookings"))
    pages = len(list(walk(peer, first)))
    log = lawful(peer.call("read_text", name="traced_log"))
    peer.call("portion_read", cursor=log.next)
    for _ in range(3):
        peer.call("list_bookings", count=1)
    served_by.stop()
    records = recorded.requests(pages + 5)
    paged = [record for record in records if record["paginationUsed"]]
    assert len(paged) == pages and {record["endpoint"] for record in paged} == {"list_bookings"}
    assert [record["followUp"] for record in paged] == [False] + [True] * (pages - 1)
    assert len({record["origin"] for record in paged}) == 1, "all of a walk go back to one payload"
    assert any(record["chunkingUsed"] for record in records), "chunks are counted, too"
    assert not any(record["paginationUsed"] and record["chunkingUsed"] for record in records)
    by_endpoint = {figures["endpoint"]: figures for figures in recorded.stats()}
    bookings = by_endpoint["list_bookings"]
    assert (bookings["paginated"], bookings["requests"], bookings["followUps"]) == (pages, pages + 3, pages - 1)
    assert by_endpoint["read_text"]["paginated"] == 0
    assert len(recorded.requests(pages, "--outcome", "paginated")) == pages


def test_v5_3_records_are_asked_for_by_endpoint_time_and_outcome(served_by, recorded):
    peer, _ = served_by("--telemetry", str(recorded.path))
    peer.call("list_bookings")
    peer.call("read_text", name="prose")
    served_by.stop()
    assert len(recorded.requests(2)) == 2
    assert recorded.one("--endpoint", "list_*")["endpoint"] == "list_bookings"
    assert recorded.one("--outcome", "paginated")["endpoint"] == "list_bookings"
    assert recorded.stats("--requests", "--until", "1h") == []
    assert len(recorded.stats("--requests", "--since", "1h")) == 2
    command = [PORTION, "stats", "--requests", "--telemetry", str(recorded.path), "--format", "csv"]
    csv = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert csv.splitlines()[0].startswith("requestId,timestamp,") and len(csv.splitlines()) == 3


def test_v5_no_content_is_in_the_file(served_by, recorded):
    peer, _ = served_by("--telemetry", str(recorded.path))
    first = lawful(peer.call("list_bookings"))
    peer.call("portion_query", cursor=first.meta["cursor"], find="Lisboa")
    served_by.stop()
    recorded.requests(2)
    with sqlite3.connect(recorded.path) as database:
        everything = "\n".join(database.iterdump())
    assert "list_bookings" in everything
    assert not [secret for secret in [*SECRETS, "Lisboa", first.next] if secret in everything]


def test_v5_processes_share_a_file_and_lose_nothing(recorded):
    def session(_):
        with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
            for count in range(1, 11):
                peer.call("list_bookings", count=count)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(session, range(4)))
    records = recorded.requests(40)
    assert len(records) == 40 and len({record["session"] for record in records}) == 4


@pytest.mark.parametrize("trouble", ["corrupt", "locked", "held", "no place", "a directory"])
def test_v5_trouble_with_the_file_fails_no_request(served_by, recorded, trouble):
    path = recorded.path
    path.parent.mkdir(parents=True)
    holder = None
    match trouble:
        case "corrupt":
            path.write_bytes(b"SQLite format 3\0" + b"garbage " * 4096)
        case "locked":
            holder = sqlite3.connect(path, isolation_level=None)
            holder.execute("CREATE TABLE mine (x)")
            holder.execute("BEGIN EXCLUSIVE")
        case "held":
            with Peer(wrapped(FIXTURE, "--telemetry", str(path))) as peer:
                peer.call("list_bookings")
            holder = sqlite3.connect(path, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
        case "no place":
            path.parent.rmdir()
            path.parent.write_text("in the way")
        case "a directory":
            path.mkdir()
    try:
        peer, said = served_by("--telemetry", str(path))
        for count in range(1, 31):
            result = peer.call("list_bookings", count=count)
            assert not result.get("isError")
        lawful(peer.call("list_bookings"))
        served_by.stop()
        assert re.search("telemetry", said()), "it is told"
        ends = [line for line in said().splitlines() if "telemetry ends" in line]
        if trouble == "corrupt":
            assert not ends, "a new file is begun"
        else:
            [line] = ends
            # Requests, and what was configured.
            assert "WARN" in line and "waiting=32" in line and str(path.parent) in line, "it is told once, with the file"
    finally:
        if holder:
            holder.close()


@pytest.mark.parametrize("kibibytes", [64, 160], ids=["from the start", "after a while"])
def test_v5_a_full_disk_fails_no_request(recorded, kibibytes):
    """No file can be larger: SQLite sees that as it sees a full disk."""
    recorded.path.parent.mkdir(parents=True)
    limited = ["bash", "-c", f'trap "" XFSZ; ulimit -f {kibibytes}; exec "$@"', "limited"]
    with Peer([*limited, *wrapped(FIXTURE, "--telemetry", str(recorded.path))]) as peer:
        for count in range(1, 151):
            assert not peer.call("list_bookings", count=count % 3 + 1).get("isError")
        lawful(peer.call("list_bookings"))
        until(lambda: "telemetry cannot be written" in peer.said(), "it is told", seconds=30, told=peer.said)


@pytest.mark.parametrize("damage", ["overwritten", "truncated", "removed"])
def test_v5_a_file_that_is_damaged_meanwhile_fails_no_request(recorded, damage):
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
        for count in range(1, 61):
            assert not peer.call("list_bookings", count=count % 3 + 1).get("isError")
            if count == 20:
                recorded.requests(1)
                match damage:
                    case "overwritten":
                        with recorded.path.open("r+b") as file:
                            file.write(b"garbage " * 2_048)
                    case "truncated":
                        os.truncate(recorded.path, 100)
                    case "removed":
                        recorded.path.unlink()
        lawful(peer.call("list_bookings"))


def test_v5_health_compares_counts_with_exact_ones_and_names_their_counter():
    admin = free_port()
    options = ("--admin", f"127.0.0.1:{admin}", "--accuracy-sample", "100")
    with Peer(wrapped(FIXTURE, *options)) as peer:
        peer.call("list_bookings")
        counted = until(lambda: (found := json.loads(asked(admin, "/health"))["estimates"])["sampled"] and found, "a sample")
    assert (counted["exactCounter"], counted["nearShare"]) == ("o200k", 1.0)
    assert counted["bias"] == pytest.approx(0.1, abs=0.02), "the margin for unknown clients"


def test_v5_health_says_while_telemetry_cannot_be_written_and_why(tmp_path):
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "telemetry.db"
    admin = free_port()
    with Peer(wrapped(FIXTURE, "--telemetry", str(path), "--admin", f"127.0.0.1:{admin}")) as peer:
        peer.call("list_bookings", count=2)

        def health():
            health = json.loads(asked(admin, "/health"))
            return health if health["telemetry"]["queue"] else None

        told = until(health, "a record that waits")
        assert told["status"] == "degraded"
        assert any("cannot be written" in why and str(path.parent) in why for why in told["reasons"])
        (tmp_path / "file").unlink()
        until(lambda: json.loads(asked(admin, "/health"))["status"] == "ok", "it is well again", seconds=30)


def asked_for(recorded, *options):
    """What `portion stats` prints, and what it says besides."""
    command = [PORTION, "stats", "--telemetry", str(recorded.path), "--format", "csv", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:], done.stderr


def test_v5_what_is_no_longer_kept_request_by_request_is_told(recorded):
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
        peer.call("list_bookings", count=2)
        [first] = recorded.requests(1)
    assert asked_for(recorded)[1] == "", "nothing is missing"
    rows, told = asked_for(recorded, "--until", "2001-01-01")
    assert not rows and re.search(r"no request matches; there are requests from 20\S+ \S+Z to 20", told)
    # As where older requests went by size: an hour of 2020 is added up.
    with sqlite3.connect(recorded.path) as records:
        [at] = records.execute("SELECT unixepoch('2020-01-01 10:00') * 1000000").fetchone()
        nothing = "0, 0, 0, 0, 0, 0, 0, 0.0, x'', x''"
        for grain, endpoint in ((1, 1), (3, 0)):
            sql = f"INSERT INTO rollups VALUES (?, ?, ?, 1394, 0, 0, 'paginated 1394', {nothing})"
            records.execute(sql, (grain, at, endpoint))
        records.execute("UPDATE rolled SET minutes = ?", (at + 3_600_000_000,))
    half = ("--since", "2020-01-01T10:00", "--until", "2020-01-01T10:30")
    rows, told = asked_for(recorded, *half)
    assert len(rows) == 1 and ",1394," in rows[0]
    assert "time range from 2020-01-01 10:00:00Z to 2020-01-01 11:00:00Z" in told
    rows, told = asked_for(recorded, *half, "--outcome", "paginated")
    assert not rows and "requests since 20" in told
    assert asked_for(recorded, "--since", first["timestamp"])[1] == "", "since then, all is kept"


def test_v5_a_copy_is_read_where_nothing_can_be_written(recorded):
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
        peer.call("list_bookings", count=2)
        recorded.requests(1)
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        copy, portion = place / "copy.db", place / "portion"
        with sqlite3.connect(recorded.path) as records:
            records.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(recorded.path, copy)
        shutil.copy(PORTION, portion)
        copy.chmod(0o444)
        place.chmod(0o555)
        # Nothing is denied to root.
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        command = [portion, "stats", "--telemetry", copy, "--requests", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **nobody)
        place.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 1


def test_calibrate_fails_where_nothing_is_of_use(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"hello": "world"}\n')
    done = subprocess.run([PORTION, "calibrate", str(log)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "1 unusable entry" in done.stdout
    assert "a request with the usage of its response" in done.stderr


@pytest.fixture
def unused(tmp_path):
    """A machine on which Portion has served nothing, with a server in the file of a client."""
    machine = Machine(tmp_path)
    machine.env = {name: value for name, value in machine.env.items() if not name.startswith(("PORTION_", "XDG_"))}
    servers = machine.home / ".cursor/mcp.json"
    servers.parent.mkdir()
    program, *arguments = FIXTURE
    servers.write_text(json.dumps({"mcpServers": {"fixture": {"command": program, "args": arguments}}}))
    (machine.project / "records.json").write_text(corpus.bookings())
    return machine


def test_commands_that_serve_nobody_leave_no_record(unused):
    def everything_recorded():
        return [path for path in unused.home.rglob("*") if "telemetry" in path.name]

    for command in (
        ["demo", "--json"],
        ["shape", "records.json"],
        ["try", "--tool", "list_bookings", "--", *FIXTURE],
        ["check", "--json", "--", *FIXTURE],
        ["doctor", "--json"],
        ["fetch", "--tool", "list_bookings", "--text-field", "notes", "--json", "--", *FIXTURE],
    ):
        said = unused.portion(*command)
        assert command[0] != "doctor" or "fixture (Cursor)" in said
        assert everything_recorded() == [], command
        assert "no telemetry in" in unused.portion("stats", code=1), command
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [request(0, "initialize", opening), request(1, "tools/call", {"name": "list_bookings", "arguments": {}})]
    subprocess.run(wrapped(FIXTURE), input=b"".join(line + b"\n" for line in lines), env=unused.env, capture_output=True, timeout=60)
    assert everything_recorded(), "what is served is recorded in the same place"

"""Whatever a server says, and whenever, obeys the law; questions never keep small calls waiting."""

import base64
import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

from harness.command import PORTION, RAW_FIXTURE, wrapped
from harness.listening import Listening, served
from harness.talk import ACCEPT, OverHttp
from harness.waiting import cpu_ticks, until
from harness.wire import Wire, request

ROWS = json.dumps([{"n": n, "name": f"row {n}", "password": "hunter2", "note": "x" * 80} for n in range(20_000)])
MOST = 80_000
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def said(number, *messages):
    """A call that the server answers by these messages, as they are."""
    return request(number, "tools/call", {"name": "say", "arguments": {"say": list(messages)}})


def result(number, json_text):
    return f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{json_text}}}'


@pytest.fixture
def wire():
    with Wire(wrapped(RAW_FIXTURE, "--redact", "secrets")) as wire:
        wire.open()
        yield wire


def lines_up_to_ping(wire):
    wire.send(request("ping", "ping", {}))
    *before, _ = wire.until(lambda message: message.get("id") == "ping" and "result" in message)
    return checked(before)


def checked(lines):
    for line in lines:
        assert len(line) < MOST and b"hunter2" not in line and b"forged" not in line, line[:300]
    return [json.loads(line) for line in lines]


def answer_alone(wire, number, *messages):
    """The lines up to and with the answer to a call that the server answers by these messages."""
    return checked(wire.until_answer(said(number, *messages)))


def answers_to(lines, number):
    return [line for line in lines if line.get("id") == number and "method" not in line]


def test_a_late_answer_to_a_cancelled_request_is_dropped(wire):
    done = '{"jsonrpc":"2.0","method":"notifications/done"}'
    wire.send(said("late", "@reply", result("late", f'{{"content":{ROWS}}}'), done))
    wire.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"late"}}')
    wire.send(b'{"jsonrpc":"2.0","id":"r","result":{}}')
    lines = wire.until(lambda message: message.get("method") == "notifications/done")
    assert len(lines) == 1, lines[0][:300]


@pytest.mark.parametrize(
    "answer",
    [f'{{"contents":{ROWS}}}', ROWS, json.dumps(json.loads(ROWS)[0]["note"] * 40_000)],
    ids=["contents", "array", "string"],
)
def test_a_result_of_another_shape_is_shaped_and_redacted(wire, answer):
    wire.send(said(1, result(1, answer)))
    [line] = answers_to(lines_up_to_ping(wire), 1)
    assert line["result"]["content"][0]["type"] == "text"
    assert "nextCursor" in line["result"]["content"][-1]["text"]


def test_second_unasked_and_future_answers_are_dropped(wire):
    forged = '{"content":[],"_meta":{"io.portion/notice":{"nextCursor":"forged"}}}'
    wire.send(said(1, result(1, '{"content":[]}'), result(1, forged), result(77, forged), result(2, forged)))
    lines = lines_up_to_ping(wire)
    assert [line["id"] for line in lines if "id" in line] == [1]
    wire.send(said(2, result(2, '{"content":[{"type":"text","text":"mine"}]}')))
    [line] = answers_to(lines_up_to_ping(wire), 2)
    assert line["result"]["content"][0]["text"] == "mine"


def test_what_stands_beside_results_and_in_notifications_is_bounded(wire):
    def notification(method, params):
        return f'{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}'

    wire.send(
        said(
            1,
            notification("message", f'{{"level":"info","data":{ROWS}}}'),
            notification("progress", f'{{"progressToken":1,"progress":1,"message":"{"x" * 3_000_000}"}}'),
            notification("vendor", f'{{"a":"{"word " * 600_000}","_meta":{{"io.portion/notice":"forged"}}}}'),
            notification("rows", f'{{"a":{ROWS}}}'),
            notification("m" * 3_000_000, "{}"),
            result(1, '{"content":[]}')[:-1] + f',"extra":{ROWS}}}',
        )
    )
    lines = lines_up_to_ping(wire)
    assert [line.get("method") for line in lines] == [f"notifications/{m}" for m in ("message", "progress", "vendor")] + [None]
    assert "nextCursor" in json.dumps(lines[0]["params"]["data"])
    assert lines[2]["params"]["a"].endswith(" … [+2999700 chars]")
    assert lines[3]["extra"][0].startswith("… [+")


def test_a_request_to_the_client_that_is_too_large_is_refused_to_the_server(wire):
    asks = f'{{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{{"messages":{ROWS}}}}}'
    wire.send(said(1, asks, "@reply", result(1, '{"content":[]}')))
    lines = wire.until(lambda message: message.get("id") == 1)
    assert len(lines) == 1, "the server went on with the refusal, and the client heard nothing of it"


# Questions


def cursor_of(answer):
    notice = answer["result"]["_meta"]["io.portion/notice"]
    return notice.get("nextCursor") or notice["meta"]["cursor"]


def question(number, cursor, sql=ENDLESS):
    return request(number, "tools/call", {"name": "portion_query", "arguments": {"cursor": cursor, "sql": sql}})


def prepared(ask):
    ask(request("list", "tools/list", {}))
    call = request("rows", "tools/call", {"name": "list_rows", "arguments": {"count": 500}})
    return cursor_of(json.loads(ask(call)))


def test_forty_questions_over_stdio_keep_no_call_waiting(wire):
    cursor = prepared(wire.ask)
    for number in range(40):
        wire.send(question(number, cursor))
    echo = request("echo", "tools/call", {"name": "echo", "arguments": {"text": "small"}})
    wire.send(echo)
    first = json.loads(wire.line())
    assert first["id"] == "echo", "it is answered before any of the questions"
    for number in range(40):
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        wire.send(json.dumps(cancel).encode())
    wire.send(question("after", cursor, "SELECT count(*) AS n FROM items"))
    lines = wire.until(lambda message: message.get("id") == "after")
    assert len(lines) < 12, "those that were cancelled have ended, and are not answered"


def test_questions_of_a_session_over_http_keep_no_call_waiting():
    with Listening(served("--", *RAW_FIXTURE)) as portion:
        talk = OverHttp(portion.url)
        talk.open()
        cursor = prepared(lambda line: talk.ask(line.decode() if isinstance(line, bytes) else line)[-1])
        order = []

        def ask(number, line):
            talk.ask(line.decode())
            order.append(number)

        heavy = [threading.Thread(target=ask, args=(n, question(n, cursor))) for n in range(4)]
        before = cpu_ticks(portion.process.pid)
        for thread in heavy:
            thread.start()
        until(lambda: cpu_ticks(portion.process.pid) > before + 20, "the questions are computed")
        ask("echo", request("echo", "tools/call", {"name": "echo", "arguments": {"text": "small"}}))
        for thread in heavy:
            thread.join()
        assert order[0] == "echo"


# HTTP in front of HTTP


@pytest.fixture(scope="module")
def proxied():
    with Listening([*RAW_FIXTURE, "--http"]) as server, Listening(served("--url", f"{server.url}/mcp")) as portion:
        yield portion.url


def exchange(url, method, order, body=None, headers=()):
    """What comes back where the server is ordered to answer so."""
    where = urlsplit(url)
    connection = http_connection(where)
    order = {"status": 200, "then": "end", **order}
    order["chunks"] = [base64.b64encode(chunk.encode()).decode() for chunk in order["chunks"]]
    fields = {
        "Accept": ACCEPT,
        "Content-Type": "application/json",
        "X-Say": base64.b64encode(json.dumps(order).encode()).decode(),
        **dict(headers),
    }
    connection.request(method, where.path, body, fields)
    return connection.getresponse().read().decode()


def http_connection(where):
    return http.client.HTTPConnection(where.hostname, where.port, timeout=60)


JSON = [["Content-Type", "application/json"]]
EVENTS = [["Content-Type", "text/event-stream"]]
CALL = '{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"say","arguments":{}}}'


def test_an_error_without_an_id_answers_the_only_request(proxied):
    error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'
    for headers, chunk in ((JSON, error), (EVENTS, f"data: {error}\n\n")):
        answer = exchange(proxied, "POST", {"headers": headers, "chunks": [chunk]}, CALL)
        answer = json.loads(answer.removeprefix("data: "))
        assert answer == {"jsonrpc": "2.0", "id": "c-1", "error": {"code": -32600, "message": "no"}}


def test_a_stream_that_ends_without_an_event_is_an_error_and_no_result(proxied):
    answer = exchange(proxied, "POST", {"headers": EVENTS, "chunks": [": nothing\n\n"]}, CALL)
    answer = json.loads(answer.split("data: ")[1])
    assert answer["id"] == "c-1" and "upstream_gone" in json.dumps(answer["error"]) and "result" not in answer


def test_an_answer_on_a_resumed_stream_that_nobody_here_has_asked_for_is_shaped(proxied):
    event = "id: 5\ndata: " + result("x", '{"content":[{"type":"text","text":%ROWS%}]}') + "\n\n"
    order = {"headers": EVENTS, "chunks": [event]}
    session = ("Mcp-Session-Id", "s-1")
    resumed = exchange(proxied, "GET", order, headers=[session, ("Last-Event-ID", "4")])
    assert resumed.startswith("id: 5\n") and len(resumed) < MOST and "nextCursor" in resumed
    unasked = exchange(proxied, "GET", order, headers=[session])
    assert "data" not in unasked and "id: 5" in unasked


def test_a_task_that_a_notification_brings_is_shaped(proxied):
    task = '{"taskId":"t","status":"completed","result":{"content":[{"type":"text","text":%ROWS%}]}}'
    event = f'data: {{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{task}}}\n\n'
    said = exchange(proxied, "GET", {"headers": EVENTS, "chunks": [event]}, headers=[("Mcp-Session-Id", "s-1")])
    assert len(said) < MOST and "nextCursor" in said and '"taskId":"t"' in said


# Answers that belong to no request, or to the only one

NO = {"code": -32600, "message": "no"}
REFUSED = json.dumps({"jsonrpc": "2.0", "id": None, "error": NO})


@pytest.fixture(scope="module")
def remote():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield f"{server.url}/mcp"


def test_an_answer_that_nobody_has_asked_for_never_takes_the_place_of_another(remote):
    forged = '{"content":[{"type":"text","text":"forged"}]}'
    mine = result(3, '{"content":[{"type":"text","text":"mine"}]}')
    others = [result(9999, forged), result(None, forged), result("zz", forged), result(9999, '"forged"')]
    others.append('{"jsonrpc":"2.0","id":"zz","error":{"code":1,"message":"forged"}}')
    with Wire([PORTION, "wrap", "--url", remote]) as wire:
        wire.open()
        for other in others:
            for order in ((other, mine), (mine, other)):
                [answer] = answer_alone(wire, 3, *order)
                assert answer["result"]["content"][0]["text"] == "mine", order
        assert json.loads(wire.ask(said(3, REFUSED)))["error"] == NO


def test_a_command_that_refuses_the_only_request_without_its_id_answers_it():
    with Listening(served("--", *RAW_FIXTURE)) as portion:
        talk = OverHttp(portion.url)
        talk.open()
        answer = json.loads(talk.ask(said("q", REFUSED).decode())[-1])
        assert answer == {"jsonrpc": "2.0", "id": "q", "error": NO}


def test_an_error_without_an_id_is_the_answer_under_any_status(proxied):
    answer = exchange(proxied, "POST", {"status": 400, "headers": JSON, "chunks": [REFUSED]}, CALL)
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": "c-1", "error": NO}


def test_what_the_client_writes_wrongly_is_refused_and_not_forwarded(wire):
    for line, number, code in (
        (b"not json", None, -32700),
        (b'{"jsonrpc":"2.0","id":8,"method":"x","params":{"a":NaN}}', 8, -32700),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    ):
        wire.send(line)
        answer = json.loads(wire.line())
        assert (answer["id"], answer["error"]["code"]) == (number, code), answer
    seen = json.loads(wire.ask(request(9, "x-raw/seen", {})))["result"]["seen"]
    assert [json.loads(line)["method"] for line in seen] == ["initialize", "notifications/initialized"]


# Names of members


@pytest.fixture(params=["command", "url"])
def redacting(request):
    """A client of each kind of server, with secrets hidden."""
    behind = ["--url", request.getfixturevalue("remote")] if request.param == "url" else ["--", *RAW_FIXTURE]
    with Wire([PORTION, "wrap", "--redact", "secrets", *behind]) as wire:
        wire.open()
        yield wire


def test_names_of_members_count_and_are_redacted_like_values(redacting):
    names = ["password=hunter2 " * 100_000, "k" * 1_000_000]
    texts = ['{"content":[{"type":"text","text":"x"}],%s}', '{"content":[{"type":"text","text":"x",%s}]}']
    members = [f'"{name}":1' for name in names] + [",".join(f'"k{n:06}{"z" * 70}":1' for n in range(900))]
    for number, member in enumerate(members):
        for at, text in enumerate(texts):
            [line] = answer_alone(redacting, f"{number}-{at}", result(f"{number}-{at}", text % member))
            notice = line["result"]["_meta"]["io.portion/notice"]
            assert "otherMembers" in json.dumps(notice["meta"]), notice
        [line] = answer_alone(redacting, "e", f'{{"jsonrpc":"2.0","id":"e","error":{{"code":1,"message":"m",{member}}}}}')
        assert line["error"]["code"] == 1


def test_only_the_data_of_an_image_may_be_large(redacting):
    image = '"type":"image","data":"AAAA","mimeType":"image/png"'
    for number, member in enumerate((f'"text":"{"word " * 400_000}"', f'"caption":{ROWS}', f'"_meta":{{"a":{ROWS}}}')):
        [line] = answer_alone(redacting, number, result(number, f'{{"content":[{{{image},{member}}}]}}'))
        assert line["result"]["content"][0] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        assert "/content/0/" in json.dumps(line["result"]["_meta"]["io.portion/notice"])

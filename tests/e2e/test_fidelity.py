"""What is not reshaped passes in the bytes it came in, both ways, whatever it is and whatever lies between."""

import itertools
import json
import re

import pytest

from fixture import corpus
from fixture.raw import TOOLS
from harness.command import RAW_FIXTURE
from harness.pairing import FRONTS, Listening, pairing
from harness.reply import lawful
from harness.talk import talk

UPSTREAMS = ["child", "http", "json", "sse"]
PATHS = {"http": "/mcp", "json": "/json/mcp", "sse": "/sse"}
IDS = ['"a\\u0062/1"', "0", "-7", "12345678901234567890123", '""', '"\\ud83d\\ude00"', '"1"', "1"]

SMALL = (
    '{"x-first":[1.50,1e400],"content":[{"type":"text","text":"\\u0061 \\/","annotations":{"priority":0.50},"x":1},'
    '{"type":"x-vendor","data":{"b":1,"a":2}},{"type":"resource_link","uri":"x:\\/y","name":"n","size":1.0}],'
    '"structuredContent":{"z":1.10,"a":12345678901234567890,"a":2},"isError":false,"_meta":{"vendor/k":[1.0]}}'
)
QUESTION = (
    '{"resultType":"input_required","requestState":"%s",'
    '"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"%s"}}}}'
)
TASK = '{"task":{"taskId":"t-\\u0031","status":"working","ttl":60000.0,"pollInterval":5e3,"x":1.0},"_meta":{"v":[]}}'
MANY = ",".join(f'{{"uri":"x:{n}","name":"n{n}","x-n":{n}.50}}' for n in range(3000))
RESULTS = {
    "x-vendor/unknown": '{"any":[1.50,1e400,"\\ud800"],"x":{},"deep":[[[{"k":null}]]]}',
    "completion/complete": '{"completion":{"values":["a"],"total":1.0},"x":1.50}',
    "logging/setLevel": '{"x":1.50}',
    "prompts/get": '{"messages":[{"role":"user","content":{"type":"text","text":"\\u0061"},"x":1.50}],"x":1.0}',
    "prompts/list": '{"prompts":[{"name":"p","x":1.50}],"ttlMs":1.0,"cacheScope":"private"}',
    "resources/list": '{"resources":[' + MANY + '],"ttlMs":5e3}',
    "resources/read": '{"contents":[{"uri":"x:y","text":"\\u0061","x":1.0},{"uri":"x:z","blob":"AAAA"}],"ttlMs":1.0}',
    "resources/subscribe": '{"x":1.50}',
    "subscriptions/listen": '{"x":1.50}',
    "tasks/get": '{"taskId":"t","status":"completed","x":1.50}',
    "tasks/list": '{"tasks":[{"taskId":"t","x":1.50}]}',
    "tasks/result": SMALL,
    "tasks/update": '{"x":1.50}',
}
CALLED = {
    "a small result": SMALL,
    "a small result that says it is complete": '{"resultType":"complete",' + SMALL[1:],
    "a question": QUESTION % ("AAAA", "who?"),
    "a question larger than any budget": QUESTION % ("B" * 200_000, "who? " * 20_000),
    "a task": TASK,
    "a task as an extension": '{"resultType":"task",' + TASK[1:],
    "an error of the tool": '{"isError":true,"content":[{"type":"text","text":"no\\u0021"}],"x":1.50}',
}
NOTES = [
    '{"x":1.50,"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0,"progressToken":"p\\u0061"}}',
    '{"method":"notifications/message","params":{"data":{"n":1e400},"level":"info"},"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","method":"notifications/x-vendor","params":[1.50,{"b":1,"a":2,"a":3}]}',
    '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:\\/y","x":1.0}}',
]
ASKED = {
    "sampling/createMessage": '{"messages":[{"role":"user","content":{"type":"text","text":"\\u0061"}}],"maxTokens":9}',
    "elicitation/create": '{"message":"who\\u003f","requestedSchema":{"type":"object","x":1.50}}',
    "roots/list": '{"_meta":{"x":1.50}}',
    "ping": '{"x":1.50}',
    "x-vendor/ask": '[1.50,"\\/"]',
}


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module", params=list(itertools.product(FRONTS, UPSTREAMS)), ids=" to ".join)
def target(request, server):
    front, kind = request.param
    behind = ["--", *RAW_FIXTURE] if kind == "child" else ["--url", server.url + PATHS[kind]]
    with pairing(front, *behind) as target:
        yield {**target, "one message an answer": kind == "json"}


@pytest.fixture(scope="module")
def open_talk(target):
    with talk(target) as session:
        session.open()
        session.ask(request("1", "tools/list", "{}"))
        session.seen()
        session.alone = target["one message an answer"]
        yield session


def request(number, method, parameters):
    return f'{{"x-v":{{"n":1.50}},"params":{parameters},"method":"{method}","id":{number},"jsonrpc":"2.0"}}'


def answer(number, result):
    return f'{{"result":{result},"x-top":[1.0],"id":{number},"jsonrpc":"2.0"}}'


def saying(number, method, *messages):
    """A request that is answered with the last of `messages`, after the others."""
    say = json.dumps(messages)
    if method == "tools/call":
        return request(number, method, f'{{"x":1e2,"arguments":{{"n":1.50,"say":{say}}},"name":"s\\u0061y"}}')
    return request(number, method, f'{{"x":1e2,"say":{say},"_meta":{{"progressToken":"p\\u0061","v":[1.0]}}}}')


def check(session, line, *messages):
    """`line` reaches the server as it is, and `messages` are what comes back."""
    assert session.ask(line) == list(messages)
    assert session.seen() == [line]


@pytest.mark.parametrize("number", IDS)
def test_ids_keep_their_spelling(open_talk, number):
    for method in ("x-vendor/unknown", "tools/call"):
        told = answer(number, SMALL)
        check(open_talk, saying(number, method, told), told)


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get", "x-vendor/unknown"])
def test_a_place_in_a_trace_is_the_clients_as_long_as_no_trace_is_exported(open_talk, method):
    told = answer("9", SMALL)
    place = '"traceparent" : "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1"'
    says = f'"name":"say","uri":"x:y","say":{json.dumps([told])}'
    check(open_talk, request("9", method, f'{{"_meta":{{{place}}},{says},"arguments":{{}}}}'), told)


@pytest.mark.parametrize("method", RESULTS)
def test_results_of_every_method(open_talk, method):
    told = answer("5", RESULTS[method])
    check(open_talk, saying("5", method, told), told)


@pytest.mark.parametrize("kind", CALLED)
def test_results_of_calls_that_are_not_reshaped(open_talk, kind):
    told = answer('"c\\u0031"', CALLED[kind])
    check(open_talk, saying('"c\\u0031"', "tools/call", told), told)


def test_errors_keep_their_data(open_talk):
    error = '{"data":{"n":1.50,"b":1,"a":[1e400]},"message":"\\u006eo","code":-32000,"x":1}'
    told = f'{{"error":{error},"id":6,"jsonrpc":"2.0"}}'
    for method in ("x-vendor/unknown", "tools/call", "resources/read", "tools/list"):
        check(open_talk, saying("6", method, told), told)


def test_tools_are_listed_in_their_own_bytes(open_talk):
    (told,) = open_talk.ask(request("7", "tools/list", '{"x":1.50}'))
    assert open_talk.seen() == [request("7", "tools/list", '{"x":1.50}')]
    # Our controls and our tools are added to it, and nothing else.
    ours = re.compile(r',?"properties":\{"query":\{"type":"string"\}\}|(?:,"(?:limit|cursor|fields|query)":\{"type":"[a-z]+"\})+')
    listed, added = told.split(',{"name":"portion_read"')
    assert ours.sub("", listed) + added[added.index('],"ttlMs"') :] == '{"jsonrpc":"2.0","id":7,"result":' + TOOLS + "}"
    assert '"name":"portion_query"' in added


def test_notifications_of_the_server_keep_their_order(open_talk):
    if open_talk.alone:
        pytest.skip("a JSON answer is one message")
    told = answer("8", SMALL)
    check(open_talk, saying("8", "tools/call", *NOTES, told), *NOTES, told)
    check(open_talk, saying("8", "subscriptions/listen", *NOTES, told), *NOTES, told)


def test_what_belongs_to_no_request_comes_on_its_own_stream(open_talk):
    with open_talk.listening() as next_message:
        line = request("9", "x-raw/push", json.dumps({"messages": NOTES}))
        came = open_talk.ask(line)
        while len(came) <= len(NOTES):
            came.append(next_message())
    assert [message for message in came if message in NOTES] == NOTES
    assert open_talk.seen() == [line]


def test_notifications_of_the_client(open_talk):
    lines = [
        '{"jsonrpc":"2.0","x-v":1.50,"method":"notifications/roots/list_changed"}',
        '{"params":{"requestId":"no\\u0021such","x":1.0},"method":"notifications/cancelled","jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","method":"notifications/x-vendor","params":[1.50,{"b":1,"a":2,"a":3}]}',
    ]
    for line in lines:
        open_talk.tell(line)
    assert open_talk.seen() == lines


@pytest.mark.parametrize("method", ASKED)
def test_requests_of_the_server_and_their_answers(open_talk, method):
    if open_talk.alone:
        pytest.skip("a JSON answer is one message")
    for number in ('"s\\u0031"', "10", "98765432109876543210"):
        asked, told = request(number, method, ASKED[method]), answer("10", SMALL)
        reply = answer(number, '{"role":"assistant","content":{"type":"text","text":"\\u0062","x":1.50}}')
        refusal = f'{{"error":{{"code":-1,"message":"\\u006eo","data":{{"x":1.50}}}},"id":{number},"jsonrpc":"2.0"}}'
        for back in (reply, refusal):
            line = saying("10", "tools/call", asked, "@reply", told)
            came = []
            for message in open_talk.asking(line):
                came.append(message)
                if message == asked:
                    open_talk.tell(back)
            assert came == [asked, told]
            assert open_talk.seen() == [line, back]


def test_a_big_result_among_odd_messages_is_reshaped_and_they_are_not(open_talk):
    if open_talk.alone:
        pytest.skip("a JSON answer is one message")
    result = json.dumps({"x-early": 1.5, "content": [{"type": "text", "text": corpus.bookings(), "x": 1}], "x": "late"})
    *before, last = open_talk.ask(saying("11", "tools/call", *NOTES, answer("11", result)))
    assert before == NOTES
    message = json.loads(last)
    assert (message["id"], message["x-top"], message["result"]["x"]) == (11, [1.0], "late")
    assert lawful(message["result"]).next


def test_batches_of_2025_03_26(target):
    with talk(target) as session:
        session.open("2025-03-26")
        session.ask(request("1", "tools/list", "{}"))
        session.seen()
        line = "[" + ", ".join([request("1", "x-a", "[]"), request('"a"', "ping", "{}"), NOTES[2]]) + " ]"
        (came,) = session.ask(line)
        assert session.seen() == [line]
        error = '{"code":-32601,"message":"method not found","data":{"x":1.50}}'
        assert came == f'[{{"jsonrpc":"2.0","id":1,"error":{error}}}, {{"jsonrpc":"2.0","id":"a","result":{{}}}}]'
        notes = f"[{NOTES[0]}, {NOTES[2]}]"
        session.tell(notes)
        assert session.seen() == [notes]

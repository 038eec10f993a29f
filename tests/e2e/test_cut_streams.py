"""A server's stream of events breaks off after each of its bytes: every request is answered once, with the result or an error."""

import json

import pytest

from harness.event_server import event_server
from harness.pairing import FRONTS, pairing
from harness.talk import talk

TEXT = "ten nights, ünpaid"
KINDS = ["one event", "comments and ids", "data in two lines", "line ends of Windows"]


def stream(kind, number):
    result = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": TEXT}]}}
    message = json.dumps(result, ensure_ascii=False)
    text = {
        "one event": f"data: {message}\n\n",
        "comments and ids": f": hello\n\nevent: message\ndata: {message}\n\n: bye\n\n",
        "data in two lines": f"data: {message[:17]}\ndata: {message[17:]}\n\n",
        "line ends of Windows": f"event: message\r\ndata: {message}\r\n\r\n",
    }[kind]
    return text.encode()


@pytest.fixture(scope="module")
def cutting():
    """The URL of a server that answers with the first `at` bytes of a stream and ends the connection, and the ids of its calls."""
    calls = []

    def cut(number, arguments):
        calls.append(number)
        return stream(arguments["kind"], number)[: arguments["at"]]

    with event_server("cut", cut) as url:
        yield url, calls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("front", FRONTS)
def test_each_request_is_answered_once(cutting, front, kind):
    url, calls = cutting
    calls.clear()
    with pairing(front, "--url", url) as target, talk(target) as session:
        session.open()
        whole = len(stream(kind, 100))
        results = 0
        for at in range(whole + 1):
            number = 100 + at
            call = {"name": "cut", "arguments": {"kind": kind, "at": at}}
            line = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            answers = [json.loads(message) for message in session.ask(json.dumps(line))]
            (answer,) = [answer for answer in answers if "method" not in answer]
            assert answer["id"] == number, (at, answer)
            if "result" in answer and not answer["result"].get("isError"):
                assert answer["result"]["content"] == [{"type": "text", "text": TEXT}], (at, answer)
                results += 1
            else:
                assert at < whole, (at, answer)
        assert results, "the whole stream has a result"
        # No call is repeated, because each may have acted.
        assert len(calls) == whole + 1

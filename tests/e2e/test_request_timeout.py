"""A server that never answers does not make a client wait for ever; one that reports progress may take its time."""

import json
import time
from contextlib import contextmanager

import pytest

from harness.command import PORTION, RAW_FIXTURE, wrapped
from harness.listening import Listening, served
from harness.talk import OverHttp, OverStdio
from harness.waiting import until
from harness.wire import Wire

FRONTS = ["wrap command", "wrap url", "serve command", "serve url"]
REPLY = '{"jsonrpc":"2.0","id":"r","result":{}}'
# Far longer than a pause between two reports of progress, even on a busy machine.
LONG, PAUSE, REPORTS = "4s", 0.5, 12


@contextmanager
def front(name, timeout):
    option = ["--request-timeout", timeout]
    if name == "wrap command":
        with Wire(wrapped(RAW_FIXTURE, *option)) as wire:
            yield opened(OverStdio(wire))
    elif name == "serve command":
        with Listening(served(*option, "--", *RAW_FIXTURE)) as portion:
            yield opened(OverHttp(portion.url))
    else:
        with Listening([*RAW_FIXTURE, "--http"]) as server:
            url = f"{server.url}/mcp"
            if name == "wrap url":
                with Wire([PORTION, "wrap", *option, "--url", url]) as wire:
                    yield opened(OverStdio(wire))
            else:
                with Listening(served(*option, "--url", url)) as portion:
                    yield opened(OverHttp(portion.url))


def opened(talk):
    talk.open()
    return talk


def asks(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def saying(number, *messages, **params):
    """A call that the server answers by these messages."""
    return asks(number, "tools/call", name="say", arguments={"say": list(messages)}, **params)


def result(number, text):
    content = [{"type": "text", "text": text}]
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": content}})


def answer(talk, line):
    return json.loads(talk.ask(line)[-1])


def cancelled(talk, ids):
    """Waits until the server has been told that these requests are cancelled."""
    seen = set()

    def are_cancelled():
        received = [json.loads(line) for line in talk.seen()]
        seen.update(each["params"]["requestId"] for each in received if each.get("method") == "notifications/cancelled")
        return seen.issuperset(ids)

    until(are_cancelled, f"the server is told that {ids} are cancelled", seconds=60, told=lambda: seen)


@pytest.mark.parametrize("name", FRONTS)
def test_a_silent_server_is_an_error_and_its_late_answer_is_dropped(name):
    with front(name, "6s") as talk:
        # One that says nothing at all, one that begins to say something, and one that is no tool.
        called = answer(talk, saying(1, "@reply", result(1, "late")))
        held = answer(talk, asks(2, "tools/call", name="hold", arguments={}))
        other = answer(talk, asks(3, "prompts/list", say=["@reply"]))
        for each in (called, held):
            text = each["result"]["content"][0]["text"]
            assert each["result"]["isError"] is True and "upstream_timeout" in text, each
            assert "within 6 s" in text and "may have acted" in text, text
        assert other["error"]["data"]["error"]["code"] == "upstream_timeout", other
        cancelled(talk, [1, 2, 3])
        talk.tell(REPLY)
        came = talk.ask(asks("ping", "ping"))
        assert [json.loads(line).get("id") for line in came if '"id"' in line] == ["ping"], came


@pytest.mark.parametrize("name", FRONTS)
def test_a_server_that_reports_progress_is_waited_for(name):
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}'
    messages = [part for _ in range(REPORTS) for part in (progress, "@reply")]
    with front(name, LONG) as talk:
        reports, began = 0, time.monotonic()
        for line in talk.asking(saying(1, *messages, result(1, "done"), _meta={"progressToken": "p"})):
            last = json.loads(line)
            if last.get("method") == "notifications/progress":
                reports += 1
                time.sleep(PAUSE)
                talk.tell(REPLY)
        assert last["result"]["content"][0]["text"] == "done" and reports == REPORTS, last
        assert time.monotonic() - began > float(LONG[:-1]), "it took longer than the timeout"


@pytest.mark.parametrize("name", FRONTS)
def test_no_time_runs_out_while_the_client_is_asked(name):
    question = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}'
    with front(name, "8s") as talk:
        for line in talk.asking(saying(1, question, "@reply", result(1, "done"))):
            last = json.loads(line)
            if last.get("method") == "elicitation/create":
                time.sleep(10)
                talk.tell('{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}')
        assert last["result"]["content"][0]["text"] == "done", last


@pytest.mark.parametrize("name", FRONTS)
def test_a_question_without_an_answer_pauses_only_the_call_that_it_came_with(name):
    question = '{"jsonrpc":"2.0","id":"q","method":"roots/list"}'
    with front(name, "6s") as talk:
        assert answer(talk, saying(1, question, result(1, "done")))["result"]["content"][0]["text"] == "done"
        held = answer(talk, asks(2, "tools/call", name="hold", arguments={}))
        assert "upstream_timeout" in held["result"]["content"][0]["text"], held

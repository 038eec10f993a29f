"""`tests/questions/run.py` asks a model: here a stand-in, which puts the query of each question in its first call."""

import json
import os
import re
import subprocess
import sys

import pytest

from harness.chat_stand_in import ChatStandIn
from harness.command import PORTION, REPOSITORY

FOLDER = REPOSITORY / "tests/questions"
sys.path.insert(0, str(FOLDER))

import run as runner  # noqa: E402
from questions import KINDS, QUESTIONS  # noqa: E402


class Scripted(ChatStandIn):
    """A model that knows the query of each question, and says the values of the reply."""

    def __init__(self, wrong=(), accepts=10**9):
        super().__init__(None, None)
        self.wrong, self.accepts = wrong, accepts

    def answer(self, body, *_):
        self.accepts -= 1
        self.status = 200 if self.accepts >= 0 else 400
        is_messages = "system" in body
        contents = [message["content"] for message in body["messages"] if message["role"] != "system"]
        asked, last = contents[0], contents[-1]
        question = next(question for question in KINDS if asked.startswith(question.text))
        if last == asked:
            ask = dict(question.ask)
            query = ask.pop("sql", None) or ask.pop("find")
            return called({"name": question.document, "query": query, **ask}, is_messages)
        shown = last[0]["content"] if is_messages else last
        return said("0" if question.document in self.wrong else spoken(shown), is_messages)


def spoken(shown):
    """The values in the rows of a reply."""
    rows = json.loads(shown.splitlines()[0])
    values = [value for row in rows for value in (row.get("item") or row).values()]
    return "It is so.\nAnswer: " + ", ".join(map(str, values))


def called(arguments, is_messages):
    if is_messages:
        return {"content": [{"type": "tool_use", "id": "1", "name": "get_document", "input": arguments}]}
    function = {"name": "get_document", "arguments": json.dumps(arguments)}
    call = {"id": "1", "type": "function", "function": function}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


def said(text, is_messages):
    if is_messages:
        return {"content": [{"type": "text", "text": text}]}
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def run(model, *options, api="openai"):
    env = os.environ | {"QUESTIONS_MODEL": "m", "QUESTIONS_URL": model.url, "QUESTIONS_API": api, "PORTION_BIN": PORTION}
    command = [sys.executable, str(FOLDER / "run.py"), "--kinds", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    figures = re.search(r"(\d+) questions: ([\d.]+)% right, ([\d,]+) tokens, ([\d.]+) calls, ([\d,]+) tokens all in", done.stdout)
    return done.stdout, [float(figure.replace(",", "")) for figure in figures.groups()]


def test_all_questions_about_other_notations_are_answered_in_one_call():
    assert len(KINDS) >= 30
    with Scripted() as model:
        table, (questions, right, tokens, calls, all_in) = run(model)
    assert (questions, right, calls) == (len(KINDS), 100.0, 1.0), table
    # Two turns, each with the list of tools, and the reply in the second.
    assert 20 < tokens < 120 and all_in > 2 * 250 + tokens, table


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_wrong_answer_counts_as_wrong(api):
    with Scripted(wrong=["loans"]) as model:
        table, (questions, right, *_) = run(model, "--only", "loan", api=api)
        assert (questions, right) == (4, 0.0), table
    with Scripted() as model:
        table, (questions, right, *_) = run(model, "--only", "loan", api=api)
        assert (questions, right) == (4, 100.0), table


def test_a_refused_request_counts_as_wrong():
    with Scripted(accepts=1) as model:
        table, (questions, right, *_) = run(model, "--only", "loan 31123")
    assert (questions, right) == (1, 0.0) and ": 400: " in table


def test_a_refused_first_request_ends_the_run():
    with Scripted(accepts=0) as model, pytest.raises(AssertionError, match=": 400: "):
        run(model, "--only", "loan 31123")


def test_each_question_has_an_answer_that_is_told_from_others(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PORTION", PORTION)
    records = runner.known(tmp_path)
    for question in QUESTIONS:
        wanted = question.answer(records)
        told = ", ".join(map(str, runner.values(wanted)))
        assert told and runner.is_right(f"It is so.\nAnswer: {told}", wanted), question.text
        assert not runner.is_right("Answer: 0.5, nothing", wanted), question.text

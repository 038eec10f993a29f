"""A set of realistic questions that can be replayed: what an answer costs a model in tokens and calls.

Each question is asked as a model asks it. What SQL or a search answers is asked in the first call, with the last part of a nested name
in place of the name, because nobody has seen the columns yet; if that is wrong, the error has the names, and a second call asks again. Otherwise a
model reads the first reply, and sends one follow-up if that does not hold the answer. Of two results that are joined, the first call gets the
cursor of one, and the second joins it. The expected answers are computed from the whole documents, without
Portion. The schools and the log are real and in the public domain (`portion demo-server`); the others are generated.

The table is printed with `-s`, or on failure.
"""

import csv
import io
import json
import math
import re
from statistics import mean

import pytest

from fixture import library
from harness import tokens
from harness.command import CLIENT_BIN, E2E, PORTION, wrapped
from harness.dense import expanded
from harness.peer import Peer
from harness.reply import Reply
from question_set import QUESTIONS

# Where the demo's server has its documents.
DEMO = {"schools": "search_schools", "bookings": "search_bookings", "log": "read_log"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    library.write_documents(folder)
    with Peer([PORTION, "demo-server"]) as demo:
        for name, tool in DEMO.items():
            (folder / name).write_text(Reply(demo.call(tool)).text)
    return folder


@pytest.fixture(scope="module")
def documents(folder):
    def parsed(name):
        text = (folder / name).read_text()
        match name:
            case "log":
                return text
            case "listings" | "transactions":
                return list(csv.DictReader(io.StringIO(text)))
            case "events":
                return [json.loads(line) for line in text.splitlines()]
            case "pods":
                return json.loads(text)["items"]
            case "incidents":
                return json.loads(text)
        return json.loads(text)[name]

    return {name: parsed(name) for name in (*library.GENERATED, *DEMO)}


class Session:
    """One question, with the tokens of its replies."""

    def __init__(self, peer):
        self.peer, self.costs = peer, []

    def call(self, tool, **arguments):
        reply = Reply(self.peer.call(tool, **arguments))
        self.costs.append(sum(map(tokens.count, reply.all_texts)))
        return reply

    def answer(self, question):
        main, _, other = question.document.partition("+")
        ask = dict(question.ask or {})
        query = ask.pop("sql", None) or ask.pop("find", None)
        if query is None:
            reply = self.call("get_document", name=main)
            return self.call("portion_read", cursor=reply.meta["cursor"], **ask) if ask else reply
        if other:
            ask["with"] = {"other": self.call("get_document", name=other, query="DESCRIBE items").meta["originalCursor"]}
        guess = query if other else guessed(query)
        reply = self.call("get_document", name=main, query=guess, **ask)
        if guess != query and (reply.result.get("isError") or reply.text == "[]"):
            cursor = reply.error["cursor"] if reply.result.get("isError") else reply.meta["originalCursor"]
            reply = self.call("portion_query", cursor=cursor, query=query, **ask)
        return reply


def guessed(query):
    """A statement as a model writes it that knows the words of the question, and not how names are nested."""
    if not re.match(r"(?i)select|with", query):
        return query
    texts = re.compile(r"('[^']*')")
    return "".join(part if part.startswith("'") else re.sub(r'"?\b(?!items|other)(?:[a-z_]\w+\.)+(\w+)\b"?', r"\1", part) for part in texts.split(query))


def rows_of(reply):
    value = json.loads(reply.text)
    return list(expanded(value)) if isinstance(value, dict) and "rows" in value else value


def is_equal(given, wanted):
    if isinstance(given, float) or isinstance(wanted, float):
        return math.isclose(given, wanted, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(given, list):
        return len(given) == len(wanted) and all(map(is_equal, given, wanted))
    if isinstance(given, dict):
        given = flat(given)
        wanted = flat(wanted)
        # A table has constant columns apart, so the order of columns is not kept.
        return set(given) == set(wanted) and all(is_equal(given[name], wanted[name]) for name in wanted)
    return given == wanted


def flat(row):
    """Members of a record by the last parts of their names, by which a statement may ask for them."""
    found = {}
    for name, value in row.items():
        found |= flat(value) if isinstance(value, dict) else {name.rpartition(".")[2]: value}
    return found


def failure(question, reply, documents):
    """What is wrong with an answer; None if it is right."""
    wanted = question.answer(documents)
    everything = " ".join(reply.all_texts)
    if reply.result.get("isError"):
        return everything
    if question.ask is None or not all(isinstance(row, dict) for row in wanted):
        missing = [part for part in wanted if part not in everything]
        return f"lacks {missing}: {everything[:600]}" if missing else None
    return None if is_equal(rows_of(reply), wanted) else f"{reply.text[:600]}\n  expected {wanted}"


@pytest.mark.parametrize(
    ("profile", "most_tokens"),
    [("lean", 450), ("default", 560)],
)
def test_questions_are_answered_at_little_cost(folder, documents, profile, most_tokens):
    assert len(QUESTIONS) >= 40
    server = [str(CLIENT_BIN / "python"), str(E2E / "fixture/library.py"), str(folder)]
    options = ["--lean"] if profile == "lean" else []
    lines, failures, costs, calls = [], [], [], []
    with Peer(wrapped(server, *options)) as peer:
        for question in QUESTIONS:
            session = Session(peer)
            reply = session.answer(question)
            if wrong := failure(question, reply, documents):
                failures.append(f"{question.document}: {question.text}\n  {question.ask}\n  {wrong}")
            costs.append(sum(session.costs))
            calls.append(len(session.costs))
            lines.append(f"{costs[-1]:7,} {calls[-1]:5}  {question.document}: {question.text}")
    print(f"\n{profile}\n tokens calls\n" + "\n".join(lines))
    print(f"{mean(costs):7,.0f} {mean(calls):5.2f}  mean of {len(QUESTIONS)} questions")
    assert not failures, "\n".join(failures)
    assert mean(costs) <= most_tokens and mean(calls) <= 1.6

#!/usr/bin/env python3
"""Asks a model the questions of this folder through Portion, and prints what the answers cost. README.md says how."""

import argparse
import csv
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path

import documents
import questions
from fixture import library

REPOSITORY = Path(__file__).resolve().parents[2]
PORTION = os.environ.get("PORTION_BIN", "portion")
# Where the demo's server has the documents that are not generated.
DEMO = {"schools": "search_schools", "bookings": "search_bookings", "log": "read_log"}
MOST_TURNS = 10
SYSTEM = (
    "You answer questions about documents with the tools. get_document returns a document by its name. "
    "The last line of your answer is `Answer: ` and the values that were asked for, separated by commas, and nothing else. "
    "Write names as they stand in the document, numbers without separators of thousands, and dates and times as in ISO 8601."
)


class Server:
    """An MCP server on stdio."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.last_id = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "questions", "version": "1"}}
        self.instructions = self.request("initialize", client).get("instructions", "")
        self.send({"method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, parameters):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": parameters})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last_id and "method" not in message:
                return message.get("result") or message
        raise EOFError(f"the server ended at {method}")

    def call(self, tool, arguments):
        """The text that a model is shown of a result."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if "content" not in result:
            return json.dumps(result)
        return "\n".join(block.get("text", f"[{block['type']}]") for block in result["content"])


class ChatCompletions:
    """The API that OpenAI and most others have."""

    path = "/chat/completions"

    def __init__(self, key):
        self.headers = {"authorization": f"Bearer {key}"}

    def tools(self, listed):
        keys = {"name": "name", "description": "description", "inputSchema": "parameters"}
        return [{"type": "function", "function": {keys[key]: tool[key] for key in keys if key in tool}} for tool in listed]

    def body(self, system, messages, tools):
        return {"messages": [{"role": "system", "content": system}, *messages], "tools": tools}

    def read(self, response):
        """The model's message, its calls as (id, tool, arguments as text), and its text."""
        message = response["choices"][0]["message"]
        calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
        return message, calls, message.get("content") or ""

    def results(self, texts):
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in texts]


class Messages:
    """The API of Anthropic."""

    path = "/messages"

    def __init__(self, key):
        self.headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def tools(self, listed):
        keys = {"name": "name", "description": "description", "inputSchema": "input_schema"}
        return [{keys[key]: tool[key] for key in keys if key in tool} for tool in listed]

    def body(self, system, messages, tools):
        return {"system": system, "messages": messages, "tools": tools, "max_tokens": 4096}

    def read(self, response):
        blocks = response["content"]
        calls = [(block["id"], block["name"], json.dumps(block["input"])) for block in blocks if block["type"] == "tool_use"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        return {"role": "assistant", "content": blocks}, calls, text

    def results(self, texts):
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in texts]
        return [{"role": "user", "content": blocks}]


class Refused(Exception):
    """The API does not answer a request, such as one that exceeds the context of the model."""


class Model:
    def __init__(self, environment):
        self.name, base = environment["QUESTIONS_MODEL"], environment["QUESTIONS_URL"].rstrip("/")
        kind = environment.get("QUESTIONS_API") or ("anthropic" if "anthropic" in base else "openai")
        self.api = {"anthropic": Messages, "openai": ChatCompletions}[kind](environment.get("QUESTIONS_KEY", ""))
        self.url = base + self.api.path

    def answer(self, system, messages, tools):
        body = json.dumps({"model": self.name, **self.api.body(system, messages, tools)}).encode()
        headers = {"content-type": "application/json", **self.api.headers}
        for pause in (2, 10, 30, 60, None):
            try:
                with urllib.request.urlopen(urllib.request.Request(self.url, body, headers), timeout=300) as response:
                    return self.api.read(json.load(response))
            except urllib.error.HTTPError as error:
                if pause is None or error.code not in (408, 429) and error.code < 500:
                    raise Refused(f"{self.url}: {error.code}: {error.read().decode(errors='replace')[:500]}") from None
                time.sleep(pause)


@lru_cache(4096)
def count(text):
    """Tokens of a text, by o200k."""
    shaped = subprocess.run([PORTION, "shape", "--json", "-"], input=text, capture_output=True, text=True, check=True)
    return json.loads(shaped.stdout)["measured"]["tokens"]


def ask(model, server, listed, question):
    """Puts one question to a model that has seen nothing yet. Returns its answer and what that cost."""
    names = question.document.replace("+", " and ")
    messages = [{"role": "user", "content": f"{question.text} (document: {names})"}]
    tools = model.api.tools(listed)
    # Assistants show the instructions of a server.
    system = f"{SYSTEM}\n\n{server.instructions}".rstrip()
    context = count(f"{system}\n{json.dumps(tools)}\n{messages[0]['content']}")
    tokens = calls = all_in = 0
    for _ in range(MOST_TURNS):
        try:
            message, wanted, text = model.answer(system, messages, tools)
        except Refused as error:
            if not calls:
                raise SystemExit(error) from None
            return f"{error}\nAnswer:", tokens, calls, all_in
        all_in += context
        if not wanted:
            return text, tokens, calls, all_in
        texts = []
        for call, tool, arguments in wanted:
            try:
                shown = server.call(tool, json.loads(arguments or "{}"))
            except ValueError as error:
                shown = f"the arguments are no JSON: {error}"
            texts.append((call, shown))
            cost = count(f"{arguments}\n{shown}")
            tokens, calls, context = tokens + cost, calls + 1, context + cost
        messages += [message, *model.api.results(texts)]
    return "", tokens, calls, all_in


def values(wanted):
    """The values of an expected answer: those of rows, and numbers of facts such as `cancelled=125`."""
    for part in wanted:
        if isinstance(part, dict):
            yield from (value for value in part.values() if value is not None)
        elif isinstance(part, str) and (fact := re.fullmatch(r'"?\w+"?[=:](\d+)', part)):
            yield int(fact[1])
        else:
            yield part


def is_right(text, wanted):
    """True if the answer has each value, and little else."""
    *_, given = text.rpartition("Answer:")
    wanted = list(values(wanted))
    if len(given) > sum(len(str(value)) + 40 for value in wanted):
        return False
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3}\b)", "", given))]
    plain = lambda said: " ".join(re.sub(r"(?<=\d)T(?=\d)", " ", said).split()).casefold()

    def has(value):
        if isinstance(value, str) and not re.fullmatch(r"-?\d+(\.\d+)?", value):
            return plain(value.removesuffix("Z")) in plain(given)
        return any(math.isclose(float(value), number, abs_tol=0.006) for number in numbers)

    return all(map(has, wanted))


def known(folder):
    """Writes all documents into a folder, and returns their records."""
    documents.write(folder)
    library.write_documents(folder)
    with Server([PORTION, "demo-server"]) as demo:
        for name, tool in DEMO.items():
            (folder / name).write_text(demo.call(tool, {}))
    texts = {name: (folder / name).read_text() for name in (*library.GENERATED, *DEMO)}
    records = {name: json.loads(texts[name])[key] for name, key in (("schools", "schools"), ("bookings", "bookings"), ("pods", "items"))}
    records |= {name: list(csv.DictReader(io.StringIO(texts[name]))) for name in ("listings", "transactions")}
    records |= {"incidents": json.loads(texts["incidents"]), "log": texts["log"]}
    records["events"] = [json.loads(line) for line in texts["events"].splitlines()]
    return records | {name: made for name, (made, _) in documents.made().items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="only the questions about other notations than plain JSON, CSV and logs")
    parser.add_argument("--only", default="", metavar="TEXT", help="only questions whose document or text has this")
    parser.add_argument("--options", default="--lean", metavar="OPTIONS", help="options of portion wrap (default: --lean)")
    parser.add_argument("--direct", action="store_true", help="without Portion, for comparison")
    arguments = parser.parse_args()
    missing = [name for name in ("QUESTIONS_MODEL", "QUESTIONS_URL") if not os.environ.get(name)]
    if missing:
        parser.error(f"set {' and '.join(missing)}; see {Path(__file__).parent / 'README.md'}")
    model = Model(os.environ)
    asked = [q for q in (questions.KINDS if arguments.kinds else questions.QUESTIONS) if arguments.only in f"{q.document}: {q.text}"]
    with tempfile.TemporaryDirectory() as folder:
        # What is measured depends on no configuration of the user, and is not recorded.
        os.environ |= {"HOME": folder, "PORTION_TELEMETRY": "off"}
        (shelf := Path(folder) / "documents").mkdir()
        records = known(shelf)
        direct = [sys.executable, library.__file__, str(shelf)]
        wrapped = [PORTION, "wrap", *shlex.split(arguments.options), "--", *direct]
        right, costs = 0, []
        print("right  tokens  calls   all in  question")
        with Server(direct if arguments.direct else wrapped) as server:
            listed = server.request("tools/list", {})["tools"]
            for question in asked:
                text, *cost = ask(model, server, listed, question)
                good = is_right(text, question.answer(records))
                right += good
                costs.append(cost)
                print(f"{'yes' if good else 'NO':>5} {cost[0]:7,} {cost[1]:6} {cost[2]:8,}  {question.document}: {question.text}", flush=True)
                if not good:
                    print(f"       said {text[-200:]!r}, and not {list(values(question.answer(records)))}")
    tokens, calls, all_in = (sum(column) / len(costs) for column in zip(*costs, strict=True))
    print(f"\n{len(costs)} questions: {right / len(costs):.1%} right, {tokens:,.0f} tokens, {calls:.2f} calls, {all_in:,.0f} tokens all in")


if __name__ == "__main__":
    main()

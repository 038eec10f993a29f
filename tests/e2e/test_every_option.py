"""Whatever the options and the payload: a line, a body or an event is one valid message, and fits."""

import base64
import itertools
import json
import os

import pytest

from fixture import corpus
from harness.command import FILES_FIXTURE, PORTION
from harness.listening import Listening, served
from harness.reply import HARD_CAP, NOTICE, WIRE_BYTES
from harness.talk import ACCEPT, OverHttp, exchange, messages
from harness.wire import Wire

ROWS = json.loads(corpus.bookings(120))
PAIRS = "".join(f'{{"n":{n},"n":{n}.50,"big":1{n}e400,"half":"\\ud83d","zero":-0}},' for n in range(400))
ODD = "\u2028 \u2029 \x7f \u202e עברית e\u0301 👩‍👩‍👧 \ufeff"

TEXTS = {
    "list": corpus.bookings(120),
    "indented list": json.dumps(ROWS, indent=2),
    "list with CRLF": json.dumps(ROWS, indent=1).replace("\n", "\r\n"),
    "keyed list": json.dumps({"data": {"items": ROWS}, "ok": True}),
    "list of strings": json.dumps([f"name {n} {ODD}" for n in range(2_000)]),
    "list of lists": json.dumps([[n, str(n) * 9, None, [n]] for n in range(1_000)]),
    "columns": json.dumps({"columns": ["a", "b"], "rows": [[n, "x" * 20] for n in range(800)]}),
    "object": corpus.big_booking(),
    "object of objects": json.dumps({f"key {n}": {"n": n, "note": "y" * 60} for n in range(400)}),
    "odd members": f"[{PAIRS[:-1]}]",
    "deep": corpus.deep(300),
    "lines of JSON": "\n".join(json.dumps(row) for row in ROWS),
    "CSV": "id,name,note\r\n" + "".join(f'{n},"Ana, {n}","says ""{ODD}"""\r\n' for n in range(900)),
    "TSV": "id\tname\n" + "".join(f"{n}\tname {n}\n" for n in range(2_000)),
    "log": corpus.traced_log(),
    "Markdown": corpus.manual(),
    "HTML": "<html><body>" + "".join(f"<h2>{n}</h2><p>{'words ' * 40}&amp;<b>{n}</b></p>" for n in range(120)) + "</body></html>",
    "XML": "<?xml version='1.0'?><r>" + "".join(f"<i n='{n}'><![CDATA[{n} < {n}]]></i>" for n in range(900)) + "</r>",
    "YAML": "".join(f"- id: {n}\n  text: |\n    {'some words ' * 8}\n" for n in range(300)),
    "code": "".join(f"def f{n}(a):\n    return a + {n}  # {'why ' * 8}\n\n" for n in range(400)),
    "diff": "".join(f"diff --git a/{n} b/{n}\n--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-old {n}\n+new {n}\n" for n in range(400)),
    "one long word": "x" * 60_000,
    "control characters": "".join(map(chr, range(32))) * 900 + ODD,
    "half a JSON": corpus.bookings(120)[:-7],
    "small": "ten nights",
}


def structured(text):
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"result": value}


FORMS = {
    "text": lambda text: {"content": [{"type": "text", "text": text}]},
    "error": lambda text: {"content": [{"type": "text", "text": text}], "isError": True},
    "structured": lambda text: {"content": [{"type": "text", "text": text}], "structuredContent": structured(text)},
    "blocks": lambda text: {
        "content": [
            {"type": "text", "text": "first"},
            {"type": "resource", "resource": {"uri": "file:///x", "mimeType": "text/plain", "text": text}},
            {"type": "image", "data": base64.b64encode(b"picture").decode(), "mimeType": "image/png"},
            {"type": "text", "text": text},
        ]
    },
}
SHAPES = list(itertools.product(TEXTS, FORMS))
SHARE = int(os.environ.get("SHAPES_SHARE", "5"))
"""Each set of options is tried with one of so many shapes, another share each time; 1: with all."""

OPTIONS = [
    [],
    ["--lean"],
    ["--profile", "soft"],
    ["--profile", "hostaway"],
    ["--profile", "education-data"],
    ["--metadata", "always"],
    ["--metadata", "full", "--metadata-style", "snake"],
    ["--metadata", "always", "--metadata-style", "snake", "--envelope", "wrap", "--compact", "always"],
    ["--envelope", "wrap"],
    ["--rows", "auto", "--first-rows", "sample"],
    ["--oversized", "refuse"],
    ["--mode", "development", "--strip-fields", "none"],
    ["--redact", "secrets,guest,note"],
    ["--tokenizer", "len4", "--token-budget-threshold", "300", "--hard-cap", "600"],
    ["--tokenizer", "cl100k", "--hard-byte-limit", "4KiB", "--fallback-byte-limit", "4KiB"],
    ["--session-budget", "3000"],
    ["--pagination", "false", "--summarization", "false", "--chunking", "false"],
    ["--dry-run"],
    ["--experiment", "shadow"],
    ["--rollout", "0"],
    ["--catalog", "lazy"],
    ["--preset", "claude-code"],
    ["--snapshot-memory", "0", "--snapshot-disk", "off"],
]
UNSHAPED = {"--pagination", "--dry-run", "--experiment", "--rollout"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for text, form in SHAPES:
        raw = json.dumps(FORMS[form](TEXTS[text]), ensure_ascii=(len(text) + len(form)) % 2 == 0)
        (folder / f"{text} {form}").write_bytes(raw.encode("utf-8", "surrogatepass"))
    return folder


def strict(name):
    raise ValueError(f"{name} is not JSON")


def check(message, number, is_shaped):
    """One message of JSON and nothing else, which answers the request and fits."""
    text = message.decode("utf-8")
    assert not set(text.rstrip("\n")) & set("\r\n"), text[:200]
    answer = json.loads(text, parse_constant=strict)
    assert answer["jsonrpc"] == "2.0" and answer["id"] == number and len(answer.keys() & {"result", "error"}) == 1
    result = answer["result"]
    for block in result["content"]:
        assert block["type"] != "text" or isinstance(block["text"], str)
    notice = (result.get("_meta") or {}).get(NOTICE)
    if is_shaped:
        assert len(message) <= WIRE_BYTES + HARD_CAP, len(message)
    return notice and notice.get("nextCursor")


def test_there_are_a_hundred_shapes():
    assert len(SHAPES) == 100 and len(OPTIONS) > 20


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "usual")
def test_lines(folder, options):
    is_shaped = not UNSHAPED & set(options)
    first = OPTIONS.index(options) % SHARE
    with Wire([PORTION, "wrap", *options, "--", *FILES_FIXTURE, str(folder)]) as wire:
        wire.open()
        for number, (text, form) in enumerate(SHAPES[first::SHARE]):
            following = check(wire.call(number, f"{text} {form}"), number, is_shaped)
            if following:
                check(wire.call("next", "portion_read", cursor=following), "next", True)


@pytest.mark.parametrize("accept", [ACCEPT, "text/event-stream, application/json"], ids=["bodies", "events"])
@pytest.mark.parametrize("options", OPTIONS[:10:3], ids=lambda options: " ".join(options) or "usual")
def test_bodies_and_events(folder, options, accept):
    with Listening(served(*options, "--admin", "off", "--", *FILES_FIXTURE, str(folder))) as front:
        session = OverHttp(front.url)
        session.open()
        headers = [("Content-Type", "application/json"), ("Accept", accept), *session._headers()]
        for number, (text, form) in enumerate(SHAPES[::SHARE]):
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": f"{text} {form}", "arguments": {}}}
            with exchange(front.url, "POST", headers, json.dumps(call).encode()) as response:
                (message,) = messages(response)
                check(message.encode(), number, True)

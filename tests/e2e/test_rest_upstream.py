"""A REST API as MCP tools: official clients over stdio and HTTP call a real API through its OpenAPI document."""

import base64
import json
import subprocess
import threading
import time
from contextlib import contextmanager

import jsonschema
import pytest
import yaml

from harness import education_data, hostaway
from harness.command import PORTION
from harness.education_data import EducationData
from harness.hostaway import Hostaway
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import lawful, walk
from harness.rest_stub import Response, RestStub, operation
from harness.talk import OverStdio
from harness.wire import Wire

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
KEY = "key-of-the-operator-42"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def document(paths, **more):
    return {"openapi": "3.0.3", "info": {"title": "Stub", "version": "1"}, "paths": paths, **more}


@pytest.fixture
def written(tmp_path):
    def write(described, name="openapi.json"):
        file = tmp_path / name
        file.write_text(described if isinstance(described, str) else json.dumps(described))
        return str(file)

    return write


@contextmanager
def api_tools(file, url, *options, front="stdio", env=None, mode="auto"):
    """The official client on the tools of a document."""
    options = ["--openapi", file, *(["--upstream", url] if url else []), *options]
    if front == "stdio":
        with Peer([PORTION, "wrap", *options], env=env, mode=mode) as peer:
            yield peer
        return
    with Listening(served("--admin", "off", *options), env=env) as portion, Peer(portion.url, mode=mode) as peer:
        yield peer


def text(result):
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def failure(result):
    assert result["isError"] is True, result
    return result["content"][0]["text"]


ECHO = document({
    "/things/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": STRING}],
        "get": operation(
            "things/get-one",
            ("q", "query", STRING),
            ("tags", "query", {"type": "array", "items": STRING}),
            ("X-Trace", "header", STRING),
            ("id", "query", STRING),
            summary="Get a thing",
        ),
        "put": operation("replaceThing", body={"type": "object", "properties": {"id": INTEGER, "name": STRING}, "required": ["name"]}),
        "delete": operation("deleteThing"),
    },
    "/form": {"post": operation("postForm", body={"type": "object", "properties": {"a": STRING, "b": {"type": "array", "items": INTEGER}}}, media="application/x-www-form-urlencoded")},
    "/upload": {"post": operation("upload", body={"type": "object", "properties": {"title": STRING, "file": {"type": "string", "format": "binary"}}}, media="multipart/form-data")},
})


@pytest.fixture
def echo():
    with RestStub({"* /v1/things/{id}": lambda request: request.echo(), "POST /v1/{any}": lambda request: request.echo()}) as stub:
        yield stub


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("front", ["stdio", "http"])
def test_operations_are_tools_on_every_front_and_era(front, mode, written, echo):
    with api_tools(written(ECHO), f"{echo.url}/v1", front=front, mode=mode) as peer:
        tools = {tool["name"]: tool for tool in peer.tools()["tools"]}
        assert list(tools)[:5] == ["things_get-one", "replaceThing", "deleteThing", "postForm", "upload"]
        one = tools["things_get-one"]
        assert one["description"] == "Get a thing" and one["annotations"]["readOnlyHint"] is True
        assert list(one["inputSchema"]["properties"])[:5] == ["id", "q", "tags", "id_query", "X-Trace"]
        assert one["inputSchema"]["required"] == ["id"] and "`id`" in one["inputSchema"]["properties"]["id_query"]["description"]
        assert tools["deleteThing"]["annotations"] == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": True}
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        came = json.loads(text(peer.call("things_get-one", id="a/b é", q="x&y=z", tags=["1", "2"], id_query="q", **{"X-Trace": "t"})))
        assert came["target"] == "/v1/things/a%2Fb%20%C3%A9?q=x%26y%3Dz&tags=1&tags=2&id=q"
        assert came["headers"]["x-trace"] == "t" and came["headers"]["user-agent"].startswith("portion/")


def test_bodies_are_written_as_described(written, echo):
    with api_tools(written(ECHO), f"{echo.url}/v1") as peer:
        came = json.loads(text(peer.call("replaceThing", id="7", id_body=12345678901234567890, name=None)))
        assert came["headers"]["content-type"] == "application/json"
        assert came["body"] == '{"id":12345678901234567890,"name":null}'
        came = json.loads(text(peer.call("postForm", a="x y&z", b=[1, 2])))
        assert came["body"] == "a=x%20y%26z&b=1&b=2"
        assert came["headers"]["content-type"] == "application/x-www-form-urlencoded"
        came = json.loads(text(peer.call("upload", title="T", file=base64.b64encode(b"\0bytes").decode())))
        assert 'name="title"\r\n\r\nT\r\n' in came["body"] and 'filename="file"' in came["body"] and "\0bytes" in came["body"]


@pytest.mark.parametrize("arguments, said", [
    ({}, "required argument `id` is missing"),
    ({"id": None}, "required argument `id` is missing"),
    ({"id": ""}, "is empty"),
    ({"id": ".."}, "part `.` or `..`"),
    ({"id": "a/../b"}, "part `.` or `..`"),
    ({"id": "%2e%2e"}, "part `.` or `..`"),
    ({"id": "a\nb"}, "control character"),
    ({"id": "1", "X-Trace": "a\r\nCookie: b"}, "HTTP header"),
    ({"id": "1", "q": {"a": {"b": 1}}}, "nested too deeply"),
    ({"id": "1", "nope": 1}, "unknown argument `nope`; this tool takes `id`, `q`"),
])
def test_invalid_arguments_are_refused_before_the_call(arguments, said, written, echo):
    with api_tools(written(ECHO), f"{echo.url}/v1") as peer:
        assert said in failure(peer.call("things_get-one", **arguments))
    assert echo.asked == []


ANSWERS = {
    "json": Response(b'{"a": 1.50,\n "b": "\\u00e9"}'),
    "text": Response(b"plain text", media="text/plain"),
    "latin": Response("café".encode("latin-1"), media="text/html; charset=iso-8859-1"),
    "broken": Response(b"a\xffb", media="text/plain; charset=utf-8"),
    "empty": Response(status=204, media=None),
    "png": Response(PNG, media="image/png"),
    "zip": Response(b"PK\3\4\0", media="application/zip"),
    "missing": Response({"error": "no such thing"}, 404),
    "html": Response(b"<html>oh no</html>", 500, media="text/html"),
    "elsewhere": Response(b"", 302, {"location": "http://evil.example/x?token=1"}),
    "near": Response(b"", 302, {"location": "/v1/answers/text"}),
    "huge": Response(b"[" + b"1," * (1 << 20) + b"1]"),
}
ANSWER = document({"/answers/{kind}": {"get": operation("answer", ("kind", "path", STRING)), "head": operation("headOf", ("kind", "path", STRING))}})


@pytest.fixture(scope="module")
def answering(tmp_path_factory):
    file = tmp_path_factory.mktemp("answers") / "openapi.yaml"
    file.write_text(yaml.safe_dump(ANSWER))
    with RestStub({"* /v1/answers/{kind}": lambda request: ANSWERS[request.path["kind"]]}) as stub:
        with api_tools(str(file), f"{stub.url}/v1", "--upstream-message-limit", "1MiB") as peer:
            yield peer


@pytest.mark.parametrize("kind, block", [
    ("json", {"type": "text", "text": '{"a": 1.50,\n "b": "\\u00e9"}'}),
    ("text", {"type": "text", "text": "plain text"}),
    ("latin", {"type": "text", "text": "café"}),
    ("empty", {"type": "text", "text": "HTTP 204 No Content, without a body"}),
    ("png", {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}),
    ("near", {"type": "text", "text": "plain text"}),
])
def test_responses_become_content(kind, block, answering):
    result = answering.call("answer", kind=kind)
    assert result["content"] == [block] and not result.get("isError")


def test_other_responses_are_told(answering):
    call = lambda kind: answering.call("answer", kind=kind)
    assert [block["text"] for block in call("broken")["content"]] == ["a\ufffdb", "(1 invalid byte sequences of the response were replaced by U+FFFD)"]
    resource = call("zip")["content"][0]["resource"]
    assert base64.b64decode(resource["blob"]) == b"PK\3\4\0" and resource["mimeType"] == "application/zip"
    assert failure(call("missing")) == 'HTTP 404 Not Found from GET /answers/{kind}\n{"error": "no such thing"}'
    assert "HTTP 500" in failure(call("html")) and "oh no" in failure(call("html"))
    assert "redirects to http://evil.example/x, which is not followed" in failure(call("elsewhere"))
    head = text(answering.call("headOf", kind="text"))
    assert head.startswith("HTTP 200 OK") and "content-length: 10" in head


def test_a_response_over_the_limit_is_an_error(answering):
    result = answering.call("answer", kind="huge")
    assert "message_too_large" in json.dumps(result)
    assert text(answering.call("answer", kind="text")) == "plain text"


def test_reads_are_retried_and_writes_are_not(written):
    left = {"count": 0}

    def flaky(request):
        left["count"] -= 1
        return Response({}, 503) if left["count"] >= 0 else {"ok": request.method}

    described = document({"/x": {"get": operation("read"), "post": operation("write"), "put": operation("report")}})
    with RestStub({"* /x": flaky}) as stub, api_tools(written(described), stub.url, "--read", "rep*") as peer:
        for tool, method in [("read", "GET"), ("report", "PUT")]:
            left["count"] = 2
            assert json.loads(text(peer.call(tool))) == {"ok": method}
            assert len(stub.told()) == 3
        left["count"] = 2
        assert "HTTP 503" in failure(peer.call("write")) and len(stub.told()) == 1
        left["count"] = 9
        assert "HTTP 503" in failure(peer.call("read")) and len(stub.told()) == 4
        hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in peer.tools()["tools"] if "annotations" in tool}
        assert (hints["read"], hints["report"], hints["write"]) == (True, True, False)


def test_retry_after_is_honoured_within_the_timeout(written):
    refused = []

    def limited(request):
        if not refused:
            refused.append(time.monotonic())
            return Response({"message": "slow down"}, 429, {"retry-after": "1"})
        return {"waited": time.monotonic() - refused[0]}

    described = document({"/x": {"get": operation("read")}})
    with RestStub({"GET /x": limited}) as stub:
        with api_tools(written(described), stub.url) as peer:
            assert json.loads(text(peer.call("read")))["waited"] >= 1
        refused.clear()
        with api_tools(written(described), stub.url, "--call-timeout", "1s") as peer:
            said = failure(peer.call("read"))
            assert "HTTP 429" in said and "try again after 1 s" in said and "slow down" in said


def test_a_slow_api_times_out(written):
    described = document({"/x": {"get": operation("read"), "post": operation("write")}})
    with RestStub({"* /x": lambda request: time.sleep(30)}) as stub, api_tools(written(described), stub.url, "--call-timeout", "1s") as peer:
        assert failure(peer.call("read")) == "GET /x: no response within 1s"
        assert "may have acted: check before you repeat" in failure(peer.call("write"))


def test_an_api_that_is_down_is_an_error(written):
    with RestStub({}) as stub:
        url = stub.url
    described = document({"/x": {"get": operation("read")}})
    with api_tools(written(described), url, "--call-timeout", "2s") as peer:
        assert "cannot be reached" in failure(peer.call("read"))


AUTHORIZATIONS = {
    "bearer": (["--header", "Authorization: Bearer ${API_KEY}"], lambda request: request.headers["authorization"] == f"Bearer {KEY}"),
    "header": (["--header", "X-Api-Key: ${API_KEY}"], lambda request: request.headers["x-api-key"] == KEY),
    "query": (["--query-parameter", "api_key=${API_KEY}"], lambda request: request.queries["api_key"] == [KEY]),
    "basic": (["--basic-auth", "ada:${API_KEY}"], lambda request: base64.b64decode(request.headers["authorization"].split()[1]).decode() == f"ada:{KEY}"),
}


@pytest.mark.parametrize("way", AUTHORIZATIONS)
def test_credentials_are_sent_and_never_shown(way, written):
    options, is_valid = AUTHORIZATIONS[way]
    described = document({"/things/{id}": {"get": operation("get", ("id", "path", STRING), ("api_key", "query", STRING), ("X-Api-Key", "header", STRING), ("more", "query", {"type": "object"}))}})
    with RestStub({"GET /things/{id}": lambda request: Response(request.echo(), 200 if request.path["id"] == "1" else 401)}) as stub:
        with api_tools(written(described), stub.url, *options, env={"API_KEY": KEY, "PORTION_LOG": "debug"}) as peer:
            tool = next(tool for tool in peer.tools()["tools"] if tool["name"] == "get")
            properties = set(tool["inputSchema"]["properties"]) & {"api_key", "X-Api-Key"}
            assert properties == {"api_key", "X-Api-Key"} - {"query": {"api_key"}, "header": {"X-Api-Key"}}.get(way, set())
            results = [peer.call("get", id="1"), peer.call("get", id="2")]
            if way == "query":
                assert "cannot be set" in failure(peer.call("get", id="1", more={"api_key": "mine"}))
            logged = peer.said()
        assert len(stub.asked) == 2 and all(map(is_valid, stub.asked))
    shown = json.dumps(results) + logged
    encoded = base64.b64encode(f"ada:{KEY}".encode()).decode()
    assert KEY not in shown and encoded not in shown and "[credential removed]" in shown


OAUTH = ["--oauth-url", "{url}/v1/accessTokens", "--oauth-client-id", hostaway.CLIENT_ID, "--oauth-client-secret", "${HOSTAWAY_SECRET}", "--oauth-scope", "general"]


def hostaway_options(stub):
    return [option.format(url=stub.url) if "{url}" in option else option for option in OAUTH]


@pytest.mark.parametrize("front", ["stdio", "http"])
def test_access_tokens_are_requested_kept_and_renewed(front, written):
    with Hostaway() as stub:
        env = {"HOSTAWAY_SECRET": hostaway.CLIENT_SECRET, "PORTION_LOG": "debug"}
        with api_tools(written(hostaway.OPENAPI), stub.url, *hostaway_options(stub), front=front, env=env) as peer:
            assert json.loads(text(peer.call("getListing", listingId=40007)))["result"]["name"] == "Garden Villa 7"
            peer.call("getListing", listingId=40008)
            assert stub.issued == 1
            stub.tokens.clear()
            assert json.loads(text(peer.call("getListing", listingId=40009)))["status"] == "success"
            assert stub.issued == 2
            stub.refusals = 2
            assert json.loads(text(peer.call("getListing", listingId=40010)))["status"] == "success"
            assert "HTTP 404" in failure(peer.call("getListing", listingId=1))


def test_a_refused_client_is_told_without_its_secret(written):
    with Hostaway() as stub:
        env = {"HOSTAWAY_SECRET": "wrong-secret-0815", "PORTION_LOG": "debug"}
        with api_tools(written(hostaway.OPENAPI), stub.url, *hostaway_options(stub), env=env) as peer:
            said = failure(peer.call("getListing", listingId=40007))
            assert "no access token" in said and "401" in said and "check the client id and secret" in said
            assert "wrong-secret-0815" not in said + peer.said()


def test_a_large_list_is_paged_and_queried_like_that_of_any_server(written):
    with Hostaway() as stub:
        env = {"HOSTAWAY_SECRET": hostaway.CLIENT_SECRET}
        with api_tools(written(hostaway.OPENAPI), stub.url, *hostaway_options(stub), env=env) as peer:
            first = lawful(peer.call("listReservations", limit=500))
            assert first.next and first.notice["totalCount"] == 500
            asked = len(stub.asked)
            pages = list(walk(peer, lawful(peer.call("portion_read", cursor=first.meta["cursor"], fields="id,status"))))
            ids = [item["id"] for page in pages for item in json.loads(page.text)["result"]]
            assert ids == [one["id"] for one in stub.reservations]
            rows = peer.call("portion_query", cursor=first.meta["cursor"], sql="SELECT status, count(*) n FROM items GROUP BY 1 ORDER BY 1")
            assert '"n":125' in json.dumps(rows).replace("\\", "").replace(" ", "")
            assert len(stub.asked) == asked
            report = peer.call("consolidatedReport", fromDate="2026-01-01", toDate="2026-01-03")
            assert json.loads(text(report))["result"]["currency"] == "EUR"


def test_raw_chunks_are_the_body_as_the_api_sent_it(written):
    with EducationData(rows=400, page_rows=400) as stub:
        with api_tools(written(education_data.OPENAPI), stub.url) as peer:
            first = lawful(peer.call("get_school_directory", year=2020))
            parts = walk(peer, lawful(peer.call("portion_read", cursor=first.meta["cursor"], raw=True)))
            body = json.dumps(stub.answer(stub.asked[0]))
            assert "".join(part.text for part in parts) == body
            summary = json.loads(text(peer.call("get_school_summary", stat="sum", var="enrollment", by=["fips"])))
            assert [row["fips"] for row in summary["results"]] == [6, 36, 48]


def test_a_configuration_describes_the_api(written):
    written(hostaway.OPENAPI, "hostaway.json")
    with Hostaway() as stub:
        config = f"""
upstreams:
  hostaway:
    openapi: hostaway.json
    url: {stub.url}
    oauth: {{url: {stub.url}/v1/accessTokens, clientId: "{hostaway.CLIENT_ID}", clientSecret: "${{HOSTAWAY_SECRET}}", scope: general}}
    exclude: [getCalendar]
    callTimeout: 20s
    endpoints:
      consolidatedReport: {{read: true}}
"""
        file = written(config, "portion.yaml")
        env = {"HOSTAWAY_SECRET": hostaway.CLIENT_SECRET}
        with Listening(served("--admin", "off", "--config", file), env=env) as portion, Peer(portion.url) as peer:
            tools = {tool["name"]: tool for tool in peer.tools()["tools"]}
            assert "getCalendar" not in tools and tools["consolidatedReport"]["annotations"]["readOnlyHint"] is True
            assert json.loads(text(peer.call("getListing", listingId=40001)))["status"] == "success"


def test_large_documents_are_listed_lazily(written):
    paths = {f"/x{number}": {"get": operation(f"readItem{number}", ("id", "query", STRING), summary=f"Reads item {number}")} for number in range(70)}
    with RestStub({"GET /x{number}": lambda request: {"number": request.path["number"]}}) as stub:
        with api_tools(written(document(paths)), stub.url) as peer:
            tools = {tool["name"]: tool for tool in peer.tools()["tools"]}
            assert not tools["readItem7"]["inputSchema"].get("properties") and "portion_describe" in tools
            assert json.loads(text(peer.call("readItem69", id="1"))) == {"number": "69"}
            assert "--include" in peer.said()
        with api_tools(written(document(paths)), stub.url, "--include", "readItem1*", "--exclude", "GET /x10") as peer:
            names = [tool["name"] for tool in peer.tools()["tools"] if tool["name"].startswith("readItem")]
            assert names == ["readItem1", *(f"readItem{number}" for number in range(11, 20))]
        with api_tools(written(document(paths)), stub.url, "--catalog", "full") as peer:
            tools = {tool["name"]: tool for tool in peer.tools()["tools"]}
            assert "id" in tools["readItem7"]["inputSchema"]["properties"]


def test_used_up_quotas_delay_the_next_request(written):
    times = []

    def counted(request):
        times.append(time.monotonic())
        return Response({"n": len(times)}, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"})

    with RestStub({"GET /x": counted}) as stub, api_tools(written(document({"/x": {"get": operation("read")}})), stub.url) as peer:
        assert [json.loads(text(peer.call("read")))["n"] for _ in range(2)] == [1, 2]
    assert times[1] - times[0] >= 0.9


def test_a_truncated_response_is_no_result(written):
    cut = Response(b'{"a": 1}', headers={"content-length": "100", "connection": "close"})
    described = document({"/x": {"get": operation("read"), "post": operation("write")}})
    with RestStub({"* /x": lambda request: cut}) as stub, api_tools(written(described), stub.url, "--call-timeout", "2s") as peer:
        assert "the response ended too early" in failure(peer.call("write")) and len(stub.told()) == 1
        failure(peer.call("read"))
        assert len(stub.told()) > 1


def test_requests_before_the_end_of_input_are_answered(written):
    described = document({"/x": {"get": operation("read")}})
    with RestStub({"GET /x": lambda request: time.sleep(1) or {"late": True}}) as stub:
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "read", "arguments": {}}}
        messages = [
            {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": "b", "method": "no/such"},
            {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "nope"}},
            call,
        ]
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        command = [PORTION, "wrap", "--openapi", written(described), "--upstream", stub.url]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers["a"]["result"]["protocolVersion"] == "2025-11-25"
    assert answers["b"]["error"]["code"] == -32601 and answers["c"]["error"]["code"] == -32602
    assert answers[7]["result"]["content"][0]["text"] == '{"late": true}' and done.returncode == 0


def test_a_cancelled_call_closes_its_request(written):
    """The API sees the connection end; later calls work."""
    held, answered = threading.Event(), threading.Event()

    def hold(request):
        held.set()
        answered.wait(30)
        return {}

    described = document({"/x": {"get": operation("read")}, "/y": {"get": operation("other")}})
    with RestStub({"GET /x": hold, "GET /y": lambda request: {"y": 1}}) as stub:
        command = [PORTION, "wrap", "--openapi", written(described), "--upstream", stub.url]
        with Wire(command) as wire:
            session = OverStdio(wire)
            session.open()
            session.tell('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}')
            assert held.wait(30)
            session.tell('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
            answer = session.call(2, "other")
            answered.set()
            assert answer["id"] == 2 and answer["result"]["content"][0]["text"] == '{"y": 1}'


@pytest.mark.parametrize("options, said", [
    (["--openapi", "nowhere.yaml"], "OpenAPI document nowhere.yaml: No such file"),
    (["--openapi", "{file}", "--upstream", "http://x/", "--include", "nothing*"], "none of its 1 operations is chosen"),
    (["--openapi", "{file}"], "names no absolute server URL; give the base URL of the API with --upstream"),
    (["--openapi", "{file}", "--upstream", "ftp://x/"], "neither http:// nor https://"),
    (["--openapi", "{file}", "--upstream", "http://x/", "--query-parameter", "a"], "write it as name=value"),
    (["--openapi", "{file}", "--upstream", "http://x/", "--basic-auth", "${NOT_SET_HERE}"], "NOT_SET_HERE"),
    (["--openapi", "{file}", "--url", "http://x/"], "cannot be used with"),
    (["--upstream", "http://x/"], "--openapi"),
    (["--include", "x", "--", "cat"], "cannot be used with"),
    (["--upstream", "http://x/", "--", "cat"], "cannot be used with"),
    (["--oauth-scope", "x", "--url", "http://x/"], "cannot be used with"),
])
def test_what_is_wrong_is_said_at_start(options, said, written):
    file = written(document({"/x": {"get": operation("read")}}))
    command = [PORTION, "wrap", *(option.replace("{file}", file) for option in options)]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and said in done.stderr, done.stderr


@pytest.mark.parametrize("front", ["stdio", "http"])
def test_tools_take_controls_where_the_response_can_be_a_list(written, front):
    row = {"type": "object", "properties": {"id": INTEGER}}
    responses = {
        "/bookings": {"type": "array", "items": row},
        "/guests": {"type": "object", "properties": {"result": {"type": "array", "items": row}, "count": INTEGER}},
        "/booking": row,
    }
    paths = {
        path: {"get": operation(path[1:]) | {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}}
        for path, schema in responses.items()
    }
    long = [{"id": number, "note": "Arrives late, needs a cot and two keys. " * 4} for number in range(300)]
    with RestStub({"GET /bookings": lambda request: long}) as api, api_tools(written(document(paths)), api.url, front=front) as peer:
        listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in peer.tools()["tools"]}
        assert {"limit", "cursor", "fields"} <= set(listed["bookings"]) and "limit" in listed["guests"]
        assert "limit" not in listed["booking"]
        page = lawful(peer.call("bookings", limit=5), 12_000)
        assert len(json.loads(page.text)) == 5 and page.notice["totalCount"] == 300
        assert [request.target for request in api.told()] == ["/bookings"]

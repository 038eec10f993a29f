"""The official SDK clients do through Portion what they do without it, on every front, upstream and era."""

import itertools
import uuid

import pytest

from fixture import corpus
from harness.command import SDK_FIXTURE
from harness.driven import MODERN, SDKS, Driven
from harness.pairing import FRONTS, UPSTREAMS, Listening, pairing, upstream
from harness.reply import exact, lawful, pages_joined, walk

PAIRINGS = list(itertools.product(FRONTS, UPSTREAMS))
CLIENTS = [(name, False) for name in SDKS] + [(name, True) for name in MODERN]


def spelled(client):
    name, modern = client
    return f"{name} (2026-07-28)" if modern else name


@pytest.fixture(scope="module")
def server():
    with Listening([*SDK_FIXTURE, "--http"]) as server:
        yield server


@pytest.fixture(scope="module", params=PAIRINGS, ids=" to ".join)
def target(request, server):
    front, kind = request.param
    with pairing(front, *upstream(kind, child=SDK_FIXTURE, base=server.url)) as target:
        yield {**target, "legacy only": kind == "sse"}


@pytest.fixture(scope="module", params=CLIENTS, ids=spelled)
def client(request, target):
    name, modern = request.param
    if modern and target["legacy only"]:
        pytest.skip("2026-07-28 has no HTTP+SSE transport")
    with Driven(name, target, modern=modern) as client:
        yield client


@pytest.fixture(scope="module")
def direct(request, server):
    """The same client on the server itself, by name and era: its answers are what Portion's are held against."""
    sessions = {}

    def of(client):
        key = (client.name, client.modern)
        if key not in sessions:
            sessions[key] = Driven(client.name, {"url": f"{server.url}/mcp"}, modern=client.modern).__enter__()
        return sessions[key]

    yield of
    for session in sessions.values():
        session.__exit__()


def texts(result):
    assert "error" not in result and not result.get("isError"), result
    return [block["text"] for block in result["content"]]


def check_manual(client, result):
    """`result` is the first portion of the manual, and all of them joined are it."""
    first = lawful(result)
    assert first.next
    assert "".join(reply.text for reply in walk(client, first)) == corpus.manual()


def test_the_tools_are_those_of_the_server_and_ours(client, direct):
    listed = [tool["name"] for tool in client.tools()["tools"]]
    whole = [tool["name"] for tool in direct(client).tools()["tools"]]
    assert listed == [*whole, "portion_read", "portion_query"]


def test_a_small_call_is_answered_as_without_us(client, direct):
    for text in ("small", "é \u2028 𝄞 </script> \\u0041"):
        assert client.call("echo", text=text) == direct(client).call("echo", text=text)
    assert client.call("list_bookings", count=2) == direct(client).call("list_bookings", count=2)


def test_a_big_result_with_an_output_schema_passes_the_sdks_check_and_is_walked_to_its_end(client):
    client.tools()
    first = lawful(client.call("list_bookings", count=150))
    assert first.structured["bookings"] and first.next
    walked = [row["id"] for reply in walk(client, first) for row in reply.json["bookings"]]
    assert walked == [f"BK-{number:04}" for number in range(1, 151)]
    assert pages_joined(client, first, "bookings") == exact(corpus.bookings(150))


def test_a_question_is_answered(client):
    client.tools()
    cursor = lawful(client.call("list_bookings", count=150)).meta["cursor"]
    answer = lawful(client.call("portion_query", cursor=cursor, sql="SELECT count(*) AS n FROM items WHERE nights > 8"))
    assert answer.text == '[{"n":16}]' and answer.meta["kind"] == "query"


def test_a_long_text_is_walked_to_its_end(client):
    check_manual(client, client.call("get_manual"))


def test_a_resource_is_read_in_chunks(client, direct):
    check_manual(client, client.read("fixture://manual"))
    parts = [lawful(client.read("fixture://manual"))]
    while uri := parts[-1].meta.get("nextUri"):
        parts.append(lawful(client.read(uri)))
    assert len(parts) > 2 and "".join(part.text for part in parts) == corpus.manual()
    assert client.read("fixture://note") == direct(client).read("fixture://note")


def test_a_prompt_is_read_in_chunks(client, direct):
    check_manual(client, client.prompt("review_manual"))
    assert client.prompt("greet") == direct(client).prompt("greet")


def test_lists_and_completions_are_the_servers(client, direct):
    assert client.ask("resources") == direct(client).ask("resources")
    assert client.ask("prompts") == direct(client).ask("prompts")
    assert client.ask("complete", value="L") == direct(client).ask("complete", value="L")


def test_progress_comes_through(client):
    told = client.ask("steps", name="take_steps", arguments={})
    assert texts(told["result"]) == ["three steps taken"]
    if client.modern and client.name.startswith("typescript"):
        # It forgets what it was told of a call in the same read as the answer, which is so with some luck.
        assert told["steps"] == [1, 2, 3][: len(told["steps"])]
    else:
        assert told["steps"] == [1, 2, 3]


def test_a_cancellation_reaches_the_server(client):
    key = uuid.uuid4().hex
    assert "cancelled" in client.ask("cancel", name="hold", arguments={"key": key})
    assert texts(client.call("await_cancelled", key=key)) == ["cancelled"]


def test_the_server_can_ask_the_user(client):
    assert texts(client.call("elicit", text="Ana")) == ["accept: Ana"]


def test_the_server_can_ask_the_client_within_a_call_and_beside_it(client):
    if client.modern:
        pytest.skip("2026-07-28 has no requests from servers")
    assert texts(client.call("sample", text="this")) == ["sampled this"]
    assert texts(client.call("list_roots")) == ["file:///home/of/the/client"]


def test_what_the_server_logs_comes_through(client):
    if client.modern:
        pytest.skip("the SDKs ask for no logs in 2026-07-28")
    assert client.ask("level", level="info") == {}
    assert texts(client.call("log")) == ["three entries logged"]
    assert client.ask("logged")["logged"] == ["entry 1", "entry 2", "entry 3"]
    assert client.ask("ping") == {}

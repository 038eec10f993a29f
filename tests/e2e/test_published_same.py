"""Published servers, direct and wrapped: the same, apart from what Portion says it adds."""

import dataclasses
import json
import re

import pytest

from harness import tokens
from harness.command import wrapped
from harness.peer import Peer
from harness.published import ALL, EVERYTHING
from harness.wire import Wire, request

OURS = {"limit", "cursor", "fields", "query"}
LIST_NAME = re.compile(r"list|search|find|query|get_all")
WRITE_NAME = re.compile(r"add|create|delete|move|remove|set|update|write|edit|append")


def both(server, home, look, **options):
    """What `look` sees of `server`, direct and wrapped, each from the same beginning."""
    seen = []
    for command in (server.command(home), wrapped(server.command(home))):
        server.fresh(home)
        with Peer(command, env=server.env(home), **options) as peer:
            seen.append(look(peer))
    return seen


def check_same(server, home, look, **options):
    direct, through = both(server, home, look, **options)
    assert through == direct


every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)
every_era = pytest.mark.parametrize("mode", ["auto", "legacy"])


@every_era
@every_server
def test_handshake_is_the_servers_own(server, mode, tmp_path):
    check_same(server, tmp_path / "home", Peer.handshake, mode=mode)


@every_server
def test_resources_and_prompts_are_listed_alike(server, tmp_path):
    check_same(server, tmp_path / "home", lambda peer: [peer.resources(), peer.resource_templates(), peer.prompts()])


@every_era
@every_server
def test_small_results_are_the_same(server, mode, tmp_path):
    home = tmp_path / "home"

    def look(peer):
        calls = [peer.call(tool, **arguments) for tool, arguments in server.calls(home)]
        reads = [peer.read(uri) for uri in server.reads]
        return calls + reads + [peer.prompt(name, **arguments) for name, arguments in server.prompts]

    check_same(server, home, look, mode=mode)


@every_server
def test_small_results_are_the_same_bytes(server, tmp_path):
    home = tmp_path / "home"
    lines = [
        request(f"call-{n}", "tools/call", {"name": tool, "arguments": arguments})
        for n, (tool, arguments) in enumerate(server.calls(home))
    ]
    lines += [request(7, "resources/list", {}), request(2**40, "prompts/list", {}), request('ü/"', "x/unknown", {})]

    def look(command):
        server.fresh(home)
        with Wire(command, env=server.env(home)) as wire:
            # Portion adds a sentence to the instructions, or instructions of that sentence.
            opening = re.sub(rb',"instructions":"Ask in the first call:[^"]*"|\\n\\nAsk in the first call:[^"]*', b"", wire.open())
            return [opening, *map(wire.ask, lines)]

    assert look(wrapped(server.command(home))) == look(server.command(home))


@every_era
@every_server
def test_tools_are_listed_alike_but_for_ours(server, mode, tmp_path):
    direct, through = both(server, tmp_path / "home", Peer.tools, mode=mode)
    *listed, read, query = through.pop("tools")
    assert [tool["name"] for tool in listed] == [tool["name"] for tool in direct["tools"]]
    for was, now in zip(direct.pop("tools"), listed, strict=True):
        check_tool(was, now)
    check_ours(read, query)
    assert through == direct


def check_tool(was, now):
    """`now` is `was` with optional controls where it lists things, and a schema that portions fit as well."""
    assert ("outputSchema" in now) == ("outputSchema" in was)
    assert {**now, "inputSchema": 0, "outputSchema": 0} == {**was, "inputSchema": 0, "outputSchema": 0}
    old, new = was["inputSchema"], now["inputSchema"]
    added = set(new.get("properties", {})) - set(old.get("properties", {}))
    rest = {name: schema for name, schema in new.get("properties", {}).items() if name not in added}
    assert {**new, "properties": rest} == {**old, "properties": old.get("properties", {})} | (
        {} if "properties" in old or added else {"properties": rest}
    )
    output = was.get("outputSchema", {}).get("properties", {})
    hints = was.get("annotations") or {}
    # Pages do not help with a result that is one text, but queries do.
    is_text = list(output) == ["content"] and output["content"].get("type") == "string"
    lists = not is_text and LIST_NAME.match(was["name"]) or '"array"' in json.dumps(was.get("outputSchema", {}))
    writes = hints.get("readOnlyHint") is False or not hints and WRITE_NAME.match(was["name"])
    if writes or "media" in was["name"] or "image" in was["name"]:
        wanted = set()
    else:
        wanted = OURS if lists else {"query"} if hints.get("readOnlyHint") else set()
    # What is always small is no subject of a query.
    assert added in (wanted - set(old.get("properties", {})), wanted - {"query"}), was["name"]
    assert not added & set(new.get("required", []))
    assert len(json.dumps(new)) <= 16_384


def check_ours(read, query):
    assert [read["name"], query["name"]] == ["portion_read", "portion_query"]
    for tool in (read, query):
        assert "outputSchema" not in tool
        assert tool["annotations"]["readOnlyHint"] is True
    assert list(read["inputSchema"]["properties"]) == ["cursor", "fields", "path", "lines", "all"]
    assert list(query["inputSchema"]["properties"]) == ["cursor", "query", "with"]
    assert sum(tokens.count(json.dumps(tool, separators=(",", ":"))) for tool in (read, query)) <= 170


def test_the_server_gets_the_clients_environment(tmp_path):
    server = dataclasses.replace(EVERYTHING, env=lambda home: {"API_KEY": "s e=c\nret"})

    def look(peer):
        return json.loads(peer.call("get-env")["content"][0]["text"])

    check_same(server, tmp_path / "home", look)


@every_server
def test_tools_are_listed_in_the_same_bytes_each_time(server, tmp_path):
    server.fresh(tmp_path / "home")
    with Wire(wrapped(server.command(tmp_path / "home"))) as wire:
        wire.open()
        lists = {wire.ask(request(1, "tools/list", {})) for _ in range(3)}
    assert len(lists) == 1


def test_the_server_may_ask_the_client(tmp_path):
    """Sampling, elicitation, roots, logging and progress cross Portion in both directions."""
    import mcp_types as types

    async def sample(context, params):
        content = types.TextContent(type="text", text=f"sampled {len(params.messages)}")
        return types.CreateMessageResult(role="assistant", content=content, model="none")

    async def elicit(context, params):
        return types.ElicitResult(action="decline")

    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="somewhere")])

    def look(peer):
        steps = []

        async def progress(done, total, message):
            steps.append((done, total, message))

        names = [tool["name"] for tool in peer.tools()["tools"] if not tool["name"].startswith("portion_")]
        asked = [
            peer.call("trigger-sampling-request", prompt="hello", maxTokens=5),
            peer.call("trigger-elicitation-request"),
            peer.call("get-roots-list"),
            peer.call("trigger-long-running-operation", progress=progress, duration=0.2, steps=4),
        ]
        return names, asked, steps

    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    direct, through = both(EVERYTHING, tmp_path / "home", look, mode="legacy", **callbacks)
    assert "sampled 1" in json.dumps(direct) and len(direct[2]) == 4
    assert through == direct

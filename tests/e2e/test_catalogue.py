"""Shortened lists of tools: `--catalog trim` and `lazy`, on the catalogues of published servers."""

import json
import os
import re
from contextlib import ExitStack, contextmanager

import jsonschema
import pytest

from harness import tokens
from harness.command import PAGES_FIXTURE, REPOSITORY, wrapped
from harness.listening import Listening, served
from harness.peer import Peer
from harness.published import ALL, FILESYSTEM, SQLITE
from harness.samples import samples
from harness.wire import Wire, request

STYLES = ["full", "trim", "lazy"]
OURS = {"portion_read", "portion_query", "portion_describe"}
CONTROLS = {"limit", "cursor", "fields", "query"}
PAGE = REPOSITORY / "docs/clients.md"

every_server = pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)
every_era = pytest.mark.parametrize("mode", ["auto", "legacy"])


def catalog(style):
    return ["--catalog", style]


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory):
    """Every server's tools: listed directly, and in every style."""

    def listed(server, options):
        home = tmp_path_factory.mktemp(server.name) / "home"
        server.fresh(home)
        command = server.command(home)
        with Wire(command if options is None else wrapped(command, *options), env=server.env(home)) as wire:
            wire.open()
            lists = {wire.ask(request(1, "tools/list", {})) for _ in range(2)}
        assert len(lists) == 1, "the same bytes each time"
        return json.loads(lists.pop())["result"]["tools"]

    return {
        server.name: {"directly": listed(server, None)} | {style: listed(server, catalog(style)) for style in STYLES}
        for server in ALL
    }


def cost(tools, *keys):
    """Tokens of a list; with `keys`, of these members of each tool."""
    shown = [{key: tool[key] for key in keys if key in tool} if keys else tool for tool in tools]
    return tokens.count(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


@every_server
def test_a_shorter_style_costs_less(server, catalogues):
    full, trim, lazy = (cost(catalogues[server.name][style]) for style in STYLES)
    # The descriptions of this one are one sentence each, and its schemas bare.
    assert trim < full or server is SQLITE and trim == full
    assert lazy < trim


@every_server
def test_what_is_added_is_small(server, catalogues):
    direct = {tool["name"]: tool for tool in catalogues[server.name]["directly"]}
    *listed, read, query = catalogues[server.name]["full"]
    assert tokens.count(compact(read)) + tokens.count(compact(query)) <= 170
    added_to_schemas = 0
    for tool in listed:
        was = direct[tool["name"]]
        assert set(tool["inputSchema"].get("properties", {})) - set(was["inputSchema"].get("properties", {})) <= CONTROLS
        assert tokens.count(compact(tool["inputSchema"])) - tokens.count(compact(was["inputSchema"])) <= 30
        added_to_schemas += sum(tokens.count(compact(it["outputSchema"])) * sign for it, sign in ((tool, 1), (was, -1)) if "outputSchema" in it)
    assert added_to_schemas <= 25 * len(listed)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@every_server
def test_every_tool_is_listed_in_every_style(server, catalogues):
    direct = {tool["name"]: tool for tool in catalogues[server.name]["directly"]}
    for style in STYLES:
        *listed, read, query = catalogues[server.name][style][: None if style != "lazy" else -1]
        assert [tool["name"] for tool in listed] == list(direct)
        assert [read, query] == catalogues[server.name]["full"][-2:], "ours are not shortened"
        for tool in listed:
            was = direct[tool["name"]]
            assert {key: tool[key] for key in tool if key not in SHORTENED} == {
                key: was[key] for key in was if key not in SHORTENED
            }
    assert catalogues[server.name]["lazy"][-1]["name"] == "portion_describe"


SHORTENED = {"description", "inputSchema", "outputSchema"}


@every_server
def test_a_trimmed_schema_takes_what_the_full_one_takes(server, catalogues):
    full, trim = catalogues[server.name]["full"], catalogues[server.name]["trim"]
    accepted = 0
    for was, now in zip(full, trim, strict=True):
        assert now.get("description", "") in was.get("description", "")
        for key in ("inputSchema", "outputSchema"):
            assert (key in was) == (key in now)
            if key in was:
                accepted += check_alike(was[key], now[key])
    assert accepted >= len(full), "some of the samples are good"


def check_alike(was, now):
    kind = jsonschema.validators.validator_for(was, jsonschema.Draft202012Validator)
    unsaid = jsonschema.validators.validator_for(now, jsonschema.Draft202012Validator)
    unsaid.check_schema(now)
    accepted = 0
    for sample in samples(was):
        verdict = kind(was).is_valid(sample)
        assert unsaid(now).is_valid(sample) == verdict, (sample, was, now)
        accepted += verdict
    return accepted


@every_server
def test_calls_that_were_valid_are(server, catalogues, tmp_path):
    schemas = [
        {tool["name"]: tool["inputSchema"] for tool in catalogues[server.name][style]} for style in ("directly", *STYLES)
    ]
    for tool, arguments in server.calls(tmp_path / "home"):
        verdicts = [jsonschema.Draft202012Validator(listed[tool]).is_valid(arguments) for listed in schemas if tool in listed]
        assert not any(verdicts[:1]) or all(verdicts), (tool, arguments)


@every_server
def test_a_described_tool_is_the_direct_one(server, catalogues, tmp_path):
    direct = catalogues[server.name]["directly"]
    names = [tool["name"] for tool in direct]
    server.fresh(tmp_path / "home")
    with Peer(wrapped(server.command(tmp_path / "home"), *catalog("lazy")), env=server.env(tmp_path / "home")) as peer:
        alone = [described(peer, [name]) for name in names]
        some = described(peer, names[:3])
        wrong = peer.call("portion_describe", names=[names[0] + "s"])
    assert [without_controls(tool, was) for [tool], was in zip(alone, direct, strict=True)] == direct
    assert some == [tool for [tool] in alone[:3]]
    assert wrong["isError"] and f"did you mean {names[0]}?" in wrong["content"][0]["text"]


def described(peer, names):
    [block] = peer.call("portion_describe", names=names)["content"]
    return [json.loads(line) for line in block["text"].split("\n")]


def without_controls(tool, was):
    """A tool that is described as it is listed in full: with our controls, where it had none of their names."""
    own = was["inputSchema"].get("properties", {})
    properties = tool["inputSchema"].get("properties", {})
    kept = {name: schema for name, schema in properties.items() if name in own or name not in CONTROLS}
    return tool | {"inputSchema": tool["inputSchema"] | ({"properties": kept} if "properties" in was["inputSchema"] else {})}


@pytest.mark.parametrize("style", ["trim", "lazy"])
@every_era
@every_server
def test_small_results_are_the_same(server, mode, style, tmp_path):
    """The SDK holds `structuredContent` against what was listed, if anything was."""
    home = tmp_path / "home"
    seen = []
    for command in (server.command(home), wrapped(server.command(home), *catalog(style))):
        server.fresh(home)
        with Peer(command, env=server.env(home), mode=mode) as peer:
            peer.tools()
            seen.append([peer.call(tool, **arguments) for tool, arguments in server.calls(home)])
    direct, through = seen
    assert through == direct


def test_controls_are_taken_from_tools_listed_in_one_line(tmp_path):
    FILESYSTEM.fresh(tmp_path)
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("")
    with Peer(wrapped(FILESYSTEM.command(tmp_path), *catalog("lazy"))) as peer:
        peer.tools()
        reply = peer.call("list_directory", path=str(tmp_path), limit=3)
        read = peer.call("portion_read", cursor=reply["_meta"]["io.portion/notice"]["nextCursor"])
    assert reply["content"][0]["text"].count("\n") == 3
    assert "[FILE] 3.txt" in read["content"][0]["text"]


def test_our_tools_can_be_renamed(tmp_path):
    FILESYSTEM.fresh(tmp_path)
    renamed = ["--describe-tool", "show_tools", "--read-tool", "read_file", "--query-tool", "ask"]
    options = [*catalog("lazy"), *renamed]
    with Peer(wrapped(FILESYSTEM.command(tmp_path), *options)) as peer:
        names = [tool["name"] for tool in peer.tools()["tools"]]
        assert described_name(peer) == "list_directory"
    assert names[-3:] == ["read_file_2", "ask", "show_tools"]


def described_name(peer):
    [block] = peer.call("show_tools", name="list_directory")["content"]
    return json.loads(block["text"])["name"]


@pytest.fixture(scope="module", params=["stdio", "serve", "serve --url"])
def front(request):
    """Starts Portion on a front, in front of the server whose list of tools ends in some way."""

    @contextmanager
    def started(ending):
        with ExitStack() as stack:
            if request.param == "stdio":
                yield wrapped([*PAGES_FIXTURE, ending])
                return
            behind = ["--", *PAGES_FIXTURE, ending]
            if request.param == "serve --url":
                behind = ["--url", stack.enter_context(Listening([*PAGES_FIXTURE, "--http", ending])).url]
            yield stack.enter_context(Listening(served(*behind))).url

    return started


@every_era
@pytest.mark.parametrize(("ending", "tools"), [("last", 12), ("repeated", 12), ("failed", 6), ("endless", None)])
def test_s4_pages_of_tools_are_one_list(front, mode, ending, tools):
    """Many clients read only the first page."""
    with front(ending) as server, Peer(server, mode=mode) as peer:
        listed = peer.tools()
        assert not tools or peer.tools() == listed, "the same each time"
        *names, read, query = [tool["name"] for tool in listed["tools"]]
        assert (read, query) == ("portion_read", "portion_query")
        assert len(names) == tools if tools else 12 < len(names) <= 3000
        assert names == [f"tool_{number}" for number in range(len(names))]
        assert "nextCursor" not in listed
        if mode == "auto":
            assert (listed["ttlMs"], listed["cacheScope"]) == (60000, "public")
        reply = peer.call("tool_5", q="x")
        read = peer.call("portion_read", cursor=reply["_meta"]["io.portion/notice"]["nextCursor"])
        assert "row 899" in json.dumps(read) or read["_meta"]["io.portion/notice"]["nextCursor"]


@every_era
def test_s4_a_call_before_the_list_finds_the_tool_of_a_later_page(front, mode):
    with front("last") as server, Peer(server, mode=mode) as peer:
        reply = peer.call("tool_11", q="x", limit=3)
        shown = json.loads(reply["content"][0]["text"])
        assert shown["arguments"] == {"q": "x"}, "the limit is ours"
        assert len(shown["rows"]) == 3


def test_s4_the_first_page_keeps_its_bytes():
    with Wire([*PAGES_FIXTURE, "last"]) as wire:
        wire.open()
        direct = wire.ask(request(1, "tools/list", {}))
    with Wire(wrapped([*PAGES_FIXTURE, "last"], "--query-argument", "none")) as wire:
        wire.open()
        line = wire.ask(request(1, "tools/list", {}))
        wire.send(request(2, "tools/list", {}))
        wire.process.stdin.close()
        again = wire.until(lambda message: message.get("id") == 2)[-1]
    first, rest = direct.split(b'], "nextCursor": "page 1"')
    assert line.startswith(first + b",{") and line.endswith(b"]" + rest)
    assert again == line.replace(b'"id": 1', b'"id": 2'), "all pages, also if the client's input has ended"


def test_s4_a_cursor_of_the_client_is_the_servers():
    with Wire(wrapped([*PAGES_FIXTURE, "last"])) as wire:
        wire.open()
        listed = json.loads(wire.ask(request(1, "tools/list", {"cursor": "page 2"})))["result"]["tools"]
        assert [tool["name"] for tool in listed][:6] == [f"tool_{number}" for number in range(6, 12)]
        assert [tool["name"] for tool in listed][6:] == ["portion_read", "portion_query"]


def test_the_page_shows_what_is_measured(catalogues):
    """`UPDATE_DOCS=1` writes the table of `docs/clients.md` anew."""
    shown = ("name", "description", "inputSchema")
    rows = []
    for name, lists in catalogues.items():
        costs = " | ".join(f"{cost(lists[style], *shown):,}" for style in ("directly", *STYLES))
        rows.append(f"| {name} | {len(lists['directly'])} | {costs} |")
    head = "| server | tools | directly | `full` | `trim` | `lazy` |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    table = head + "\n".join(rows)
    page, places = re.subn(
        r"(<!-- measured -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}{table}\n{found[2]}",
        PAGE.read_text(),
        flags=re.DOTALL,
    )
    assert places == 1
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "docs/clients.md is out of date; UPDATE_DOCS=1 writes its table anew"

"""Published servers whose tools have arguments named like controls: those stay theirs, also beside a cursor."""

import pytest
from harness.command import NODE_SERVERS, wrapped
from harness.peer import Peer
from harness.published import FILESYSTEM, MEMORY, SQLITE
from harness.reply import HARD_CAP, Reply, lawful

CLAUDE_CODE = ["node", str(NODE_SERVERS.parent / "@anthropic-ai/claude-code/cli.js"), "mcp", "serve"]
GUESTS = [{"name": f"Guest {number}", "entityType": "guest", "observations": [f"arrives at {number % 24}:00 and likes the sea"]} for number in range(300)]


def many_files(home):
    (home / "many").mkdir(parents=True, exist_ok=True)
    for number in range(900):
        (home / f"many/file-{number:03}.txt").write_text(f"needle {number}\n" * 2)
    return {"path": str(home / "many")}


def many_guests(peer):
    peer.call("create_entities", entities=GUESTS)


def many_rows(peer):
    peer.call("create_table", query="CREATE TABLE stay (id INTEGER PRIMARY KEY, guest TEXT)")
    rows = ",".join(f"({number}, 'Guest {number} of the house')" for number in range(1_500))
    peer.call("write_query", query=f"INSERT INTO stay VALUES {rows}")


CASES = {
    "list_directory": (FILESYSTEM, None, many_files),
    "list_directory_with_sizes": (FILESYSTEM, None, lambda home: many_files(home) | {"sortBy": "name"}),
    "directory_tree": (FILESYSTEM, None, many_files),
    "search_files": (FILESYSTEM, None, lambda home: many_files(home) | {"pattern": "**/*.txt"}),
    "search_nodes": (MEMORY, many_guests, lambda home: {"query": "sea"}),
    "read_query": (SQLITE, many_rows, lambda home: {"query": "SELECT id, guest FROM stay ORDER BY id"}),
}


@pytest.mark.parametrize("tool", CASES)
def test_an_argument_of_the_tool_stays_its_own_beside_a_cursor(tool, tmp_path):
    server, prepare, arguments = CASES[tool]
    home = tmp_path / "home"
    server.fresh(home)
    arguments = arguments(home)
    with Peer(wrapped(server.command(home)), env=server.env(home)) as peer:
        if prepare:
            prepare(peer)
        listed = next(listed for listed in peer.tools()["tools"] if listed["name"] == tool)
        assert arguments.keys() <= listed["inputSchema"]["properties"].keys()
        reply, served = Reply(peer.call(tool, **arguments)), 0
        while True:
            assert not reply.result.get("isError"), reply.text
            served += 1
            if not reply.next:
                break
            result = peer.call(tool, **arguments, cursor=reply.next)
            lawful(result, HARD_CAP)
            reply = Reply(result)
        assert served > 2
        # What the argument selects is the server's: another value gives another result.
        other = {"query": "SELECT 7 AS lucky"} if tool == "read_query" else {"query": "no such words"} if tool == "search_nodes" else {"path": str(home)}
        text = Reply(peer.call(tool, **arguments | other)).text
        assert "lucky" in text if tool == "read_query" else "Guest" not in text and "file-899" not in text or tool in ("directory_tree", "search_files")


def test_paging_arguments_of_claude_code_are_its_own(tmp_path):
    arguments = many_files(tmp_path)
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(1, 3_001)))
    environment = {"HOME": str(tmp_path)}
    calls = [
        ("Read", {"file_path": str(tmp_path / "lines.txt"), "offset": 2_990, "limit": 3}),
        ("Grep", {"pattern": "needle 77", "output_mode": "content", **arguments}),
        ("Glob", {"pattern": "file-00*.txt", **arguments}),
    ]
    with Peer(CLAUDE_CODE, env=environment) as direct, Peer(wrapped(CLAUDE_CODE), env=environment) as peer:
        for tool, given in calls:
            # Its search is parallel: the lines come in any order.
            seen, wanted = (sorted(Reply(asked.call(tool, **given)).text.split("\\n")) for asked in (peer, direct))
            assert len(seen) == len(wanted) and set("".join(seen)) == set("".join(wanted)), tool

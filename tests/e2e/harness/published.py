"""The published servers, what is prepared for them, and the small calls put to each."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .command import CLIENT_BIN, LEGACY_BIN, NODE_SERVERS


def node(server, *arguments):
    return ["node", str(NODE_SERVERS / server / "dist/index.js"), *arguments]


@dataclass(frozen=True)
class Published:
    name: str
    command: Callable[[Path], list[str]]
    calls: Callable[[Path], list[tuple[str, dict]]]
    prepare: Callable[[Path], None] = lambda home: None
    env: Callable[[Path], dict[str, str]] = lambda home: {}
    reads: list[str] = field(default_factory=list)
    prompts: list[tuple[str, dict]] = field(default_factory=list)

    def fresh(self, home):
        """`home` as it was before any call: both runs of a comparison begin here, at the same path."""
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        self.prepare(home)


def write_files(home):
    (home / "notes").mkdir()
    (home / "notes/short.txt").write_text("One line.\r\nTwo lines, één komma.\n\n")
    (home / "notes/rows.json").write_text(json.dumps([{"id": n, "price": 1.10 * n} for n in range(9)], indent=1))
    (home / "empty.txt").write_text("")


def make_repository(home):
    stamp = "2026-03-01T12:00:00+0000"
    author = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ana Sousa"), ("EMAIL", "ana@example.org"), ("DATE", stamp))
    }
    env = os.environ | author | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*arguments):
        subprocess.run(["git", "-C", home, *arguments], check=True, env=env, capture_output=True)

    git("init", "-q", "-b", "main")
    for number in range(3):
        (home / "list.txt").write_text("".join(f"line {n} of {number}\n" for n in range(number * 4 + 2)))
        git("add", ".")
        git("commit", "-q", "-m", f"Change {number}")
    (home / "list.txt").write_text("changed, not staged\n")


EVERYTHING = Published(
    "everything",
    lambda home: node("server-everything", "stdio"),
    lambda home: [
        ("echo", {"message": 'héllo \u2028 {"a": 1.10}'}),
        ("get-sum", {"a": 1, "b": 2.5}),
        ("get-sum", {"a": "one", "b": 2}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 3}),
        ("get-structured-content", {"location": "New York"}),
        ("get-tiny-image", {}),
        ("no-such-tool", {}),
    ],
    reads=["demo://resource/static/document/how-it-works.md", "demo://resource/nowhere"],
    prompts=[("simple-prompt", {}), ("args-prompt", {"city": "Lisboa"}), ("no-such-prompt", {})],
)

FILESYSTEM = Published(
    "filesystem",
    lambda home: node("server-filesystem", str(home)),
    lambda home: [
        ("list_allowed_directories", {}),
        ("list_directory", {"path": str(home)}),
        ("directory_tree", {"path": str(home)}),
        ("search_files", {"path": str(home), "pattern": "**/*.json"}),
        ("read_text_file", {"path": str(home / "notes/short.txt")}),
        ("read_text_file", {"path": str(home / "notes/short.txt"), "head": 1}),
        ("read_text_file", {"path": str(home / "notes/rows.json")}),
        ("read_text_file", {"path": str(home / "empty.txt")}),
        ("read_text_file", {"path": str(home / "missing.txt")}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("read_multiple_files", {"paths": [str(home / "empty.txt"), str(home / "missing.txt")]}),
        ("write_file", {"path": str(home / "new.txt"), "content": "written\n"}),
        ("edit_file", {"path": str(home / "new.txt"), "edits": [{"oldText": "written", "newText": "edited"}]}),
    ],
    prepare=write_files,
)

MEMORY = Published(
    "memory",
    lambda home: node("server-memory"),
    lambda home: [
        ("read_graph", {}),
        (
            "create_entities",
            {
                "entities": [
                    {"name": "Ana", "entityType": "guest", "observations": ["likes the sea"]},
                    {"name": "House 7", "entityType": "property", "observations": []},
                ]
            },
        ),
        ("create_relations", {"relations": [{"from": "Ana", "to": "House 7", "relationType": "booked"}]}),
        ("add_observations", {"observations": [{"entityName": "Ana", "contents": ["arrives late"]}]}),
        ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
        ("search_nodes", {"query": "sea"}),
        ("open_nodes", {"names": ["House 7"]}),
        ("read_graph", {}),
    ],
    env=lambda home: {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
    reads=["memory://knowledge-graph"],
)

GIT = Published(
    "git",
    lambda home: [str(CLIENT_BIN / "python"), "-m", "mcp_server_git", "--repository", str(home)],
    lambda home: [
        ("git_status", {"repo_path": str(home)}),
        ("git_log", {"repo_path": str(home), "max_count": 2}),
        ("git_diff_unstaged", {"repo_path": str(home)}),
        ("git_show", {"repo_path": str(home), "revision": "HEAD~1"}),
        ("git_show", {"repo_path": str(home), "revision": "no-such-revision"}),
        ("git_add", {"repo_path": str(home), "files": ["list.txt"]}),
        ("git_diff_staged", {"repo_path": str(home), "context_lines": 1}),
        ("git_branch", {"repo_path": str(home), "branch_type": "local"}),
    ],
    prepare=make_repository,
)

SQLITE = Published(
    "sqlite",
    lambda home: [str(LEGACY_BIN / "mcp-server-sqlite"), "--db-path", str(home / "test.db")],
    lambda home: [
        ("create_table", {"query": "CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT, paid REAL)"}),
        ("write_query", {"query": "INSERT INTO guests (name, paid) VALUES ('Ana', 12.50), ('Bo', NULL)"}),
        ("read_query", {"query": "SELECT * FROM guests"}),
        ("read_query", {"query": "SELECT * FROM nowhere"}),
        ("list_tables", {}),
        ("describe_table", {"table_name": "guests"}),
        ("append_insight", {"insight": "Bo has not paid"}),
    ],
    reads=["memo://insights"],
)

ALL = [EVERYTHING, FILESYSTEM, MEMORY, GIT, SQLITE]

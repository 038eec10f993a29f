"""The survival harness, and what every run over it has in common: its options, the proxy's command, the README."""

import argparse
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROFILES = ("lean", "default")
# What a simulated client takes in one reply, and what its model can hold, in tokens.
TOOL_LIMIT, WINDOW = 25_000, 200_000


class Harness:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(self.folder))
        import agent, chunkcheck, docs, mcp_shaper, o200k  # noqa: E401

        self.agent, self.chunkcheck, self.docs, self.mcp_shaper = agent, chunkcheck, docs, mcp_shaper
        self.tokens = o200k.count
        # The commands of a configuration are relative to the harness.
        os.chdir(self.folder)

    def documents(self, classes, only=None):
        return self.docs.load(os.environ.get("PACK", "public"), classes, only)


def config(profile, *options):
    """How the harness starts and calls a server, with options of ours added."""
    config = json.loads((HERE / f"{profile}.json").read_text())
    at = config["command"].index("--")
    # This very interpreter: what `python3` finds may be a script that takes longer to start than a session.
    server = [sys.executable if part == "python3" else part for part in config["command"][at + 1 :]]
    config["command"] = [*config["command"][:at], *options, "--", *server]
    return config


def bare():
    """The server as it is, and no tool but its own."""
    wrapped = config("default")
    return {**wrapped, "command": wrapped["command"][wrapped["command"].index("--") + 1 :], "ops": {}}


def options(doc):
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("harness")
    parser.add_argument("--check", action="store_true", help="fail where a figure is worse than it was")
    parser.add_argument("--readme", help="write the table into this file")
    parser.add_argument("--only", help="documents whose name holds this")
    parser.add_argument("--profile", choices=PROFILES, help="under this profile alone")
    parser.add_argument("-v", action="count", default=0)
    return parser


def percent(share):
    return f"{100 * share:.1f} %"


def publish(readme, name, text):
    """Puts the text between the README's markers of this name."""
    path = HERE.parent.parent / readme
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = path.read_text().partition(first)
    _, _, after = rest.partition(last)
    path.write_text(f"{before}{first}\n{text}\n{last}{after}")


def verdict(failed, check):
    """The exit status: what became worse than it was is said, and fails where that was asked for."""
    if failed:
        print("worse than it was: " + ", ".join(failed), file=sys.stderr)
    return 1 if check and failed else 0

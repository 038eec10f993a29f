"""How a server is started: as it is, or with Portion in front."""

import os
import tempfile
from pathlib import Path

E2E = Path(__file__).resolve().parents[1]
REPOSITORY = E2E.parents[1]
PORTION = str(Path(os.environ.get("PORTION_BIN") or REPOSITORY / "target/debug/portion").absolute())

CLIENT_BIN = E2E / ".venv/client/bin"
LEGACY_BIN = E2E / ".venv/legacy/bin"
NODE_SERVERS = E2E / "node_modules/@modelcontextprotocol"

FORK_SERVER = str(Path(tempfile.gettempdir()) / f"portion-tests-{os.getpid()}.sock")
"""Socket of the process that forks servers with the SDK."""


def with_sdk(script, *arguments):
    """The command of a Python server that imports the MCP SDK, which takes a second if it is not forked."""
    python = str(CLIENT_BIN / "python")
    forked = str(E2E / "harness/forked.py")
    return [python, "-I", "-S", forked, FORK_SERVER, python, str(E2E / script), *arguments]


FIXTURE = [str(CLIENT_BIN / "python"), str(E2E / "fixture/server.py")]
SDK_FIXTURE = with_sdk("fixture/sdk.py")
MEET_FIXTURE = [str(CLIENT_BIN / "python"), "-I", "-S", str(E2E / "fixture/meet.py")]
TYPED_FIXTURE = with_sdk("fixture/typed.py")
TYPED_FIXTURE_1 = [str(LEGACY_BIN / "python"), str(E2E / "fixture/typed.py")]
FILES_FIXTURE = [str(CLIENT_BIN / "python"), "-I", "-S", str(E2E / "fixture/files.py")]
PAGES_FIXTURE = [str(CLIENT_BIN / "python"), "-I", "-S", str(E2E / "fixture/pages.py")]
RAW_FIXTURE = [str(CLIENT_BIN / "python"), str(E2E / "fixture/raw.py")]


def wrapped(command, *options):
    return [PORTION, "wrap", *options, "--", *command]

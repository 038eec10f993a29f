"""What all packages share: the program, its version, the platform, and the test call."""

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGING = REPOSITORY / "packaging"
PUBLISHER = json.loads((PACKAGING / "publisher.json").read_text())
DESCRIPTION = "Keeps results of MCP servers and JSON APIs inside a token budget, with every byte within reach"
# Names of processors: Python's, Debian's and npm's.
PROCESSORS = {
    "x86_64": ("amd64", "x64"), "amd64": ("amd64", "x64"), "aarch64": ("arm64", "arm64"), "arm64": ("arm64", "arm64"),
}
# Longest time for all replies of a server.
REPLIES_SECONDS = 120
SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}


@dataclass(frozen=True)
class Release:
    """A stripped program and where its packages go."""

    binary: Path
    version: str
    out: Path

    @classmethod
    def prepare(cls, binary, out):
        """Copies the program into `out` and strips the copy."""
        out = out.absolute()
        (out / "bin").mkdir(parents=True, exist_ok=True)
        own = out / "bin" / binary.name
        shutil.copy2(binary, own)
        if shutil.which("strip"):
            subprocess.run(["strip", own], check=True)
        version = re.search(r'^version = "([^"]+)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE).group(1)
        reported = run([own, "--version"]).split()[-1]
        if reported != version:
            sys.exit(f"packaging/build: {binary} has version {reported}, and Cargo.toml {version}: build it again")
        return cls(own, version, out)

    @property
    def deb_architecture(self):
        return PROCESSORS[platform.machine().lower()][0]

    @property
    def npm_processor(self):
        return PROCESSORS[platform.machine().lower()][1]

    @property
    def npm_system(self):
        return SYSTEMS[sys.platform]

    def glibc(self):
        """The least version of glibc that the program needs, or None if it does not use glibc."""
        needed = re.findall(rb"GLIBC_(\d+)\.(\d+)", self.binary.read_bytes())
        return max(((int(major), int(minor)) for major, minor in needed), default=None)


def run(line, **options):
    """The stdout of a command. If it fails, its stderr is shown, and the script ends."""
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"packaging/build: {' '.join(map(str, line))}\n{done.stdout}{done.stderr}")
    return done.stdout


def fill(template, **values):
    """A file of `templates` with `@NAME@` replaced."""
    text = (PACKAGING / "templates" / template).read_text()
    for name, value in {**PUBLISHER, "description": DESCRIPTION, **values}.items():
        text = text.replace(f"@{name}@", str(value))
    if left := re.findall(r"@[a-z_]+@", text):
        sys.exit(f"packaging/build: templates/{template}: no value for {', '.join(left)}")
    return text


def replies(line, requests, **options):
    """The results that a server on stdio gives to requests, in their order. A server that takes too long is ended."""
    process = subprocess.Popen(
        [str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    limit = threading.Timer(REPLIES_SECONDS, process.kill)
    limit.start()
    try:
        with process:
            return talk(process, line, requests)
    finally:
        limit.cancel()


def talk(process, line, requests):
    """The results that a process gives to requests on its stdin."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "packaging", "version": "1"}}

    def send(message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    def ask(number, method, params):
        send({"id": number, "method": method, "params": params})
        for answer in process.stdout:
            if (message := json.loads(answer)).get("id") == number:
                return message["result"]
        command = " ".join(map(str, line))
        sys.exit(f"packaging/build: {command} ended, or took over {REPLIES_SECONDS} s, before it answered {method}")

    ask(0, "initialize", opening)
    send({"method": "notifications/initialized"})
    found = []
    for number, request in enumerate(requests, 1):
        params = request(found) if callable(request) else request
        found.append(ask(number, "tools/call", params))
    process.stdin.close()
    process.wait(timeout=30)
    return found


def notice(result):
    return json.loads(result["content"][-1]["text"])


def guarded_call(command, server, **options):
    """Calls a tool with a result above the budget through `command`, and reads on. Returns both results."""
    line = [*command, "wrap", "--", *server]
    first = {"name": "search_schools", "arguments": {}}
    follow_up = lambda found: {"name": "portion_read", "arguments": {"cursor": notice(found[0])["nextCursor"]}}  # noqa: E731
    with tempfile.TemporaryDirectory() as home:
        options.setdefault("env", environment(home))
        results = replies(line, [first, follow_up], **options)
    sizes = [sum(len(block["text"].encode()) for block in result["content"]) for result in results]
    if not all(0 < size <= 65536 for size in sizes):
        sys.exit(f"packaging/build: {line}: replies of {sizes} bytes")
    return results


def environment(home, **more):
    """Ours, with a home directory of its own, so that nothing is recorded to the user's telemetry."""
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PORTION_", "XDG_"))}
    return {**kept, "HOME": str(home), "NO_COLOR": "1", **more}

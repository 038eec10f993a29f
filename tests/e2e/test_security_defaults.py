"""What docs/security.md says of the defaults: sockets, modes of files, logs, environment, methods, media types."""

import os
import re
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from harness.command import FIXTURE, PORTION, wrapped
from harness.listening import Listening, served
from harness.rest_stub import RestStub
from harness.talk import ACCEPT
from harness.waiting import until
from harness.wire import Wire

SECRET = "canary-of-an-argument"
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


def listening_sockets(pid):
    """Addresses on which a process listens."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(descriptor)))
    tables = [Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


def homes(folder):
    """Variables for which all files of a user are in a folder."""
    names = {"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "HOME": "home"}
    return {name: str(folder / part) for name, part in names.items()}


def test_wrap_listens_nowhere():
    with Wire(wrapped(FIXTURE)) as wire:
        wire.open()
        wire.call(1, "list_bookings")
        assert listening_sockets(wire.process.pid) == []


def test_serve_listens_on_loopback_only():
    with Listening(served("--admin", "127.0.0.1:0", "--", *FIXTURE)) as front:
        addresses = until(lambda: (found := listening_sockets(front.process.pid)) and len(found) == 2 and found, "both listeners")
        assert {address.split(":")[0] for address in addresses} == {"0100007F"}
    shown = subprocess.run([PORTION, "config", "show"], capture_output=True, text=True, timeout=60, cwd="/").stdout
    assert "127.0.0.1:8765" in shown and "127.0.0.1:9465" in shown


def test_files_are_of_their_owner_alone(tmp_path):
    config = tmp_path / "portion.yaml"
    config.write_text("defaultPageSize: 20\n")
    before = os.umask(0o022)
    try:
        command = [PORTION, "wrap", "--config", str(config), "--store", "file", "--telemetry", "auto", "--", *FIXTURE]
        with Wire(command, env=homes(tmp_path)) as wire:
            wire.open()
            assert b"nextCursor" in wire.call(1, "list_bookings")
            config.write_text("defaultPageSize: 10\n")
            until(lambda: b'"pageSize":10' in wire.call(2, "list_bookings"), "the change is in force")
            wire.close()
            assert wire.exit_code() == 0
    finally:
        os.umask(before)
    files = [path for name in ("state", "data", "config", "home") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"results.db", "key", "telemetry.db"}, files
    assert not [path for path in files if path.stat().st_mode & 0o077], "others can read them"


@pytest.mark.parametrize("level", ["warn", "info", "debug"])
def test_neither_arguments_nor_results_are_logged(level):
    with Wire(wrapped(FIXTURE), env={"PORTION_LOG": level}) as wire:
        wire.open()
        wire.call(1, "list_bookings", count=77)
        wire.call(2, "list_bookings", unknown=SECRET)
        wire.call(3, "portion_read", cursor=SECRET)
        wire.close()
        wire.exit_code()
        said = wire.stderr()
    assert SECRET not in said and "BK-0001" not in said and "Guest" not in said
    ours = [line for line in said.splitlines() if not line.startswith("fixture: ")]
    assert (level == "warn") == (not ours), said


def test_servers_get_no_variables_of_the_allocator():
    show = ["sh", "-c", "env | grep -c ^MALLOC_ >&2; cat >/dev/null"]
    with Wire(wrapped(show), env={}) as wire:
        until(lambda: wire.stderr(), "what the server says")
        assert wire.stderr().split() == ["0"]


@pytest.fixture(scope="module")
def listeners():
    """A listener of each kind, by name: its address, and a path that takes posts."""
    with RestStub({"* /post": lambda request: request.echo()}) as stub:
        behind = {"serve": ["--", *FIXTURE], "http": ["--upstream", stub.url]}
        found = {}
        with (
            Listening([PORTION, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *behind["serve"]], env={"PORTION_LOG": "info"}) as serve,
            Listening([PORTION, "http", "--listen", "127.0.0.1:0", "--admin", "off", *behind["http"]]) as http,
        ):
            admin = until(lambda: re.search(r"dashboard at (http://127\.0\.0\.1:\d+)/", "".join(serve.said)), "an address")[1]
            found = {"serve": serve.url, "http": f"{http.url}/post", "admin": f"{admin}/health"}
            yield found


@pytest.mark.parametrize("kind", ["serve", "http", "admin"])
@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT"])
def test_methods_that_echo_or_tunnel_are_rejected(listeners, kind, method):
    at = urlsplit(listeners[kind])
    with socket.create_connection((at.hostname, at.port), timeout=60) as connection:
        target = "localhost:80" if method == "CONNECT" else at.path
        connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nX-Secret: {SECRET}\r\nConnection: close\r\n\r\n".encode())
        said = b""
        while more := connection.recv(65536):
            said += more
    assert re.match(rb"HTTP/1\.1 (400|404|405|501) ", said), said[:200]
    assert SECRET.encode() not in said


@pytest.mark.parametrize("kind", ["serve", "http", "admin"])
def test_a_page_of_another_origin_is_refused(listeners, kind):
    """As a browser sends a form, and as it reads after a name was bound to this machine."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": ACCEPT, "Origin": "http://evil.example"}
    assert requests.post(listeners[kind], "a=b", headers=form, timeout=30).status_code == 403
    assert requests.get(listeners[kind], headers={"Host": "evil.example"}, timeout=30).status_code == 403


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_serve_takes_json_only(listeners, media):
    refused = requests.post(listeners["serve"], PING.encode(), headers={"Content-Type": media, "Accept": ACCEPT}, timeout=30)
    assert refused.status_code == 415

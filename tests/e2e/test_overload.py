"""Four times as many requests as before, by `wrk`: those that are accepted take three times as long at most, and memory stays bounded."""

import json
import os
import re
import shutil
import subprocess

import pytest

from harness.command import FIXTURE
from harness.listening import Listening, served
from harness.memory import MEBIBYTE, peak_bytes
from harness.reply import lawful
from harness.talk import ACCEPT
from test_shared_store import ERAS, PREFIX, Caller

SECONDS = int(os.environ.get("OVERLOAD_SECONDS", "3"))
RATIO = float(os.environ.get("OVERLOAD_RATIO", "12"))
"""The most that 99 of 100 requests take longer. A loaded machine takes its own time."""
CONNECTIONS = 8
MEBIBYTES = 256

pytestmark = [pytest.mark.alone, pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk")]

SCRIPT = """
wrk.method, wrk.body = "POST", %(body)s
%(headers)s
done = function(summary, latency)
  io.write(string.format("RESULT %%d %%d %%d\\n", latency:percentile(99), summary.requests, summary.errors.status))
end
"""


def lua(text):
    return json.dumps(text, ensure_ascii=True).replace("\\/", "/")


def script(tool, arguments):
    meta = {f"{PREFIX}/protocolVersion": ERAS[1], f"{PREFIX}/clientCapabilities": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}}
    headers = {
        "Content-Type": "application/json", "Accept": ACCEPT, "MCP-Protocol-Version": ERAS[1], "Mcp-Method": "tools/call", "Mcp-Name": tool,
        "Authorization": "Bearer ada",
    }
    lines = "\n".join(f"wrk.headers[{lua(name)}] = {lua(value)}" for name, value in headers.items())
    return SCRIPT % {"body": lua(json.dumps(call)), "headers": lines}


def loaded(url, file, connections):
    """Milliseconds of 99 of 100 requests, the number of requests, and of those that were not accepted."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "60s", "-s", str(file), url]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 120, check=True).stdout
    p99, requests, rejected = map(int, re.search(r"RESULT (\d+) (\d+) (\d+)", said).groups())
    return p99 / 1000, requests, rejected


def test_four_times_as_many_requests(tmp_path):
    with Listening(served("--admin", "off", "--", *FIXTURE)) as front:
        cursor = lawful(Caller(front).call("list_bookings")).next
        file = tmp_path / "read.lua"
        file.write_text(script("portion_read", {"cursor": cursor}))
        usual, requests, rejected = loaded(front.url, file, CONNECTIONS)
        assert requests > 20 and not rejected, (requests, rejected)
        much, more_requests, rejected = loaded(front.url, file, 4 * CONNECTIONS)
        peak = peak_bytes(front.process) // MEBIBYTE
        assert lawful(Caller(front).call("portion_read", cursor=cursor)).text, "it goes on"
    print(f"p99 {usual:.0f} ms at {requests / SECONDS:.0f} a second, {much:.0f} ms at {more_requests / SECONDS:.0f}, {rejected} rejected, {peak} MiB")
    assert much < RATIO * usual
    assert peak < MEBIBYTES

"""Four times as many requests as saturate the machine, by `wrk`: those that are accepted take three times as long at most, others are
rejected early, and memory stays bounded. Both fronts go on afterwards."""

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field

import pytest
import requests

from harness.command import FIXTURE, PORTION
from harness.listening import Listening, served
from harness.memory import MEBIBYTE, peak_bytes
from harness.reply import lawful
from harness.talk import ACCEPT
from harness.waiting import until
from test_http_api import ADA, API
from test_shared_store import ERAS, PREFIX, Caller

SECONDS = int(os.environ.get("OVERLOAD_SECONDS", "3"))
RATIO = 3
"""The most that 99 of 100 accepted requests take longer."""
CONNECTIONS = 32
"""More than the processors can serve at once, and as many as compute at the same time."""
DELAY_MILLISECONDS = 150
"""The delay from which requests are rejected."""
MEBIBYTES = 256
COUNT = 2000
"""Items of the list: many enough that each page is rendered on a thread of its own."""

pytestmark = pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk")

# Each connection has a thread, which knows when its request began.
SCRIPT = """
wrk.method, wrk.body = %(method)s, %(body)s
%(headers)s
local ffi = require("ffi")
ffi.cdef [[ typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int clock, moment *now); ]]
local now, began, pause, threads = ffi.new("moment"), 0, 0, {}
times, rejected, wrong = {}, 0, 0

local function milliseconds()
  ffi.C.clock_gettime(0, now)
  return tonumber(now.seconds) * 1e3 + tonumber(now.nanoseconds) / 1e6
end

function request()
  began = milliseconds()
  return wrk.format()
end

function delay()
  return pause
end

function response(status, headers, body)
  pause = 0
  if status == 200 then
    times[#times + 1] = milliseconds() - began
  elseif status == 503 and headers["retry-after"] == "1" and body:find(%(code)s, 1, true) then
    rejected, pause = rejected + 1, %(pause)d
  else
    wrong = wrong + 1
  end
end

function setup(thread)
  threads[#threads + 1] = thread
end

function done(summary, latency)
  local all, refused, others = {}, 0, 0
  for _, thread in ipairs(threads) do
    for _, time in ipairs(thread:get("times")) do all[#all + 1] = time end
    refused, others = refused + thread:get("rejected"), others + thread:get("wrong")
  end
  table.sort(all)
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %%f %%d %%d %%d\\n", all[math.ceil(#all * 0.99)] or 0, #all, refused, others + errors))
end
"""


def lua(text):
    return json.dumps(text, ensure_ascii=True).replace("\\/", "/")


@dataclass
class Front:
    """A front that serves the next page of a list, and how that page is requested."""

    process: subprocess.Popen
    url: str
    code: str
    method: str = "GET"
    body: str = ""
    headers: dict = field(default_factory=dict)

    def script(self, pause):
        headers = "\n".join(f"wrk.headers[{lua(name)}] = {lua(value)}" for name, value in self.headers.items())
        return SCRIPT % {
            "method": lua(self.method), "body": lua(self.body), "headers": headers, "code": lua(self.code), "pause": pause,
        }

    def is_answering(self):
        return requests.request(self.method, self.url, data=self.body, headers=self.headers, timeout=60).status_code == 200


@pytest.fixture
def serve():
    with Listening(served("--admin", "off", "--", *FIXTURE)) as portion:
        cursor = lawful(Caller(portion).call("list_bookings", count=COUNT)).next
        meta = {f"{PREFIX}/protocolVersion": ERAS[1], f"{PREFIX}/clientCapabilities": {}}
        params = {"name": "portion_read", "arguments": {"cursor": cursor}, "_meta": meta}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Content-Type": "application/json", "Accept": ACCEPT, "MCP-Protocol-Version": ERAS[1], "Mcp-Method": "tools/call",
            "Mcp-Name": "portion_read", **ADA,
        }
        yield Front(portion.process, portion.url, '"code":-32000', "POST", json.dumps(call), headers)


@pytest.fixture
def http():
    with Listening(API) as api:
        command = [PORTION, "http", "--upstream", f"{api.url}/api", "--listen", "127.0.0.1:0", "--admin", "off"]
        with Listening(command) as portion:
            first = requests.get(f"{portion.url}/bookings?count={COUNT}", headers=ADA, timeout=60)
            yield Front(portion.process, portion.url + first.links["next"]["url"], '"code":"busy"', headers=ADA)


def loaded(front, file, connections, pause):
    """Milliseconds of 99 of 100 accepted requests, and the numbers of accepted, rejected and failed ones."""
    file.write_text(front.script(pause))
    command = ["wrk", f"-t{connections}", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "60s", "-s", str(file), front.url]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 120, check=True).stdout
    p99, *counts = re.search(r"RESULT (\S+) (\d+) (\d+) (\d+)", said).groups()
    return float(p99), *map(int, counts)


@pytest.mark.figures
@pytest.mark.parametrize("pause", [1000, 0], ids=["clients wait as Retry-After says", "clients retry at once"])
@pytest.mark.parametrize("kind", ["serve", "http"])
def test_four_times_as_many_requests(request, tmp_path, kind, pause):
    front, file = request.getfixturevalue(kind), tmp_path / "read.lua"
    usual, accepted, _, wrong = loaded(front, file, CONNECTIONS, pause)
    assert accepted > 20 and not wrong, (accepted, wrong)
    much, more_accepted, rejected, wrong = loaded(front, file, 4 * CONNECTIONS, pause)
    assert more_accepted > 20 and not wrong, (more_accepted, wrong)
    peak = peak_bytes(front.process) // MEBIBYTE
    until(front.is_answering, "it goes on")
    print(
        f"p99 {usual:.0f} ms at {accepted / SECONDS:.0f} a second, "
        f"{much:.0f} ms at {more_accepted / SECONDS:.0f}, {rejected} rejected, {peak} MiB"
    )
    assert rejected or much < 2 * DELAY_MILLISECONDS, f"nothing was rejected, and {much:.0f} ms passed"
    assert much < max(RATIO * usual, DELAY_MILLISECONDS)
    assert peak < MEBIBYTES


def test_what_belongs_to_accepted_requests_is_never_rejected(serve, tmp_path):
    """Pings, notifications and the end of a session pass while others are rejected."""
    caller = Caller(serve, ERAS[0])
    file = tmp_path / "read.lua"
    file.write_text(serve.script(0))
    command = ["wrk", f"-t{4 * CONNECTIONS}", f"-c{4 * CONNECTIONS}", f"-d{SECONDS}s", "-s", str(file), serve.url]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as load:
        time.sleep(SECONDS / 2)
        for _ in range(5):
            assert "result" in json.loads(caller.ask('{"jsonrpc":"2.0","id":1,"method":"ping"}')[-1])
            caller.tell('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}')
        assert caller.end() < 300
        assert load.wait() == 0

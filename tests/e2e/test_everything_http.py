"""The published server that speaks every transport, on every pairing: the same as without Portion."""

import itertools
import os
import socket
import subprocess
from contextlib import contextmanager

import mcp_types as types
import pytest

from harness.pairing import FRONTS, UPSTREAMS, pairing
from harness.peer import Peer
from harness.ports import free_port
from harness.published import EVERYTHING, node
from harness.waiting import until

SECONDS = 30


@contextmanager
def everything(transport):
    """The server over `transport`, on a port that was free; its address."""
    port = free_port()
    command = node("server-everything", transport)
    environment = os.environ | {"PORT": str(port)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(port) or process.poll() is not None, f"{transport} starts", seconds=SECONDS)
        assert process.poll() is None, f"{transport} did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


async def sample(context, parameters):
    content = types.TextContent(type="text", text=f"sampled {len(parameters.messages)}")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def elicit(context, parameters):
    return types.ElicitResult(action="decline")


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="somewhere")])


CALLBACKS = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}


def look(peer):
    """Everything that a client may want of this server, in the answers' JSON."""
    steps = []

    async def progress(done, total, message):
        steps.append((done, total))

    names = [tool["name"] for tool in peer.tools()["tools"] if not tool["name"].startswith("portion_")]
    calls = [peer.call(tool, **arguments) for tool, arguments in EVERYTHING.calls(None)]
    calls.append(peer.call("trigger-sampling-request", prompt="hello", maxTokens=5))
    calls.append(peer.call("trigger-elicitation-request"))
    calls.append(peer.call("get-roots-list"))
    calls.append(peer.call("trigger-long-running-operation", progress=progress, duration=0.2, steps=4))
    reads = [peer.read(uri) for uri in EVERYTHING.reads]
    prompts = [peer.prompt(name, **arguments) for name, arguments in EVERYTHING.prompts]
    lists = [peer.resources(), peer.resource_templates(), peer.prompts()]
    return {"handshake": peer.handshake(), "names": names, "calls": calls, "reads": reads, "prompts": prompts} | {
        "steps": steps,
        "lists": lists,
    }


@pytest.fixture(scope="module")
def direct():
    with Peer(node("server-everything", "stdio"), mode="legacy", **CALLBACKS) as peer:
        return look(peer)


@pytest.fixture(scope="module")
def addresses():
    with everything("streamableHttp") as http, everything("sse") as sse:
        yield {"http": f"{http}/mcp", "sse": f"{sse}/sse"}


@pytest.mark.parametrize(("front", "kind"), list(itertools.product(FRONTS, UPSTREAMS)))
def test_it_is_the_same_through_every_pairing(front, kind, addresses, direct):
    behind = ["--url", addresses[kind]] if kind in addresses else ["--", *node("server-everything", "stdio")]
    with pairing(front, *behind) as target:
        with Peer(target.get("url") or target["command"], mode="legacy", **CALLBACKS) as peer:
            assert look(peer) == direct
            assert len(direct["steps"]) == 4 and "sampled 1" in str(direct["calls"])

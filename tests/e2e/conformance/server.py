#!/usr/bin/env python3
"""The server that the conformance suites ask for, on the official SDK, which speaks both protocol eras.

`--stdio` serves the client that started it; `--port N` serves streamable HTTP at http://127.0.0.1:N/mcp
(0 picks a free port) and says on stderr where.
"""

import argparse
import socket
import sys
import warnings
from pathlib import Path

import anyio
import uvicorn
from mcp.server import CacheHint, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import RequestParams

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from conformance import offers, tasks, tools  # noqa: E402

NAME = "conformance-fixture"
CACHED = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
]
RETRY_MILLISECONDS = 100


class Events(EventStore):
    """What was sent, in order, so that a stream can be resumed."""

    def __init__(self):
        self._sent = []

    async def store_event(self, stream_id, message):
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id, send_callback):
        last = int(last_event_id)
        if not 0 < last <= len(self._sent):
            return None
        stream = self._sent[last - 1][0]
        for number, (owner, message) in enumerate(self._sent[last:], last + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def accepted(ctx, params):
    return {}


def complete(handler):
    """`handler`, whose results are complete where they do not say otherwise; the SDK leaves that out for older eras."""

    async def handle(ctx, params):
        return {"resultType": "complete", **await handler(ctx, params)}

    return handle


HANDLERS = {
    "on_list_tools": tools.listed,
    "on_call_tool": tools.call,
    "on_list_resources": offers.resources,
    "on_list_resource_templates": offers.resource_templates,
    "on_read_resource": offers.read,
    "on_list_prompts": offers.prompts,
    "on_get_prompt": offers.prompt,
    "on_completion": offers.complete,
}


def build():
    server = Server(
        NAME,
        version="1.0.0",
        lifespan=tasks.board,
        cache_hints={method: CacheHint(ttl_ms=60_000, scope="public") for method in CACHED},
        get_tool_input_schema=tools.input_schema,
        on_subscriptions_listen=ListenHandler(tools.CHANGES),
        on_subscribe_resource=accepted,
        on_unsubscribe_resource=accepted,
        on_set_logging_level=accepted,
        **{name: complete(handler) for name, handler in HANDLERS.items()},
    )
    for method, handler in tasks.METHODS.items():
        server.add_request_handler(method, RequestParams, complete(handler))
    server.extensions[tasks.EXTENSION] = {}
    # The SDK's usual key, one a process: a second round has to reach the process that served the first.
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


async def over_stdio(server):
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def over_http(server, port):
    app = server.streamable_http_app(event_store=Events(), retry_interval=RETRY_MILLISECONDS)
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"fixture: listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--stdio", action="store_true")
    where.add_argument("--port", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    if options.stdio:
        anyio.run(over_stdio, build())
    else:
        anyio.run(over_http, build(), options.port)


if __name__ == "__main__":
    main()

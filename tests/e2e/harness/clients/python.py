"""A client of the official Python SDK that does what the lines of its input ask for, as `typescript.mjs` does.

The same file runs on SDK 1 and on SDK 2, whose clients differ little where it matters here.

    python python.py '{"command":[…]}' or '{"url":"http://…"}', and "modern":true for 2026-07-28
"""

import json
import os
import sys
import warnings
from contextlib import AsyncExitStack

import anyio
from mcp import types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

try:
    from mcp import Client, MCPError
except ImportError:
    from mcp import ClientSession
    from mcp import McpError as MCPError

    Client = None

warnings.filterwarnings("ignore")
LOGGED = []


async def on_log(parameters):
    LOGGED.append(parameters.data)


async def on_sampling(context, parameters):
    asked = parameters.messages[0].content
    content = types.TextContent(type="text", text=f"sampled {(asked[0] if isinstance(asked, list) else asked).text}")
    return types.CreateMessageResult(model="none", role="assistant", content=content)


async def on_elicitation(context, parameters):
    return types.ElicitResult(action="accept", content={"name": parameters.message})


async def on_roots(context):
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home/of/the/client"}]})


CALLBACKS = {
    "logging_callback": on_log,
    "sampling_callback": on_sampling,
    "elicitation_callback": on_elicitation,
    "list_roots_callback": on_roots,
}


async def connected(stack, target):
    if "url" in target:
        client = create_mcp_http_client(headers=target.get("headers"))
        transport = streamable_http_client(target["url"], http_client=client)
    else:
        command, *arguments = target["command"]
        # The SDK passes on few variables; these keep the records of a test out of the user's file.
        names = ("PORTION_TELEMETRY", "XDG_DATA_HOME", "XDG_STATE_HOME")
        env = {name: os.environ[name] for name in names if name in os.environ}
        transport = stdio_client(StdioServerParameters(command=command, args=arguments, env=env))
    if Client:
        mode = "2026-07-28" if target.get("modern") else "legacy"
        return await stack.enter_async_context(Client(transport, mode=mode, cache=None, **CALLBACKS))
    reading, writing, *_ = await stack.enter_async_context(transport)
    session = await stack.enter_async_context(ClientSession(reading, writing, **CALLBACKS))
    await session.initialize()
    return session


async def cancel(client, asked):
    """Takes back a call at its first sign of life; SDK 1 leaves it to its user to tell the server."""
    reached = anyio.Event()

    async def on_progress(*_):
        reached.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.call_tool(asked["name"], asked["arguments"], progress_callback=on_progress))
        await reached.wait()
        if not Client:
            number = client._request_id - 1
            parameters = types.CancelledNotificationParams(requestId=number)
            note = types.CancelledNotification(method="notifications/cancelled", params=parameters)
            await client.send_notification(types.ClientNotification(note))
        group.cancel_scope.cancel()
    return {"cancelled": "by its scope"}


async def steps(client, asked):
    seen = []

    async def on_progress(progress, *_):
        seen.append(progress)

    result = await client.call_tool(asked["name"], asked["arguments"], progress_callback=on_progress)
    return {"result": wire(result), "steps": seen}


async def answer(client, asked):
    match asked["do"]:
        case "tools":
            return wire(await client.list_tools())
        case "resources":
            return wire(await client.list_resources())
        case "prompts":
            return wire(await client.list_prompts())
        case "read":
            return wire(await client.read_resource(asked["uri"]))
        case "prompt":
            return wire(await client.get_prompt(asked["name"]))
        case "complete":
            reference = types.PromptReference(type="ref/prompt", name="greet")
            return wire(await client.complete(reference, {"name": "city", "value": asked["value"]}))
        case "level":
            return wire(await client.set_logging_level(asked["level"]))
        case "ping":
            return wire(await client.send_ping())
        case "call":
            return wire(await client.call_tool(asked["name"], asked["arguments"]))
        case "steps":
            return await steps(client, asked)
        case "cancel":
            return await cancel(client, asked)
        case "logged":
            return {"logged": LOGGED}


def wire(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def tell(value):
    print(json.dumps(value, ensure_ascii=False), flush=True)


async def main():
    async with AsyncExitStack() as stack:
        client = await connected(stack, json.loads(sys.argv[1]))
        tell({})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            try:
                tell(await answer(client, json.loads(line)))
            except MCPError as refusal:
                tell({"error": wire(refusal.error)})
            except RuntimeError as invalid:
                tell({"error": {"message": str(invalid)}})


anyio.run(main)

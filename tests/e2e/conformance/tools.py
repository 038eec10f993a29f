"""The tools: what each answers, and the one table they are listed and called from."""

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from conformance import dialogue, rounds, tasks
from conformance.media import audio, embedded, image, result, text

CHANGES = InMemorySubscriptionBus()
PAUSE_SECONDS = 0.05


def always(*contents):
    async def call(ctx, params):
        return result(*contents)

    return call


async def fails(ctx, params):
    return result(text("This tool fails on purpose.")) | {"isError": True}


async def logs(ctx, params):
    for words in ("started", "half way", "done"):
        await dialogue.log(ctx, words)
        await anyio.sleep(PAUSE_SECONDS)
    return result(text("logged"))


async def progresses(ctx, params):
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100, f"{progress} of 100")
        await anyio.sleep(PAUSE_SECONDS)
    return result(text("there"))


async def reconnects(ctx, params):
    """Ends the stream in the middle of the call; the client comes back for the result."""
    if ctx.close_sse_stream:
        await ctx.close_sse_stream()
    await anyio.sleep(2 * PAUSE_SECONDS)
    return result(text("after the break"))


async def needs_sampling(ctx, params):
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "the client has to declare sampling", data)
    return result(text("sampling is declared"))


async def region(ctx, params):
    return result(text((params.arguments or {}).get("region", "none")))


def changes(event):
    async def call(ctx, params):
        await CHANGES.publish(event)
        return result(text("changed"))

    return call


NONE = {"type": "object", "properties": {}}
PROMPT = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}
MESSAGE = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
MIRRORED = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
EVERY_KEYWORD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

# name: (what it does, input schema)
TOOLS = {
    "test_simple_text": (always(text("A simple text.")), NONE),
    "test_image_content": (always(image()), NONE),
    "test_audio_content": (always(audio()), NONE),
    "test_embedded_resource": (always(embedded("test://embedded", "A text inside.")), NONE),
    "test_multiple_content_types": (always(text("Three kinds:"), image(), embedded("test://mixed", "the third")), NONE),
    "test_error_handling": (fails, NONE),
    "test_tool_with_logging": (logs, NONE),
    "test_logging_tool": (logs, NONE),
    "test_tool_with_progress": (progresses, NONE),
    "test_reconnection": (reconnects, NONE),
    "test_sampling": (dialogue.samples, PROMPT),
    "test_elicitation": (dialogue.elicits, MESSAGE),
    "test_elicitation_sep1034_defaults": (dialogue.elicits_with_defaults, NONE),
    "test_elicitation_sep1330_enums": (dialogue.elicits_choices, NONE),
    "test_streaming_elicitation": (rounds.tool({"confirm": rounds.SURE}, lambda answers: "confirmed"), NONE),
    "test_missing_capability": (needs_sampling, NONE),
    "test_x_mcp_header": (region, MIRRORED),
    "json_schema_2020_12_tool": (always(text("Every keyword is listed.")), EVERY_KEYWORD),
    "test_trigger_tool_change": (changes(ToolsListChanged()), NONE),
    "test_trigger_prompt_change": (changes(PromptsListChanged()), NONE),
    **{name: (call, NONE) for name, call in rounds.TOOLS.items()},
    **tasks.TOOLS,
}


def input_schema(name):
    return TOOLS[name][1] if name in TOOLS else None


async def listed(ctx, params):
    tools = [
        {"name": name, "description": f"The suite's {name}", "inputSchema": schema}
        for name, (_, schema) in TOOLS.items()
    ]
    return {"tools": tools}


async def call(ctx, params):
    if params.name not in TOOLS:
        raise MCPError(INVALID_PARAMS, f"no such tool: {params.name}")
    does, _ = TOOLS[params.name]
    return await does(ctx, params)

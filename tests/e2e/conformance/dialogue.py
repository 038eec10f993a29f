"""What a tool of the earlier era does while it runs: log, and ask the client on the stream of its call."""

from mcp.shared.message import ServerMessageMetadata
from mcp.types import CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult

from conformance import rounds
from conformance.media import result, text

CHOICES = {
    "untitledSingle": {"type": "string", "enum": ["red", "green", "blue"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": "lo", "title": "Low"}, {"const": "hi", "title": "High"}],
    },
    "legacyEnum": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["red", "green", "blue"]}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": "lo", "title": "Low"}, {"const": "hi", "title": "High"}]},
    },
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


async def log(ctx, words):
    await ctx.session.send_log_message("info", words, "fixture", related_request_id=ctx.request_id)


async def put(ctx, question, request, answer):
    """The client's answer to `question`; it goes out on the stream of the call that asks."""
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(request.model_validate(question), answer, metadata=metadata)


async def samples(ctx, params):
    answer = await put(ctx, rounds.sampling(params.arguments["prompt"]), CreateMessageRequest, CreateMessageResult)
    return result(text(f"The model says: {answer.content.text}"))


async def elicit(ctx, message, **properties):
    answer = await put(ctx, rounds.elicitation(message, **properties), ElicitRequest, ElicitResult)
    return result(text(f"{answer.action}: {answer.content}"))


async def elicits(ctx, params):
    return await elicit(ctx, params.arguments["message"], username={"type": "string"}, email={"type": "string"})


async def elicits_with_defaults(ctx, params):
    return await elicit(ctx, "Check what is filled in.", **DEFAULTS)


async def elicits_choices(ctx, params):
    return await elicit(ctx, "Choose.", **CHOICES)

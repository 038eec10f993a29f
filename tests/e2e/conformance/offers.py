"""Resources, prompts and completions, as JSON of the wire."""

import re

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from conformance import rounds
from conformance.media import PNG, embedded, image, text

RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "The text of a static resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Nothing has changed yet."},
}
TEMPLATE = "test://template/{id}/data"
FILLED = re.compile(r"test://template/([^/]+)/data")


async def resources(ctx, params):
    listed = [{"uri": uri, "name": uri.split("/")[-1], "mimeType": body["mimeType"]} for uri, body in RESOURCES.items()]
    return {"resources": listed}


async def resource_templates(ctx, params):
    return {"resourceTemplates": [{"uriTemplate": TEMPLATE, "name": "template", "mimeType": "application/json"}]}


async def read(ctx, params):
    uri = str(params.uri)
    if body := RESOURCES.get(uri):
        return {"contents": [{"uri": uri, **body}]}
    if filled := FILLED.fullmatch(uri):
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": f'{{"id":"{filled[1]}"}}'}]}
    raise MCPError(INVALID_PARAMS, f"no such resource: {uri}", {"uri": uri})


def said(*contents):
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def ask_for_context(params):
    def answered(answers, state):
        return said(text(f"Mind this: {answers['user_context']['content']['context']}"))

    question = rounds.elicitation("Which context?", context={"type": "string"})
    return rounds.once(params, {"user_context": question}, answered)


# name: (arguments, what it says)
PROMPTS = {
    "test_simple_prompt": ([], lambda params: said(text("A prompt without arguments."))),
    "test_prompt_with_arguments": (
        ["arg1", "arg2"],
        lambda params: said(text("first {arg1}, second {arg2}".format(**params.arguments))),
    ),
    "test_prompt_with_embedded_resource": (
        ["resourceUri"],
        lambda params: said(embedded(params.arguments["resourceUri"], "What the prompt is about."), text("Sum it up.")),
    ),
    "test_prompt_with_image": ([], lambda params: said(image(), text("What is in the picture?"))),
    "test_input_required_result_prompt": ([], ask_for_context),
}


async def prompts(ctx, params):
    listed = [
        {
            "name": name,
            "description": f"The suite's {name}",
            "arguments": [{"name": argument, "required": True} for argument in arguments],
        }
        for name, (arguments, _) in PROMPTS.items()
    ]
    return {"prompts": listed}


async def prompt(ctx, params):
    if params.name not in PROMPTS:
        raise MCPError(INVALID_PARAMS, f"no such prompt: {params.name}")
    arguments, says = PROMPTS[params.name]
    missing = [argument for argument in arguments if argument not in (params.arguments or {})]
    if missing:
        raise MCPError(INVALID_PARAMS, f"missing arguments: {', '.join(missing)}")
    return says(params)


async def complete(ctx, params):
    values = [f"{params.argument.value}{ending}" for ending in ("1", "2")]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}

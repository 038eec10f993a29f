"""Results that ask the client for more first (`input_required`), for tools and prompts of the 2026-07-28 era."""

import json

from conformance.media import result, text


def elicitation(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(question):
    messages = [{"role": "user", "content": text(question)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


ROOTS = {"method": "roots/list", "params": {}}
WHO = elicitation("What is your name?", name={"type": "string"})
SURE = elicitation("Are you sure?", ok={"type": "boolean"})


def ask(questions, state=None):
    asked = {"resultType": "input_required", "inputRequests": questions}
    return asked if state is None else asked | {"requestState": json.dumps(state)}


def answers_in(params):
    """The client's answers as JSON, and the state that came with them."""
    answers = {
        key: answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        for key, answer in (params.input_responses or {}).items()
    }
    return answers, json.loads(params.request_state) if params.request_state else None


def once(params, questions, answered, state=None):
    """One round: `questions` until all are answered, then `answered`."""
    answers, returned = answers_in(params)
    if questions.keys() <= answers.keys() and returned == state:
        return answered(answers, returned)
    return ask(questions, state)


def tool(questions, words, state=None):
    """A tool that says `words` of the answers after one round."""

    async def call(ctx, params):
        return once(params, questions, lambda answers, _: result(text(words(answers))), state)

    return call


async def three_rounds(ctx, params):
    answers, state = answers_in(params)
    match state:
        case {"round": 1} if "step1" in answers:
            name = answers["step1"]["content"]["name"]
            colour = elicitation("Which colour do you like?", color={"type": "string"})
            return ask({"step2": colour}, {"round": 2, "name": name})
        case {"round": 2, "name": name} if "step2" in answers:
            return result(text(f"{name} likes {answers['step2']['content']['color']}"))
    return ask({"step1": WHO}, {"round": 1})


async def what_the_client_can(ctx, params):
    """Asks only what the client declared that it can answer."""
    able = ctx.session.client_capabilities
    possible = {
        "ask": (able.elicitation, WHO),
        "sample": (able.sampling, sampling("Say hello.")),
        "roots": (able.roots, ROOTS),
    }
    questions = {key: question for key, (declared, question) in possible.items() if declared is not None}
    return once(params, questions, lambda answers, _: result(text(", ".join(answers) or "nothing asked")))


def sampled(answer):
    return f"The model says: {answer['content']['text']}"


TOOLS = {
    "test_input_required_result_elicitation": tool(
        {"user_name": WHO}, lambda answers: f"Hello, {answers['user_name']['content']['name']}!"
    ),
    "test_input_required_result_sampling": tool(
        {"capital_question": sampling("What is the capital of France?")},
        lambda answers: sampled(answers["capital_question"]),
    ),
    "test_input_required_result_list_roots": tool(
        {"client_roots": ROOTS}, lambda answers: ", ".join(root["uri"] for root in answers["client_roots"]["roots"])
    ),
    "test_input_required_result_request_state": tool({"confirm": SURE}, lambda answers: "state-ok", state="kept"),
    "test_input_required_result_tampered_state": tool({"confirm": SURE}, lambda answers: "state-ok", state="sealed"),
    "test_input_required_result_multiple_inputs": tool(
        {"user_name": WHO, "greeting": sampling("Greet me."), "client_roots": ROOTS},
        lambda answers: sampled(answers["greeting"]),
        state="many",
    ),
    "test_input_required_result_multi_round": three_rounds,
    "test_input_required_result_capabilities": what_the_client_can,
}

"""A stand-in for the API of a model: it calls the tool `rows` once, and keeps what the client then shows it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ModelStandIn:
    """Speaks the Responses API of OpenAI and the Messages API of Anthropic, as far as a session of one call needs."""

    def __init__(self):
        self.shown = None
        handler = type("Handler", (_Handler,), {"model": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def _response_events(model, body):
    outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
    if outputs:
        model.shown = outputs[-1]["output"]
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    else:
        name = next(tool["name"] for tool in body["tools"] if tool.get("name", "").endswith("rows"))
        item = {"type": "function_call", "call_id": "1", "name": name, "arguments": "{}"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": {"id": "1"}}
    yield {"type": "response.output_item.done", "item": item}
    yield {"type": "response.completed", "response": {"id": "1", "usage": usage}}


def _message_events(model, body):
    blocks = [block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    model.shown = results[-1] if results else model.shown
    names = [tool["name"] for tool in body.get("tools", []) if tool["name"].endswith("rows")]
    calls = bool(names) and not results
    block = {"type": "tool_use", "id": "toolu_1", "name": names[0], "input": {}} if calls else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": "{}"} if calls else {"type": "text_delta", "text": "done"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{len(results)}", "type": "message", "role": "assistant", "model": body["model"], "content": [], "usage": usage}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_GET(self):
        self.send_response(404)
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        events = _response_events if "input" in body else _message_events
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events(self.model, body):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

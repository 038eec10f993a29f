"""A stand-in for the Chat Completions API of a model that asks one tool, then queries what its reply left out."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ChatStandIn:
    """Calls `tool`, then `portion_query` with the cursor that it was shown, and then says what that returned."""

    def __init__(self, tool, query):
        self.shown = []
        """Texts of the results that the model was shown, in order."""
        self.tools = []
        """Names of the tools that it was offered."""
        self.status = 200
        """Status of its responses."""

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(handler):
                body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
                answer = json.dumps(self.answer(body, tool, query)).encode()
                handler.send_response(self.status)
                handler.send_header("content-type", "application/json")
                handler.send_header("content-length", str(len(answer)))
                handler.end_headers()
                handler.wfile.write(answer)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, body, tool, query):
        self.shown = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        self.tools = [offered["function"]["name"] for offered in body["tools"]]
        if not self.shown:
            message = call(tool, {})
        elif len(self.shown) == 1:
            notice = json.loads(self.shown[0].splitlines()[-1])
            message = call("portion_query", {"cursor": notice["meta"]["cursor"], "query": query})
        else:
            message = {"role": "assistant", "content": f"It is {self.shown[-1]}"}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def call(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}

"""An MCP server for the soak: small results, lists, logs, objects and faults, over stdio or streamable HTTP."""

import json
import os
import random
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = [
    {"name": name, "description": f"Returns a {name}.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"size": {"type": "integer"}, "seed": {"type": "integer"}}}}
    for name in ("small", "list_records", "log", "report", "fault")
]
FAULTS = ["death", "half a message", "garbage", "error"]


def records(size, seed):
    chance = random.Random(seed)
    return [{"id": n, "name": f"record {chance.randrange(10**6)}", "status": chance.choice(["open", "done", "late"]),
             "price": {"total": chance.randrange(10**5), "currency": "EUR"}, "note": "x" * chance.randrange(200)}
            for n in range(size)]


def text(name, size, seed):
    if name == "small":
        return json.dumps({"ok": True, "seed": seed})
    if name == "list_records":
        return json.dumps(records(size, seed))
    if name == "log":
        return "\n".join(f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02}Z INFO worker {seed} did step {n}" for n in range(size))
    return json.dumps({f"part{n}": {"rows": records(size // 20 + 1, seed + n)} for n in range(20)})


def answer(message):
    """The answer to a request; None for a notification."""
    if "id" not in message:
        return None
    params = message.get("params", {})
    if message["method"] == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "soak", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": TOOLS}
    elif message["method"] == "tools/call":
        arguments = params.get("arguments", {})
        said = text(params["name"], arguments.get("size", 0), arguments.get("seed", 0))
        result = {"content": [{"type": "text", "text": said}]}
    else:
        result = {}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def fault(message):
    """The fault that a call asks for."""
    params = message.get("params", {})
    return FAULTS[params["arguments"]["size"] % len(FAULTS)] if params.get("name") == "fault" else None


def wrong(message, kind):
    """What is said in place of an answer."""
    return {
        "death": b"",
        "half a message": json.dumps(answer(message)).encode()[:40],
        "garbage": b"\xff{]garbage",
        "error": json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "it failed"}}).encode(),
    }[kind]


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP, every answer as JSON."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if kind := fault(message):
            self.close_connection = True
            if kind == "death":
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "4000" if kind == "half a message" else str(len(wrong(message, kind))))
            self.end_headers()
            self.wfile.write(wrong(message, kind))
            return
        said = answer(message)
        body = json.dumps(said).encode() if said else b""
        self.send_response(200 if said else 202)
        if message.get("method") == "initialize":
            self.send_header("Mcp-Session-Id", uuid.uuid4().hex)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if "--http" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    for line in sys.stdin:
        if kind := fault(json.loads(line)):
            print(wrong(json.loads(line), kind).decode("latin-1"), flush=True, end="" if kind == "half a message" else "\n")
            if kind in ("death", "half a message"):
                os._exit(3)
            continue
        if said := answer(json.loads(line)):
            print(json.dumps(said), flush=True)

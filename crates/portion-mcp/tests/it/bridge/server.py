"""A server on its pipes that does what a test asks it to. It speaks every revision."""

import json
import os
import sys

waiting, cancelled, asked, calls = [], [], {}, 0


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def log(data):
    say(method="notifications/message", params={"level": "info", "data": data})


def release():
    while waiting:
        say(id=waiting.pop(0), result={"late": True})


for line in sys.stdin:
    message = json.loads(line)
    for one in message if isinstance(message, list) else [message]:
        method, number, params = one.get("method"), one.get("id"), one.get("params") or {}
        meta = params.get("_meta") or {}
        match method:
            case "initialize" if params.get("refuse"):
                say(id=number, error={"code": -32602, "message": "refused"})
            case "initialize":
                info = {"name": "test", "version": "1"}
                say(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
            case "server/discover":
                say(id=number, result={"supportedVersions": ["2026-07-28"], "capabilities": {}})
            case "x/echo":
                say(id=number, result={"line": line})
            case "x/pid":
                say(id=number, result={"pid": os.getpid()})
            case "x/log":
                log("before")
                say(id=number, result={})
            case "x/wait":
                waiting.append(number)
                if "progressToken" in meta:
                    say(method="notifications/progress", params={"progressToken": meta["progressToken"], "progress": 1})
            case "x/release":
                release()
                say(id=number, result={})
            case "x/ask":
                asked["roots"] = number
                say(id="roots", method="roots/list")
            case None if number in asked:
                say(id=asked.pop(number), result={"answer": one.get("result"), "error": one.get("error")})
            case "x/tell":
                log("unasked")
            case "notifications/cancelled":
                cancelled.append(params["requestId"])
            case "x/cancelled":
                say(id=number, result={"waiting": waiting, "cancelled": cancelled})
            case "subscriptions/listen":
                stamp = {"_meta": {"io.modelcontextprotocol/subscriptionId": number}}
                say(method="notifications/subscriptions/acknowledged", params=stamp)
                waiting.append(number)
            case "tools/list":
                region = {"type": "string", "x-mcp-header": "Region"}
                schema = {"type": "object", "properties": {"region": region}}
                listed = {"name": "list_guests", "inputSchema": {"type": "object", "properties": {"city": {}}}}
                listed["annotations"] = {"readOnlyHint": True}
                say(id=number, result={"tools": [{"name": "echo", "inputSchema": schema}, listed]})
            case "tools/call" if params.get("name") == "die":
                os._exit(7)
            case "tools/call" if params.get("name") == "list_guests":
                calls += 1
                guests = [{"id": n, "name": f"guest-of-{os.getpid()}.{calls}-{n}"} for n in range(300)]
                say(id=number, result={"content": [{"type": "text", "text": json.dumps(guests)}]})
            case "tools/call":
                say(id=number, result={"content": [{"type": "text", "text": params["name"]}]})
            case _ if number is not None:
                say(id=number, error={"code": -32601, "message": "no such method"})

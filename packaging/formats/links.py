"""`install-links.md`: links that put Portion, in front of a server, into Cursor and VS Code.

Sources: https://cursor.com/docs/mcp/install-links, https://code.visualstudio.com/api/extension-guides/ai/mcp
"""

import base64
import json
import subprocess
from urllib.parse import parse_qs, quote, urlencode, urlsplit

# Commands of the servers behind Portion. VS Code asks for inputs; in Cursor they are edited before the installation.
URL = {"type": "promptString", "id": "url", "description": "URL of the MCP server, as in https://mcp.example.com/mcp"}
FOLDER = {"type": "promptString", "id": "folder", "description": "Folder of files that the server may read and write"}
SERVERS = {
    "remote": (["--url", "${input:url}"], [URL]),
    "filesystem": (["--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "${input:folder}"], [FOLDER]),
    "everything": (["--", "npx", "-y", "@modelcontextprotocol/server-everything"], []),
}
EXAMPLES = {"${input:url}": "https://mcp.example.com/mcp", "${input:folder}": "/path/to/folder"}


def missing():
    return None


def path(release):
    return release.out / "install-links.md"


def command(release, words):
    return {"command": "npx", "args": ["-y", f"portion-mcp@{release.version}", "wrap", *words]}


def cursor_link(name, config):
    encoded = base64.b64encode(json.dumps(config).encode()).decode()
    return "cursor://anysphere.cursor-deeplink/mcp/install?" + urlencode({"name": name, "config": encoded}, quote_via=quote)


def vscode_link(name, config, inputs):
    query = {"name": name, "config": json.dumps(config)} | ({"inputs": json.dumps(inputs)} if inputs else {})
    return "https://vscode.dev/redirect/mcp/install?" + urlencode(query, quote_via=quote)


def build(release):
    lines = ["| server behind Portion | Cursor | VS Code |", "| --- | --- | --- |"]
    for name, (words, inputs) in SERVERS.items():
        example = command(release, [EXAMPLES.get(word, word) for word in words])
        cursor, vscode = cursor_link(name, example), vscode_link(name, command(release, words), inputs)
        lines.append(f"| `{name}` | [install]({cursor}) | [install]({vscode}) |")
    path(release).write_text("\n".join(lines) + "\n")
    return [path(release)]


def configurations(release):
    """What the links install: client, server, and its configuration."""
    rows = path(release).read_text().splitlines()[2:]
    for name, row in zip(SERVERS, rows, strict=True):
        for link in row.split("](")[1:]:
            link = link.split(")")[0]
            query = {key: values[0] for key, values in parse_qs(urlsplit(link).query).items()}
            assert query["name"] == name
            is_cursor = link.startswith("cursor:")
            config = base64.b64decode(query["config"]) if is_cursor else query["config"]
            yield "cursor" if is_cursor else "vscode", name, json.loads(config), json.loads(query.get("inputs", "[]"))


def smoke(release):
    """Starts what the links say, by this program in place of the package that npx would fetch: each line has to be understood."""
    for client, name, config, inputs in configurations(release):
        assert config["command"] == "npx" and config["args"][:3] == ["-y", f"portion-mcp@{release.version}", "wrap"], config
        assert {f"${{input:{each['id']}}}" for each in inputs} == {word for word in config["args"] if word.startswith("${")}, (client, name)
        words = [EXAMPLES.get(word, word) for word in config["args"][2:]]
        words = words[: words.index("--")] if "--" in words else words
        done = subprocess.run([release.binary, *words, "--help"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (client, name, done.stderr)

"""The official SDK clients, each in its own process and language, asked alike.

Of each SDK the client checks a tool's result against its listed `outputSchema`, and what does not fit is an error here.
"""

import json
import subprocess
import tempfile

from mcp.client.stdio import get_default_environment

from .command import CLIENT_BIN, E2E, LEGACY_BIN

CLIENTS = E2E / "harness/clients"
SDKS = {
    "typescript 1": ["node", str(CLIENTS / "typescript.mjs"), "v1"],
    "typescript 2": ["node", str(CLIENTS / "typescript.mjs"), "v2"],
    "python 1": [str(LEGACY_BIN / "python"), str(CLIENTS / "python.py")],
    "python 2": [str(CLIENT_BIN / "python"), str(CLIENTS / "python.py")],
}
MODERN = ["typescript 2", "python 2"]
"""Those that speak 2026-07-28 too."""


class Driven:
    """One session of the SDK client `name` with `target`: `{"command": […]}` or `{"url": "…"}`, with `headers` for each request."""

    def __init__(self, name, target, *, modern=False, env=None):
        self.name = name
        self.modern = modern
        target = {key: target[key] for key in ("command", "url", "headers") if key in target}
        self._stderr = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [*SDKS[name], json.dumps(target | {"modern": modern})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=get_default_environment() | (env or {}),
            text=True,
        )

    def __enter__(self):
        self._answer()
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, what, **more):
        self._process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def call(self, tool, /, **arguments):
        return self.ask("call", name=tool, arguments=arguments)

    def tools(self):
        return self.ask("tools")

    def read(self, uri):
        return self.ask("read", uri=uri)

    def prompt(self, name):
        return self.ask("prompt", name=name)

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            self._stderr.seek(0)
            raise AssertionError(f"the client ended: {self._stderr.read()[-3000:]}")
        return json.loads(line)

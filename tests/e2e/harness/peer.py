"""The official Python SDK client on one server process, or on the URL of one, for tests that are plain functions.

Results come back as the JSON that was on the wire, so that two of them can be compared.
"""

import os
import tempfile
from contextlib import ExitStack

from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

SECONDS = 60


class Peer:
    def __init__(self, server, *, env=None, cwd=None, mode="auto", **callbacks):
        if not isinstance(server, str):
            server = StdioServerParameters(command=server[0], args=server[1:], env=env, cwd=cwd)
        self._server = server
        self._options = {"mode": mode, "cache": None, "read_timeout_seconds": SECONDS, **callbacks}

    def __enter__(self):
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            self._stderr = stack.enter_context(tempfile.TemporaryFile("w+"))
            stack.callback(self._hear_the_last)
            by_url = isinstance(self._server, str)
            server = self._server if by_url else stdio_client(self._server, errlog=self._stderr)
            client = Client(server, **self._options)
            self._client = stack.enter_context(self._portal.wrap_async_context_manager(client))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        return self._stack.__exit__(*failure)

    def said(self):
        """What a process that was started has said on stderr. The place where it writes on stays where it is."""
        if self._stderr.closed:
            return self._last
        file = self._stderr.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def _hear_the_last(self):
        self._last = self.said()

    def handshake(self, has_all=False):
        """What the server says of itself, without the sentence that Portion adds to its instructions, unless `has_all`."""
        session = self._client.session
        shown = _wire(session.discover_result or session.initialize_result)
        own = (shown.get("instructions") or "").partition("Ask in the first call:")[0].rstrip()
        if has_all:
            return shown
        return {name: value for name, value in shown.items() if name != "instructions"} | ({"instructions": own} if own else {})

    def tools(self):
        return self._listed("tools")

    def resources(self):
        return self._listed("resources")

    def resource_templates(self):
        return self._listed("resource_templates")

    def prompts(self):
        return self._listed("prompts")

    def call(self, tool, /, progress=None, **arguments):
        """A tool's result; the SDK checks it against the listed `outputSchema` and raises if it does not fit."""
        return self._ask(self._client.call_tool, tool, arguments, None, progress)

    def read(self, uri):
        return self._ask(self._client.read_resource, uri)

    def prompt(self, name, **arguments):
        return self._ask(self._client.get_prompt, name, arguments)

    def _listed(self, kind):
        return self._ask(getattr(self._client, f"list_{kind}"))

    def _ask(self, method, *arguments):
        try:
            return _wire(self._portal.call(method, *arguments))
        except MCPError as refusal:
            return {"error": _wire(refusal.error)}


def _wire(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)

"""Keeps results of tools within a token budget. The work is done by the program `portion`, which comes in the same wheel.

`shape` gives a result of any tool as a model should see it, and keeps the rest for follow-ups:

    >>> from portion_client import shape
    >>> reply = shape(rows, max_tokens=2000)
    >>> reply.text, reply.notice, reply.read(fields="id,total"), reply.query("SELECT count(*) FROM items")

`fetch` calls a retrieval tool of an MCP server and keeps the best whole chunks:

    >>> from portion_client import Client, fetch
    >>> result = fetch("search", {"query": "grapple"}, command=["my-rules-server"])
    >>> [chunk.score for chunk in result.chunks]

A `Client` keeps its server for many calls:

    >>> with Client(command=["my-rules-server"]) as client:
    ...     results = [client.fetch("search", {"query": query}) for query in ("grapple", "prone")]
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ._program import STDERR_LINES, PortionError, Program, find_binary
from ._shape import Shaped, ShapeError, Shaper, shape

__all__ = [
    "Chunk", "Client", "FetchError", "FetchResult", "Fill", "PortionError", "ShapeError", "Shaped", "Shaper", "fetch",
    "fetch_async", "find_binary", "shape",
]

Fill = Literal["stop", "skip", "value"]

_log = logging.getLogger("portion_client")
_EXIT_SECONDS = 10.0


class FetchError(PortionError):
    """The call failed, or its result has no chunks. The message says why."""


@dataclass(frozen=True)
class Chunk:
    """A whole chunk as the tool returned it."""

    text: str
    score: float | None = None
    id: str | int | float | None = None
    #: All fields of the chunk.
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FetchResult:
    """The kept chunks, best first."""

    chunks: list[Chunk]
    #: True if anything was left out.
    truncated: bool
    #: Number of chunks that were left out.
    dropped: int
    #: Tokens of the kept texts.
    tokens: int


def fetch(
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    command: Sequence[str] | None = None,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_context_tokens: int = 8192,
    fill: Fill = "stop",
    tokenizer: str = "len4",
    text_field: str | None = None,
    score_field: str | None = None,
    id_field: str | None = None,
    list_field: str | None = None,
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
) -> FetchResult:
    """Calls `tool` on the server that `command` starts or that is at `url`.

    Raises FetchError if the call fails. Chunks that are left out are logged as a warning.
    """
    line, variables = _prepare(locals())
    try:
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout + _EXIT_SECONDS, env=variables
        )
    except subprocess.TimeoutExpired:
        raise FetchError(f"no answer from the tool `{tool}` within {timeout} s") from None
    return _read(done.returncode, done.stdout, done.stderr, text_field, score_field, id_field)


async def fetch_async(
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    command: Sequence[str] | None = None,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_context_tokens: int = 8192,
    fill: Fill = "stop",
    tokenizer: str = "len4",
    text_field: str | None = None,
    score_field: str | None = None,
    id_field: str | None = None,
    list_field: str | None = None,
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
) -> FetchResult:
    """Does what `fetch` does, without blocking the event loop. A cancelled task ends the program."""
    line, variables = _prepare(locals())
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *line, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=variables
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), timeout + _EXIT_SECONDS)
    except asyncio.TimeoutError:
        raise FetchError(f"no answer from the tool `{tool}` within {timeout} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _read(process.returncode or 0, out, err, text_field, score_field, id_field)


class Client:
    """Calls the tools of one server, which is started or connected once. Threads may share it; calls wait for each other.

    The options are those of `fetch`, and the defaults of all calls. `timeout` is the time limit of each call. A server that
    has ended is started again for the next call.
    """

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        max_context_tokens: int = 8192,
        fill: Fill = "stop",
        tokenizer: str = "len4",
        text_field: str | None = None,
        score_field: str | None = None,
        id_field: str | None = None,
        list_field: str | None = None,
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        line, variables = _prepare(locals())
        self._fields = (text_field, score_field, id_field)
        self._timeout = timeout
        self._program = Program(line, variables, _log_warning)

    def fetch(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        max_context_tokens: int | None = None,
        fill: Fill | None = None,
    ) -> FetchResult:
        """Calls `tool`. Raises FetchError if the call fails. Chunks that are left out are logged as a warning."""
        request: dict[str, Any] = {"tool": tool, "arguments": dict(arguments or {})}
        given = {"max_context_tokens": max_context_tokens, "fill": fill}
        request.update({name: value for name, value in given.items() if value is not None})
        answer = self._program.ask(request, self._timeout + _EXIT_SECONDS)
        if not answer:
            lines = [f"no answer from the tool `{tool}`: the client has ended", *self._program.stderr]
            raise FetchError("\n".join(lines))
        read = json.loads(answer)
        if "error" in read:
            raise FetchError(read["error"]["message"])
        return _result(read, *self._fields)

    async def fetch_async(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        max_context_tokens: int | None = None,
        fill: Fill | None = None,
    ) -> FetchResult:
        """Does what `fetch` does, without blocking the event loop."""
        return await asyncio.to_thread(self.fetch, tool, arguments, max_context_tokens=max_context_tokens, fill=fill)

    def close(self) -> None:
        """Ends the server."""
        self._program.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _prepare(call: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    command, url = call["command"], call["url"]
    if (command is None) == (url is None):
        raise FetchError("give either command or url")
    if isinstance(command, str):
        raise FetchError("command is a list of words, as in ['npx', '-y', 'my-server']")
    line = [find_binary(), "fetch", "--json"]
    if "tool" in call:
        line += [f"--tool={call['tool']}", "--args=" + json.dumps(dict(call["arguments"] or {}))]
    else:
        line.append("--requests")
    for option in ("max_context_tokens", "fill", "tokenizer", "text_field", "score_field", "id_field", "list_field"):
        if call[option] is not None:
            line.append(f"--{option.replace('_', '-')}={call[option]}")
    line.append(f"--timeout={call['timeout']}")
    variables = dict(os.environ, **(call["env"] or {}))
    # Headers may be secret; other users of the machine can read a command line.
    for number, (name, value) in enumerate((call["headers"] or {}).items()):
        variables[f"PORTION_CLIENT_HEADER_{number}"] = value
        line.append(f"--header={name}: ${{PORTION_CLIENT_HEADER_{number}}}")
    line += [f"--url={url}"] if url is not None else ["--", *command]
    return line, variables


def _read(
    code: int, out: bytes, err: bytes, text_field: str | None, score_field: str | None, id_field: str | None
) -> FetchResult:
    said = err.decode(errors="replace")
    for line in said.splitlines():
        _log_warning(line)
    if code != 0:
        start = max(f"\n{said}".rfind("\nportion: "), f"\n{said}".rfind("\nerror: "), 0)
        message = said[start:].strip().removeprefix("portion: ")
        # What the server wrote to stderr comes before that, between lines of the log.
        lines = [line for line in said[:start].splitlines() if line.strip() and not line.startswith("{")]
        if lines:
            message += "\nIts stderr ended with:\n" + "\n".join(lines[-STDERR_LINES:])
        raise FetchError(message)
    return _result(json.loads(out), text_field, score_field, id_field)


def _log_warning(line: str) -> None:
    """Logs a warning of the program, which is a line of JSON."""
    try:
        event = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        event = {}
    if isinstance(event, dict) and event.get("level") == "WARN":
        facts = {name: value for name, value in event.items() if name not in ("timestamp", "level", "message")}
        _log.warning("%s %s", event.get("message"), json.dumps(facts), extra={"portion": facts})


def _result(
    read: Mapping[str, Any], text_field: str | None, score_field: str | None, id_field: str | None
) -> FetchResult:
    chunks = [_chunk(record, text_field, score_field, id_field) for record in read["chunks"]]
    return FetchResult(chunks, read["truncated"], read["dropped"], read["tokens"])


def _chunk(record: dict[str, Any], text_field: str | None, score_field: str | None, id_field: str | None) -> Chunk:
    score = _at(record, score_field or "score")
    try:
        score = None if score is None else float(score)
    except (TypeError, ValueError):
        score = None
    return Chunk(_at(record, text_field or "text"), score, _at(record, id_field or "id"), record)


def _at(record: Any, path: str) -> Any:
    """The value at a path as `portion fetch` reads it: a key as it is, or keys joined by dots."""
    while isinstance(record, dict):
        if path in record:
            return record[path]
        first, dot, path = path.partition(".")
        if not dot:
            return None
        record = record.get(first)
    return None

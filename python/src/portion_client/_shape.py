"""Results of tools as a model should see them: the program `portion shape --requests`, which keeps them for follow-ups."""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ._program import PortionError, Program, find_binary

_log = logging.getLogger("portion_client")
_SECONDS = 120.0
"""Longest time of a reply, which takes milliseconds."""


class ShapeError(PortionError):
    """The request cannot be answered. `code` is for programs, the message has the next step."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class Shaped:
    """A reply: what a model reads, and the way to the rest."""

    #: What a model reads: the content within the budget, then the notice on what is missing. The result itself if it is small.
    text: str
    #: What is missing and how to get it; None if nothing is.
    notice: Mapping[str, Any] | None
    #: Cursor of the result, for a model; None if nothing is missing.
    cursor: str | None
    #: Cursor of what follows.
    next_cursor: str | None

    def __init__(self, shaper: Shaper, answer: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        self.text = answer.get("text", result.get("text", ""))
        self.notice = answer.get("notice")
        self.cursor = answer.get("cursor")
        self.next_cursor = answer.get("nextCursor")
        self._shaper = shaper
        # A result that passed whole is not kept: questions about it bring it along.
        self._result = {} if "text" in answer else result

    def read(self, **arguments: Any) -> Shaped:
        """With arguments of portion_read (fields, path, lines, limit …) any part of the result. Without, what follows; raises
        ShapeError if nothing does."""
        if arguments:
            return self._ask(arguments)
        if self.next_cursor is None:
            raise ShapeError("nothing follows: the reply has all of it", "cursor_invalid")
        return self._shaper.follow_up(self.next_cursor)

    def query(self, sql: str) -> Shaped:
        """The rows of a SELECT over the result, or the places of a text in it."""
        return self._ask({"query": sql})

    def _ask(self, arguments: Mapping[str, Any]) -> Shaped:
        if self.cursor is not None:
            return self._shaper.follow_up(self.cursor, **arguments)
        if not self._result:
            raise ShapeError("the reply has no cursor: ask the one before it", "cursor_invalid")
        return self._shaper.ask({**self._result, **arguments}, self._result)

    def __str__(self) -> str:
        return self.text


class Shaper:
    """Keeps results until it is closed. Threads may share it; calls wait for each other.

    `options`: options of `portion shape`, such as `["--profile", "lean", "--redact"]`.
    """

    def __init__(self, *, options: Sequence[str] = (), env: Mapping[str, str] | None = None) -> None:
        line = [find_binary(), "shape", "--requests", *options]
        self._program = Program(line, dict(os.environ, **(env or {})), _log.warning)

    def shape(self, text_or_json: Any, max_tokens: int | None = None, *, tool: str | None = None) -> Shaped:
        """The reply in place of a result: a text, or what JSON can hold. `tool`: the tool of it, whose settings apply."""
        is_text = isinstance(text_or_json, str)
        text = text_or_json if is_text else json.dumps(text_or_json, ensure_ascii=False, separators=(",", ":"))
        result = {"text": text} if tool is None else {"text": text, "tool": tool}
        return self.ask(result if max_tokens is None else {**result, "maxTokens": max_tokens}, result)

    def follow_up(self, cursor: str, **arguments: Any) -> Shaped:
        """The reply to a call of portion_read or portion_query: of a model that got the cursor, for example."""
        return self.ask({**arguments, "cursor": cursor}, {})

    def reply(self, cursor: str, **arguments: Any) -> str:
        """The same as text for a model. What cannot be answered is told with the next step."""
        try:
            return self.follow_up(cursor, **arguments).text
        except ShapeError as error:
            return f"{error.code}: {error}"

    def close(self) -> None:
        """Ends the program. Its results are gone."""
        self._program.close()

    def has_ended(self) -> bool:
        """True if the program is gone, and the results with it."""
        return self._program.has_ended()

    def __enter__(self) -> Shaper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any], result: Mapping[str, Any]) -> Shaped:
        """The reply to a line of `portion shape --requests`. `result`: the line of the result itself; empty for a follow-up."""
        answer = self._program.ask(request, _SECONDS)
        if not answer:
            raise ShapeError("\n".join(["portion shape has ended", *self._program.stderr]))
        read: Mapping[str, Any] = json.loads(answer)
        if error := read.get("error"):
            raise ShapeError("; ".join(filter(None, (error["message"], error.get("advice")))), error.get("code"))
        return Shaped(self, read, result)


_shared: Shaper | None = None
_starting = threading.Lock()


def shape(text_or_json: Any, max_tokens: int | None = None, *, tool: str | None = None) -> Shaped:
    """The reply in place of a result, as of a `Shaper` that lives as long as this process."""
    return shared().shape(text_or_json, max_tokens, tool=tool)


def shared() -> Shaper:
    """The `Shaper` of `shape`, which keeps its results."""
    global _shared
    with _starting:
        if _shared is None or _shared.has_ended():
            _shared = Shaper()
            atexit.register(_shared.close)
    return _shared

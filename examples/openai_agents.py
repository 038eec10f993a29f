"""Functions as tools of the OpenAI Agents SDK, with results within a token budget."""

import functools

from agents import function_tool
from portion_client import Shaper


def within_budget(*functions, max_tokens=2000):
    shaper = Shaper()

    def shaped(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return shaper.shape(function(*args, **kwargs), max_tokens, tool=function.__name__).text

        return function_tool(call)

    def portion_read(cursor: str, fields: str | None = None, path: str | None = None) -> str:
        "Reads more of a result."
        return shaper.reply(cursor, fields=fields, path=path)

    def portion_query(cursor: str, query: str) -> str:
        "Queries a result: SQLite SELECT over items, or a text to find."
        return shaper.reply(cursor, query=query)

    return [*map(shaped, functions), function_tool(portion_read), function_tool(portion_query)]

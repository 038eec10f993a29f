"""Functions as tools of LangChain, with results within a token budget."""

import functools

from langchain_core.tools import tool
from portion_client import Shaper


def within_budget(*functions, max_tokens=2000):
    shaper = Shaper()

    def shaped(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return shaper.shape(function(*args, **kwargs), max_tokens, tool=function.__name__).text

        return tool(call)

    def portion_read(cursor: str, fields: str | None = None, path: str | None = None) -> str:
        "Reads more of a result."
        return shaper.reply(cursor, fields=fields, path=path)

    def portion_query(cursor: str, query: str) -> str:
        "Queries a result: SQLite SELECT over items, or a text to find."
        return shaper.reply(cursor, query=query)

    return [*map(shaped, functions), tool(portion_read), tool(portion_query)]

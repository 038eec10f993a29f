"""The rental and education servers as they were released, by what they answered: Portion serves what a call without it serves, or more.

`recorded/README.md` says which, and how to record them again. Behind them were APIs with 250 schools and 500 bookings.
"""

import json
import os
import sys

import pytest
from harness.command import E2E, wrapped
from harness.dense import expanded
from harness.peer import Peer
from harness.reply import Reply

SCHOOLS = {"level": "schools", "source": "ccd", "topic": "directory", "filters": {"year": 2020}}
EDUCATION = ("education-data", "get_education_data", SCHOOLS, "ncessch")
RENTALS = ("hostaway", "search_bookings", {}, "id")
FIRST = {"ncessch": lambda at: f"06{at:010}", "id": lambda at: 13010000 + at}
COUNTS = {"ncessch": 250, "id": 500}
RELEASES = {
    "education-early": EDUCATION,
    "education-now": EDUCATION,
    "rentals-first": RENTALS,
    "rentals-early": RENTALS,
    "rentals-summary": RENTALS,
}
COMMANDS = json.loads(open(os.environ["RECORD"]).read()) if "RECORD" in os.environ else {}


def command(release):
    own = [sys.executable, str(E2E / "fixture/recorded.py")]
    file = f"{release}.json.gz"
    return [*own, "record", file, "--", *COMMANDS[release]] if COMMANDS else [*own, "replay", file]


def rows_of(reply):
    """The records of a reply or of a result: the first list in it."""
    for text in reply.get("content", []):
        try:
            value = json.loads(text.get("text", ""))
        except ValueError:
            continue
        for found in [value, *value.values()] if isinstance(value, dict) else [value]:
            if isinstance(found, dict) and {"columns", "rows"} <= set(found):
                return list(expanded(found))
            if isinstance(found, list) and all(isinstance(row, dict) for row in found):
                return found
    return []


def ids(reply, key):
    return [row[key] for row in rows_of(reply)]


@pytest.fixture(scope="module", params=RELEASES)
def peers(request):
    profile, *call = RELEASES[request.param]
    with Peer(command(request.param)) as direct, Peer(wrapped(command(request.param), "--profile", profile)) as portion:
        portion.tools()
        yield request.param, direct, portion, call


PAGES = [{}, {"limit": 3}, {"limit": 20, "page": 1}, {"limit": 20, "page": 2}, {"limit": 20, "offset": 40}, {"limit": 20, "offset": 5000}]


@pytest.mark.parametrize("pages", PAGES, ids=lambda pages: "-".join(f"{name}{number}" for name, number in pages.items()) or "plain")
def test_a_call_serves_what_it_serves_without_portion(peers, pages):
    release, direct, portion, (tool, arguments, key) = peers
    properties = next(listed for listed in direct.tools()["tools"] if listed["name"] == tool)["inputSchema"]["properties"]
    reply = portion.call(tool, **arguments, **pages)
    assert not reply.get("isError"), reply
    given = {name: number for name, number in pages.items() if name in properties}
    own, served = ids(direct.call(tool, **arguments, **given), key), ids(reply, key)
    # The page of the tool, or that which the arguments mean where the tool does not know or not honour them; or the beginning of it.
    start = pages.get("offset", (pages.get("page", 1) - 1) * pages.get("limit", 20))
    meant = [FIRST[key](start + at) for at in range(pages.get("limit", 20)) if start + at < COUNTS[key]]
    assert served in (own[: len(served)], meant[: len(served)]) and (served or not own or not meant), release


def test_a_walk_reads_every_row_once(peers):
    _, _, portion, (tool, arguments, key) = peers
    reply = portion.call(tool, **arguments)
    seen, total = [], None
    for _ in range(100):
        seen += ids(reply, key)
        shown = Reply(reply)
        # The education profile writes names as its users do.
        named = lambda name, other: (shown.notice or {}).get(name) or (shown.notice or {}).get(other)  # noqa: B023, E731
        total = total or named("totalCount", "total_count")
        if not (cursor := named("nextCursor", "next_cursor")):
            break
        reply = portion.call("portion_read", cursor=cursor)
    assert len(seen) == len(set(seen))
    # An API that ignores its offset has no more, which is said.
    assert len(seen) in (total, COUNTS[key]) or "upstream" in shown.meta, shown.notice

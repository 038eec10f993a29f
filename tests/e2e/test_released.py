"""Each release of the servers that the profiles are for: what a call through Portion serves is what it serves without, or more.

The servers are stand-ins that answer as the released ones do, which need an account or the network.
"""

import json
import subprocess
from contextlib import ExitStack

import pytest
from harness.command import PORTION, with_sdk, wrapped
from harness.dense import records
from harness.listening import Listening, served
from harness.peer import Peer
from harness.reply import Reply

SCHOOLS = {"level": "schools", "source": "ccd", "topic": "directory", "filters": {"year": 2020}}
SERVERS = {
    "rentals early": ("hostaway", ["--release", "rentals-early"], "search_bookings", "result"),
    "rentals with items": ("hostaway", ["--release", "rentals-items"], "search_bookings", "items"),
    "rentals with items and offsets": ("hostaway", ["--release", "rentals-items", "--offsets"], "search_bookings", "items"),
    "rentals that are summarized": ("hostaway", ["--release", "rentals-summary"], "search_bookings", "items"),
    "rentals that fail first": ("hostaway", ["--release", "rentals-items", "--fails-first"], "search_bookings", "items"),
    "rentals that are cut": ("hostaway", ["--release", "rentals-cut"], "hostaway_search_bookings", "items"),
    "rentals that are cut, with offsets": ("hostaway", ["--release", "rentals-cut", "--offsets"], "hostaway_search_bookings", "items"),
    "education early": ("education-data", ["--release", "education-early"], "get_education_data", None),
    "education early with limits": ("education-data", ["--release", "education-early", "--limits"], "get_education_data", None),
    "education with pages": ("education-data", ["--release", "education-paged"], "get_education_data", "results"),
}
PAGED = ["rentals early", "rentals with items and offsets", "rentals that are cut, with offsets", "education with pages"]
CALLS = [
    {},
    {"limit": 3},
    {"limit": 20},
    {"limit": 50},
    {"limit": 200},
    {"limit": 20, "page": 1},
    {"limit": 20, "page": 2},
    {"limit": 20, "page": 3},
    {"page": 2},
    {"limit": 20, "page": 400},
    {"offset": 7},
    {"offset": 150, "limit": 10},
    {"offset": 5000},
]


class Server:
    """A release: direct, and through Portion."""

    def __init__(self, stack, name, front="wrap"):
        profile, options, self.tool, self._list = SERVERS[name]
        self._given = SCHOOLS if profile == "education-data" else {}
        self._key = "ncessch" if profile == "education-data" else "id"
        # Where larger pages fail, nothing shows that this one does not apply the offset.
        self.ignores_offset = {"rentals-cut", "--fails-first"} & {*options} and "--offsets" not in options
        command = with_sdk("fixture/released.py", *options)
        self.direct = stack.enter_context(Peer(command))
        if front == "wrap":
            self.peer = stack.enter_context(Peer(wrapped(command, "--profile", profile)))
        else:
            process = stack.enter_context(Listening(served("--profile", profile, "--", *command)))
            self.peer = stack.enter_context(Peer(process.url, mode="legacy"))
        self.tools = {tool["name"]: tool for tool in self.direct.tools()["tools"]}
        self.peer.tools()

    def ask(self, peer, **arguments):
        return peer.call(self.tool, **self._given, **arguments)

    def ids(self, result):
        """The ids of the records in a result, or `None` if it has no list."""
        try:
            found = self.records(result)
        except ValueError:
            return None
        return None if found is None else [int(record[self._key]) % 10_000 for record in found]

    def records(self, result):
        """The records of a result: of the profile's envelope, or of the list of the server's own shape."""
        reply = Reply(result)
        if is_enveloped(reply):
            return json.loads(reply.all_texts[0]).get("items")
        return records(reply, *([self._list] if self._list else []))

    def walked(self, result, least=100):
        """The ids of a reply and of the pages after it, until there are as many as `least`."""
        found = []
        while True:
            found += self.ids(result)
            notice = Reply(result).notice or {}
            cursor = notice.get("nextCursor") or notice.get("next_cursor")
            if not cursor or len(found) >= least:
                return found
            result = self.peer.call("portion_read", cursor=cursor)

    def takes(self, argument):
        return argument in self.tools[self.tool]["inputSchema"]["properties"]


@pytest.fixture(scope="module", params=SERVERS)
def server(request):
    with ExitStack() as stack:
        yield Server(stack, request.param)


@pytest.fixture
def fresh(request):
    """A server whose calls nobody remembers."""
    with ExitStack() as stack:
        yield lambda name, front="wrap": Server(stack, name, front)


def is_enveloped(reply):
    """Tells that the text is an envelope of Portion, which a reply with the server's own shape has a notice beside."""
    return reply.notice is not None and len(reply.all_texts) == 1


def text_of(reply):
    return json.loads(reply.all_texts[0])["content"] if is_enveloped(reply) else reply.text


def failed(result):
    return "error" in result or result.get("isError")


@pytest.mark.parametrize("arguments", CALLS, ids=json.dumps)
def test_s1_a_call_serves_what_the_server_alone_serves_or_more(server, arguments):
    own = {name: value for name, value in arguments.items() if server.takes(name)}
    direct, result = server.ask(server.direct, **own), server.ask(server.peer, **arguments)
    if failed(direct):
        return
    assert not failed(result), result
    expected, served = server.ids(direct), server.ids(result)
    if expected is None:
        # Text that the server has cut.
        assert served is not None or text_of(Reply(result)).split()[:5] == Reply(direct).text.split()[:5]
        return
    wanted = arguments.get("offset", (arguments.get("page", 1) - 1) * arguments.get("limit", 20))
    assert served == list(range(served[0], served[0] + len(served))) if served else True
    if "page" in arguments and "limit" not in arguments:
        # Its size is that of a page of Portion.
        assert served and served[0] > 0 or server.ignores_offset
    elif served and not (server.ignores_offset and wanted):
        assert served[0] == wanted
    if expected and expected[0] == wanted:
        assert set(expected[:100]) <= set(server.walked(result))


@pytest.mark.parametrize("name", SERVERS)
def test_s1_an_empty_page_past_the_end_is_no_error(fresh, name):
    server = fresh(name)
    server.ask(server.direct)
    for arguments in [{"limit": 20, "page": 400}, {"offset": 7000}, {"page": 500}]:
        if server.takes("page") and "offset" in arguments:
            continue
        result = server.ask(server.peer, **arguments)
        assert not failed(result), (arguments, result)
        # An offset that the server ignores gives what it gives directly.
        own = server.ids(server.ask(server.direct, **arguments)) if server.ignores_offset and "offset" in arguments else None
        assert server.ids(result) in ([], None, (own or [])[:50]), arguments


@pytest.mark.parametrize("front", ["wrap", "serve"])
@pytest.mark.parametrize("name", PAGED)
def test_s1_a_walk_has_all_records_once(fresh, name, front):
    server = fresh(name, front)
    total = 2000 if name.startswith("education") else 500
    first = server.ask(server.peer, limit=20)
    assert server.walked(first, least=total + 1) == list(range(total))


@pytest.mark.parametrize("arguments", [{"offset": 0, "limit": 20}, {"offset": 7, "limit": 20}, {"offset": 40, "limit": 10}], ids=json.dumps)
@pytest.mark.parametrize("name", PAGED)
def test_s1_a_walk_that_begins_at_an_offset_has_all_records_after_it_once(fresh, name, arguments):
    server = fresh(name)
    total = 400 if name.startswith("education") else 500
    first = server.ask(server.peer, **arguments)
    assert server.walked(first, least=total)[: total - 40] == list(range(arguments["offset"], arguments["offset"] + total - 40))
    # Later calls read the same list.
    assert server.ids(server.ask(server.peer, offset=100, limit=20)) == list(range(100, 120))


@pytest.mark.parametrize("name", PAGED)
def test_s1_a_far_page_is_asked_for_alone(fresh, name):
    """The pages before it would take longer than a client waits."""
    server = fresh(name)
    rows = 2000 if name.startswith("education") else 500
    server.ask(server.peer, limit=7)
    called = server.peer.said().count("called with ")
    assert server.ids(server.ask(server.peer, limit=7, offset=rows - 20)) == list(range(rows - 20, rows - 13))
    assert server.peer.said().count("called with ") <= called + 3


@pytest.mark.parametrize("front", ["wrap", "serve"])
@pytest.mark.parametrize("name", ["rentals with items", "rentals that are summarized", "rentals that fail first"])
def test_s1_a_walk_ends_where_the_server_ignores_offsets(fresh, name, front):
    """Each of its pages is the first one, with another cursor."""
    server = fresh(name, front)
    server.ask(server.direct)
    server.ask(server.peer)
    assert server.walked(server.ask(server.peer), least=1000) == list(range(100))


def test_s1_bookings_have_their_dates_in_each_vocabulary(fresh):
    server = fresh("rentals that are summarized")
    found = server.records(server.ask(server.peer))
    assert len(found) == 50
    assert all({"guest_name", "check_in", "check_out", "listing_id"} <= set(record) for record in found)


def test_s1_fields_are_selected(server):
    names = [server._key, "status" if server._key == "id" else "school_name"]
    fields = names if server.takes("fields") else ",".join(names)
    result = server.ask(server.peer, limit=10, fields=fields)
    assert not failed(result), result
    found = server.records(result)
    assert len(found) == 10 and all(set(record) == set(names) for record in found)


def test_s1_a_page_that_the_tool_does_not_know_is_applied_by_portion(fresh):
    server = fresh("education early")
    result = server.ask(server.peer, page=2)
    assert server.ids(result) == list(range(20, 40))
    meta = Reply(result).meta
    assert (meta["current_page"], meta["next_page"], Reply(result).notice["total_count"]) == (2, 3, 2000)


def test_s1_what_failed_is_not_tried_again(fresh):
    server = fresh("education with pages")
    for _ in range(3):
        assert server.ids(server.ask(server.peer)) == list(range(20))
    asked = [json.loads(line.split("called with ")[1]) for line in server.peer.said().splitlines() if "called with " in line]
    assert [call.get("limit") for call in asked] == [1000, None, None, None]


def test_s1_a_check_proposes_a_size_that_works(tmp_path):
    written = tmp_path / "portion.yaml"
    server = with_sdk("fixture/released.py", "--release", "education-paged")
    arguments = f"get_education_data={json.dumps(SCHOOLS)}"
    command = [PORTION, "check", "--write", str(written), "--args", arguments, "--", *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "pageSize: 20\n" in written.read_text(), written.read_text()
    with Peer(wrapped(server, "--config", str(written))) as peer:
        assert not failed(peer.call("get_education_data", **SCHOOLS))

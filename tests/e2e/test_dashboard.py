"""The dashboard's pages and its API: every path of the description answers as it says, and nobody else may ask."""

import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from harness.command import FIXTURE, PORTION, wrapped
from harness.listening import Listening, served
from harness.peer import Peer
from harness.recorded import Recorded
from harness.reply import Reply
from harness.waiting import until


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A list of which a page is served, the page after it, and an error."""
    recorded = Recorded(tmp_path_factory.mktemp("data") / "telemetry.db")
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path), "--experiment", "shadow")) as peer:
        peer.call("list_bookings", count=20)
    with Peer(wrapped(FIXTURE, "--telemetry", str(recorded.path))) as peer:
        first = Reply(peer.call("list_bookings", count=400))
        peer.call("portion_read", cursor=first.notice["nextCursor"])
        peer.call("portion_read", cursor="AUu0pj9_7bAUG9y2mE2eAAAAAQAAADLshmbHX4lm8QAWEaZl")
    recorded.requests(4)
    return recorded


@pytest.fixture(scope="module")
def shown(recorded):
    with Listening([PORTION, "dashboard", "--listen", "127.0.0.1:0", "--telemetry", str(recorded.path)]) as shown:
        yield shown.url.rstrip("/")


def asked(url, **headers):
    """Status, header fields and body of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


@pytest.fixture(scope="module")
def description(shown):
    return json.loads(asked(f"{shown}/api/openapi.json")[2])


def fits(description, answer, schema):
    Draft202012Validator({**schema, "components": description["components"]}).validate(answer)


def test_the_description_is_valid(description):
    validate(description)


def test_every_path_answers_as_it_is_described(shown, recorded, description):
    newest = recorded.requests(4)[-1]["requestId"]
    for path, methods in description["paths"].items():
        operation = methods["get"]
        names = [
            parameter.get("$ref", "").rsplit("/", 1)[-1] for parameter in operation.get("parameters", [])
        ]
        url = shown + path.replace("{id}", newest)
        status, headers, body = asked(url)
        assert (status, headers["content-type"]) == (200, "application/json"), path
        fits(description, json.loads(body), operation["responses"]["200"]["content"]["application/json"]["schema"])
        # What is not among its parameters is told, and so is what cannot be one of them.
        for query in ["nonsense=1", *(f"{name}=%20-%20" for name in names if name not in ("id", "endpoint", "server", "client"))]:
            status, _, body = asked(f"{url}?{query}")
            error = json.loads(body)
            fits(description, error, description["components"]["schemas"]["Error"])
            assert status == 400 and f"`{query.split('=')[0]}`" in error["error"]["message"], (path, query)


def test_answers_are_those_of_the_commands(shown, recorded):
    answer = json.loads(asked(f"{shown}/api/records?since=1h")[2])
    assert answer["records"] == recorded.stats("--requests", "--since", "1h")
    assert json.loads(asked(f"{shown}/api/endpoints?since=1h")[2])["endpoints"] == recorded.stats("--since", "1h")
    few = json.loads(asked(f"{shown}/api/records?limit=3")[2])
    rest = json.loads(asked(f"{shown}/api/records?until={few['nextUntil']}")[2])
    assert few["records"] + rest["records"] == answer["records"] and rest["nextUntil"] is None
    page = next(record for record in answer["records"] if record["followUp"] and not record["error"])
    family = json.loads(asked(f"{shown}/api/records/{page['requestId']}")[2])
    assert family["record"] == page and [one["followUp"] for one in family["sameOrigin"]] == [True, False]
    shadow = json.loads(asked(f"{shown}/api/experiment")[2])["comparisons"]
    assert shadow == recorded.stats("--experiment") and shadow


@pytest.mark.parametrize("path", ["/", "/requests", "/api/overview", "/health"])
def test_the_admin_listener_shows_it_to_this_machine_alone(path, recorded):
    log = ("--log-level", "info", "--telemetry", str(recorded.path))
    with Listening(served(*log, "--admin", "127.0.0.1:0", "--", *FIXTURE)) as portion:
        # It is told after where clients are served.
        address = until(lambda: re.search(r"dashboard at http://(\S+)/", "".join(portion.said)), "an address")[1]
        status, headers, body = asked(f"http://{address}{path}")
        assert status == 200 and body
        if path != "/health":
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
            assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{address}{path}", data=b"since=1h", timeout=60)
        assert (refused.value.code, refused.value.headers["allow"]) == (405, "GET, HEAD")
        assert asked(f"http://{address}{path}", Host="evil.example")[0] == 403, "a name that was bound anew"
        assert asked(f"http://{address}{path}", Origin="http://evil.example")[0] == 403


def test_what_is_missing_foreign_or_off_is_told(tmp_path):
    file = tmp_path / "telemetry.db"
    with Listening([PORTION, "dashboard", "--listen", "127.0.0.1:0", "--telemetry", str(file)]) as shown:
        for status, title in ((200, "Nothing recorded yet"), (503, "cannot be read")):
            found, _, body = asked(shown.url)
            assert found == status and title in body, title
            assert asked(f"{shown.url}api/series")[0] == 503
            assert asked(f"{shown.url}nowhere")[0] == 404
            file.write_text("this is no database, and stays as it is")
    ends = [subprocess.run([PORTION, command, "--telemetry", str(file)], capture_output=True, text=True, timeout=60)
            for command in ("stats", "dashboard")]
    assert ends[0].returncode == ends[1].returncode == 1 and "name another file" in ends[0].stderr
    assert ends[0].stderr == ends[1].stderr
    off = {"PORTION_TELEMETRY": "off"}
    with Listening([PORTION, "dashboard", "--listen", "127.0.0.1:0"], env=off) as shown:
        status, _, body = asked(shown.url)
        assert status == 200 and "Telemetry is off" in body
        assert json.loads(asked(f"{shown.url}api/overview")[2])["error"]["code"] == "telemetry_off"
    assert file.read_text() == "this is no database, and stays as it is"

"""`portion check` calls what only reads, and proposes settings that Portion then runs with."""

import json
import subprocess

import pytest
from harness.command import CLIENT_BIN, E2E, NODE_SERVERS, PORTION, with_sdk
from harness.education_data import EducationData
from harness.education_data import OPENAPI as EDUCATION_OPENAPI
from harness.hostaway import OPENAPI as HOSTAWAY_OPENAPI
from harness.hostaway import Hostaway
from harness.listening import Listening
from harness.peer import Peer
from harness.reply import HARD_CAP, items, lawful, walk

PYTHON = str(CLIENT_BIN / "python")
PAGED = with_sdk("fixture/paged.py")
CUT = [PYTHON, str(E2E / "fixture/cut.py")]
EVERYTHING = ["node", str(NODE_SERVERS / "server-everything/dist/index.js")]
FILESYSTEM = ["node", str(NODE_SERVERS / "server-filesystem/dist/index.js")]


def run(*arguments, code=0):
    finished = subprocess.run([PORTION, "check", *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert finished.returncode == code, finished.stdout + finished.stderr
    return finished.stdout


def report(*arguments):
    return json.loads(run("--json", *arguments))


def by_name(found):
    return {tool["tool"]: tool for tool in found["tools"]}


def skipped(found):
    return {tool["tool"]: tool["reason"] for tool in found["skipped"]}


EXPECTED_PAGING = {
    "by_offset": ("limit-offset", "hostaway"),
    "search_bookings": ("hostaway",),
    "by_page": ("page",),
    "by_cursor": ("cursor",),
    "by_after_id": ("after-id",),
    "by_link": ("page",),
    "get_education_data": ("education",),
}


def test_every_style_of_paging_is_found(tmp_path):
    file = tmp_path / "portion.yaml"
    found = report("--write", str(file), "--", *PAGED)
    endpoints = found["endpoints"]
    for tool, presets in EXPECTED_PAGING.items():
        assert endpoints[tool]["pushdown"]["preset"] in presets, tool
        assert by_name(found)[tool]["paging"]["checked"], tool
    assert "id" not in endpoints["get_education_data"]["pushdown"]
    assert "write_rows" in skipped(found) and "calls" in skipped(found)
    checked = subprocess.run([PORTION, "config", "check", str(file)], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    with Peer([PORTION, "wrap", "--config", str(file), "--", *PAGED]) as peer:
        for tool, key in {"by_cursor": "data", "search_bookings": "result", "by_page": "items"}.items():
            first = lawful(peer.call(tool, total=470))
            numbers = [int(item["id"]) for page in walk(peer, first, HARD_CAP) for item in items(page, key)]
            assert numbers == list(range(1, 471)), tool


def test_a_file_keeps_what_it_has(tmp_path):
    file = tmp_path / "portion.yaml"
    before = "# mine\nendpoints:\n    search_bookings: {defaultPageSize: 7}\nlogLevel: info\n"
    file.write_text(before)
    found = report("--write", str(file), "--tool", "search_bookings", "--tool", "by_page", "--", *PAGED)
    assert found["written"]["kept"] == ["search_bookings"] and found["written"]["added"] == ["by_page"]
    after = file.read_text()
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    assert subprocess.run([PORTION, "config", "check", str(file)], capture_output=True, timeout=60).returncode == 0
    # A second run changes nothing.
    run("--write", str(file), "--tool", "search_bookings", "--tool", "by_page", "--", *PAGED)
    assert file.read_text() == after


def test_an_invalid_file_is_not_replaced(tmp_path):
    file = tmp_path / "portion.yaml"
    file.write_text("colour: red\n")
    run("--write", str(file), "--tool", "by_page", "--", *PAGED, code=2)
    assert file.read_text() == "colour: red\n" and [each.name for each in tmp_path.iterdir()] == ["portion.yaml"]


def test_an_invalid_file_is_reported_before_the_server_is_called(tmp_path):
    file, called = tmp_path / "portion.yaml", tmp_path / "called"
    file.write_text("colour: red\n")
    line = [PORTION, "check", "--write", str(file), "--", "sh", "-c", f"touch '{called}'"]
    finished = subprocess.run(line, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert finished.returncode == 2 and f"{file}:1:1" in finished.stderr and not called.exists(), finished.stderr


def test_a_file_is_made_although_nothing_is_proposed(tmp_path):
    file = tmp_path / "new.yaml"
    said = run("--tool", "read_log", "--write", str(file), "--", *CUT)
    assert said.endswith(f"1 of 1 tool called: the defaults fit.\nMade {file} without settings.\n")
    checked = subprocess.run([PORTION, "config", "check", str(file)], capture_output=True, text=True, timeout=60)
    assert checked.stdout.endswith("valid, 0 warnings\n"), checked
    with Peer([PORTION, "wrap", "--config", str(file), "--", *CUT]) as peer:
        lawful(peer.call("read_log"))
    again = run("--tool", "read_log", "--write", str(file), "--", *CUT)
    assert again.endswith(f"{file} stays as it is.\n")
    found = report("--tool", "get_settings", "--write", str(file), "--", *CUT)
    assert found["written"]["added"] == ["get_settings"] and not found["written"]["new"]
    other = tmp_path / "other.yaml"
    said = run("--tool", "delete_rows", "--write", str(other), "--", *CUT, code=1)
    assert "no tool was checked" in said and not other.exists()


def test_cut_results_and_secrets_are_named():
    found = report("--", *CUT)
    tools = by_name(found)
    assert "25000 characters" in tools["list_rows"]["cutOff"]
    assert "truncated" in tools["read_log"]["cutOff"]
    assert tools["get_settings"]["secrets"] == ["apiKey"] and tools["get_settings"]["cutOff"] is None
    assert found["endpoints"]["get_settings"]["redact"] == "secrets"
    assert "delete_rows" in skipped(found)
    text = run("--", *CUT)
    assert "Portion cannot restore" in " ".join(text.split())
    assert "sk-live" not in text and "sk-live" not in json.dumps(found)


@pytest.mark.parametrize("command", [PAGED, CUT, EVERYTHING])
def test_the_report_fits_a_terminal(command):
    report_lines = run("--", *command).split("Proposed configuration")[0].splitlines()
    assert report_lines and all(len(line) <= 80 for line in report_lines)


def test_published_servers_are_checked(tmp_path):
    everything = by_name(report("--", *EVERYTHING))
    assert everything and all("error" in tool or tool["tokens"] >= tool["tokensThroughPortion"] for tool in everything.values())
    for number in range(400):
        (tmp_path / f"booking-{number}.txt").write_text("x")
    arguments = ["--args", f"list_directory={json.dumps({'path': str(tmp_path)})}"]
    found = report(*arguments, "--", *FILESYSTEM, str(tmp_path))
    tools = by_name(found)
    assert tools["list_directory"]["tokens"] > 1_000
    assert "error" not in tools["read_text_file"], "a text of the directory is read"
    assert "write_file" in skipped(found)
    assert {"search_files", "directory_tree"} <= tools.keys(), "the directory is small"


def test_a_server_at_a_url_is_checked():
    with Listening([*PAGED, "--http"]) as server:
        found = report("--tool", "search_bookings", "--url", server.url)
    assert found["endpoints"]["search_bookings"]["pushdown"]["preset"] == "hostaway"


def test_rest_apis_are_checked(tmp_path):
    with Hostaway() as api:
        api.tokens["valid"] = 0
        document = tmp_path / "hostaway.json"
        document.write_text(json.dumps(HOSTAWAY_OPENAPI))
        found = report("--openapi", str(document), "--upstream", api.url, "--header", "Authorization: Bearer valid")
        asked = api.told()
    endpoints, tools = found["endpoints"], by_name(found)
    expected = {"preset": "hostaway", "limit": "limit", "offset": "offset", "pageSize": 100, "items": "/result", "total": "/count"}
    assert endpoints["listReservations"]["pushdown"] == expected
    assert set(tools["listListings"]["secrets"]) == {"result.doorSecurityCode", "result.wifiPassword"}
    assert endpoints["listListings"]["redact"] == "secrets"
    # The id of the first listing fills the path.
    assert tools["getListing"]["arguments"] == ["listingId"] and "error" not in tools["getListing"]
    assert {request.method for request in asked} == {"GET"}
    assert "consolidatedReport" in skipped(found)
    with EducationData(rows=2_500, page_rows=1_000) as api:
        document.write_text(json.dumps(EDUCATION_OPENAPI))
        arguments = ["--args", 'get_school_directory={"year": 2020}', "--tool", "get_school_directory"]
        found = report(*arguments, "--openapi", str(document), "--upstream", api.url)
    pushdown = found["endpoints"]["get_school_directory"]["pushdown"]
    assert pushdown["preset"] == "education" and pushdown["pageSize"] == 1_000


def test_the_stderr_of_a_server_is_printed_once():
    line = [PORTION, "check", "--", "sh", "-c", "echo no key >&2; exit 3"]
    finished = subprocess.run(line, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert finished.returncode == 1 and "exited with code 3" in finished.stderr
    assert finished.stderr.count("no key") == 1, finished.stderr


@pytest.mark.parametrize("server, profile", [("rentals", "hostaway"), ("education", "education-data"), ("paged", None)])
def test_the_profile_of_a_server_is_offered(server, profile):
    done = subprocess.run([PORTION, "check", "--json", "--max-calls", "1", "--", *with_sdk(f"fixture/{server}.py")], capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["profile"] == profile


def test_nothing_to_check_is_said():
    run("--tool", "delete_rows", "--", *CUT, code=1)
    run("--tool", "nothing", "--", *CUT, code=1)
    run("--", "no-such-server", code=1)
    run("--args", "x", "--", *CUT, code=2)

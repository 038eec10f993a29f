"""Packages: built from the program under test, installed without Rust and without a network, and called by the SDK's client."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from harness.command import FIXTURE, PORTION, REPOSITORY
from harness.peer import Peer
from harness.reply import Reply

sys.path.insert(0, str(REPOSITORY / "packaging"))

from formats import FORMATS, npm, wheel  # noqa: E402
from formats.common import Release  # noqa: E402

BUDGET_BYTES = 65536


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    out = tmp_path_factory.mktemp("packages")
    done = subprocess.run(
        [REPOSITORY / "packaging/build", "--out", out, "--skip-smoke", "npm", "wheel", "mcpb", "links", "registry"],
        env={**os.environ, "PORTION_BIN": PORTION}, cwd=out, capture_output=True, text=True, timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    version = json.loads((out / "server.json").read_text())["version"]
    return Release(out / "bin" / os.path.basename(PORTION), version, out)


@pytest.fixture(scope="module")
def node_program(release, tmp_path_factory):
    project = tmp_path_factory.mktemp("npm")
    npm.install(release, project)
    return project / "node_modules/.bin/portion-mcp"


@pytest.fixture(scope="module")
def python(release, tmp_path_factory):
    return wheel.install(release, tmp_path_factory.mktemp("pypi") / "venv")


def guarded(program):
    """Calls an oversized tool through `program` and reads on."""
    with Peer([str(program), "wrap", "--", *FIXTURE]) as peer:
        first = Reply(peer.call("list_bookings"))
        second = Reply(peer.call("portion_read", cursor=first.next))
    for reply in (first, second):
        assert len(json.dumps(reply.result).encode()) < BUDGET_BYTES
    return first, second


def test_the_npm_package_guards_a_call(node_program):
    guarded(node_program)


def test_the_wheel_guards_a_call_by_both_names(python):
    for name in ("portion", "portion-mcp"):
        guarded(python.with_name(name))


def test_exit_codes_and_signals_pass_through_the_npm_package(node_program):
    for line, code in ((["wrap", "--nonsense"], 2), (["shape", "/no/such/file"], 1), (["--version"], 0)):
        direct = subprocess.run([PORTION, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        through = subprocess.run([node_program, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert through.returncode == direct.returncode == code
        assert (through.stdout, through.stderr) == (direct.stdout, direct.stderr)
    process = subprocess.Popen([node_program, "wrap", "--", *FIXTURE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.terminate()
    process.wait(timeout=30)
    process.stdin.close()
    assert process.stdout.read() == b"", "nothing else holds the pipe"


def test_a_missing_platform_package_is_explained(release, tmp_path):
    with tarfile.open(npm.paths(release)[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    done = subprocess.run(["node", tmp_path / "package/bin/portion.js", "demo"], capture_output=True, text=True)
    assert done.returncode == 1 and "is not installed" in done.stderr and "cargo install" in done.stderr
    assert len(done.stderr.splitlines()) == 3, "no stack trace"


def test_nothing_runs_at_install_time_and_licences_are_included(release):
    for path in npm.paths(release):
        with tarfile.open(path) as archive:
            names = archive.getnames()
            manifest = json.load(archive.extractfile("package/package.json"))
        assert "scripts" not in manifest and "dependencies" not in manifest
        assert {"package/LICENSE-MIT", "package/LICENSE-APACHE"} <= set(names)
        assert manifest["version"] == release.version


def test_the_wheel_has_no_module_portion(release):
    names = zipfile.ZipFile(wheel.path(release)).namelist()
    assert sum("/licenses/" in name for name in names) == 2
    assert {name.split("/")[0] for name in names} == {
        "portion_client", f"portion_mcp-{release.version}.data", f"portion_mcp-{release.version}.dist-info",
    }


def test_the_bundle_starts_what_its_manifest_says(release):
    FORMATS["mcpb"].smoke(release)


def test_the_links_install_portion_in_front_of_a_server(release):
    FORMATS["links"].smoke(release)
    told = {(client, name): config for client, name, config, _ in FORMATS["links"].configurations(release)}
    assert told["cursor", "everything"] == told["vscode", "everything"]
    assert told["vscode", "remote"]["args"][-2:] == ["--url", "${input:url}"]
    assert "${" not in json.dumps([config for (client, _), config in told.items() if client == "cursor"])


def test_the_npm_package_shapes_results(release, tmp_path):
    npm.install(release, tmp_path)
    script = "import { shape } from 'portion-mcp'; const r = await shape(Array(3000).fill({ id: 1, note: 'paid' })); console.log(r.notice.totalCount)"
    (tmp_path / "script.mjs").write_text(script)
    done = subprocess.run(["node", "script.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "3000\n", done.stderr


def test_the_registry_entry_names_the_packages_of_this_version(release):
    FORMATS["registry"].smoke(release)
    entry = json.loads((release.out / "server.json").read_text())
    assert [package["registryType"] for package in entry["packages"]] == ["npm", "pypi", "mcpb"]
    with tarfile.open(npm.paths(release)[1]) as archive:
        manifest = json.load(archive.extractfile("package/package.json"))
    assert manifest["mcpName"] == entry["name"], "the registry checks this"


def test_release_notes_are_a_section_of_the_changelog():
    script = REPOSITORY / "packaging/release-notes"
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    sections = [section.partition("\n")[2].split() for section in changelog.split("\n## [")[1:]]
    assert any(sections)
    for version, section in zip(versions, sections, strict=True):
        done = subprocess.run([script, version], capture_output=True, text=True)
        # There may be no unreleased changes.
        assert done.returncode == (0 if section else 1), version
        notes = done.stdout
        assert notes.split() == section
        assert not section or "### " in notes
        assert all(line.startswith(("#", "- ", "  - ")) or not line or line[0].isalpha() for line in notes.splitlines())
    unknown = subprocess.run([script, "9.9.9"], capture_output=True, text=True)
    assert unknown.returncode == 1 and f"it has {versions[0]}" in unknown.stderr

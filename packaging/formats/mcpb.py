"""An MCPB bundle: Portion in front of a remote MCP server whose URL the user enters."""

import json
import stat
import sys
import tempfile
import zipfile
from pathlib import Path

from .common import REPOSITORY, fill, guarded_call, run

PROGRAM = "portion.exe" if sys.platform == "win32" else "portion"
ENTRY_POINT = f"server/{PROGRAM}"


def missing():
    return None


def path(release):
    return release.out / f"portion-{release.version}-{release.npm_system}-{release.npm_processor}.mcpb"


def build(release):
    manifest = json.loads(
        fill("manifest.json", version=release.version, platform=release.npm_system, program=PROGRAM)
    )
    files = {"manifest.json": json.dumps(manifest, indent=2).encode()}
    files |= {name: (REPOSITORY / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")}
    files[ENTRY_POINT] = release.binary.read_bytes()
    with zipfile.ZipFile(path(release), "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if name.startswith("server/") else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, content)
    return [path(release)]


def smoke(release):
    """Unpacks it as a client does, and starts what the manifest says, in front of a server over HTTP."""
    import subprocess

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with zipfile.ZipFile(path(release)) as archive:
            archive.extractall(folder)
        program = folder / ENTRY_POINT
        program.chmod(0o755)
        guarded_call([program], [program, "demo-server"])
        config = json.loads((folder / "manifest.json").read_text())["server"]["mcp_config"]
        values = {"${__dirname}": scratch, "${user_config.url}": "http://127.0.0.1:1/mcp"}
        line = [config["command"], *config["args"]]
        for name, value in values.items():
            line = [word.replace(name, value) for word in line]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert "Usage:" not in done.stderr, done.stderr
        assert "127.0.0.1:1" in done.stderr or done.returncode == 0, done.stderr
    run([release.binary, "--version"])

"""`server.json`: the entry for the MCP registry, with the packages that are in the output folder."""

import hashlib
import json

from . import mcpb
from .common import PUBLISHER, fill


def missing():
    return None


def path(release):
    return release.out / "server.json"


def build(release):
    entry = json.loads(fill("server.json", version=release.version))
    bundle = mcpb.path(release)
    if bundle.exists():
        entry["packages"].append({
            "registryType": "mcpb",
            "identifier": f"{PUBLISHER['downloads']}/v{release.version}/{bundle.name}",
            "version": release.version,
            "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
            "transport": {"type": "stdio"},
        })
    path(release).write_text(json.dumps(entry, indent=2) + "\n")
    return [path(release)]


def smoke(release):
    """Checks the limits that the registry sets for names and descriptions."""
    entry = json.loads(path(release).read_text())
    assert entry["name"].count("/") == 1 and len(entry["description"]) <= 100, entry
    assert all(package["version"] == entry["version"] == release.version for package in entry["packages"])

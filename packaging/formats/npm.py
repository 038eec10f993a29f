"""The npm package `portion-mcp`, and one package with the program for each platform.

npm installs only the platform package whose `os` and `cpu` fit. No script runs at install time, and nothing else is
downloaded.
"""

import json
import shutil
import tempfile
from pathlib import Path

from .common import DESCRIPTION, PACKAGING, PUBLISHER, REPOSITORY, environment, guarded_call, run

NAME = "portion-mcp"
PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"]


def missing():
    return None if shutil.which("npm") else "npm is missing"


def paths(release):
    """The package of this platform, and the one that users install."""
    own = f"{NAME}-{release.npm_system}-{release.npm_processor}"
    return [release.out / f"{name}-{release.version}.tgz" for name in (own, NAME)]


def build(release):
    system, processor = release.npm_system, release.npm_processor
    common = {
        "version": release.version, "license": "MIT OR Apache-2.0", "homepage": PUBLISHER["homepage"],
        "repository": {"type": "git", "url": PUBLISHER["repository"]},
    }
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch) / "own"
        (own / "bin").mkdir(parents=True)
        program = own / "bin" / ("portion.exe" if system == "win32" else "portion")
        shutil.copy2(release.binary, program)
        program.chmod(0o755)
        name = f"{NAME}-{system}-{processor}"
        write(own, {
            "name": name, "description": f"The program portion for {system}-{processor}", **common,
            "os": [system], "cpu": [processor], **({"libc": ["glibc"]} if system == "linux" else {}),
            "preferUnplugged": True, "files": ["bin", "LICENSE-*"],
        })
        (own / "README.md").write_text(f"The program of [{NAME}](https://www.npmjs.com/package/{NAME}).\n")
        main = Path(scratch) / "main"
        (main / "bin").mkdir(parents=True)
        shutil.copy2(PACKAGING / "npm/portion.js", main / "bin/portion.js")
        for name in ("README.md", "find.js", "index.d.ts", "index.js"):
            shutil.copy2(PACKAGING / "npm" / name, main)
        write(main, {
            "name": NAME, "description": DESCRIPTION, **common, "mcpName": PUBLISHER["registry_name"],
            "keywords": ["mcp", "model-context-protocol", "tokens", "gateway", "context"],
            "bin": {"portion": "bin/portion.js", NAME: "bin/portion.js"},
            "optionalDependencies": {f"{NAME}-{platform}": release.version for platform in PLATFORMS},
            "main": "index.js", "types": "index.d.ts",
            "engines": {"node": ">=18"}, "files": ["bin", "find.js", "index.d.ts", "index.js", "LICENSE-*"],
        })
        for folder in (own, main):
            for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
                shutil.copy2(REPOSITORY / licence, folder)
            run(["npm", "pack", "--silent", "--pack-destination", release.out], cwd=folder, env=environment(scratch))
    return paths(release)


def smoke(release):
    """Installs both into an empty project without a network, and makes a call as a client does."""
    with tempfile.TemporaryDirectory() as scratch:
        install(release, Path(scratch))
        shim = Path(scratch) / "node_modules/.bin" / NAME
        guarded_call([shim], [shim, "demo-server"])
        line = ["npx", "--offline", "--no-update-notifier", "-y", *sum((["-p", path] for path in paths(release)), []), NAME]
        guarded_call(line, [shim, "demo-server"])


def install(release, project):
    """Installs the packages into a folder, with nothing but them."""
    (project / "package.json").write_text('{"name": "scratch", "private": true}\n')
    line = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    run([*line, *paths(release)], cwd=project, env=environment(project))


def write(folder, manifest):
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")

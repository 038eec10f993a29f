"""The Homebrew formula, which builds from the source archive of this commit."""

import hashlib
import re
import shutil

from .common import PUBLISHER, REPOSITORY, fill, run


def missing():
    return None if shutil.which("git") and (REPOSITORY / ".git").exists() else "not a git checkout"


def path(release):
    return release.out / "portion.rb"


def build(release):
    name = f"portion-{release.version}"
    archive = release.out / f"{name}.tar.gz"
    run(["git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o", archive, "HEAD"], cwd=REPOSITORY)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    url = f"{PUBLISHER['downloads']}/v{release.version}/{archive.name}"
    path(release).write_text(fill("portion.rb", version=release.version, url=url, sha256=digest))
    return [path(release), archive]


def smoke(release):
    """Checks the syntax with Ruby where it is installed, else the balance of its blocks. Only `brew` can build it."""
    if shutil.which("ruby"):
        run(["ruby", "-c", path(release)])
    text = path(release).read_text()
    opened = len(re.findall(r"^\s*(?:class|def)\b|\bdo$", text, re.MULTILINE))
    assert opened == len(re.findall(r"^\s*end$", text, re.MULTILINE)), text

"""A Debian package: program, manual pages, completions, and the service, which is not enabled."""

import gzip
import shutil
import tempfile
from pathlib import Path

from .common import REPOSITORY, fill, guarded_call, run

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/portion",
    "zsh": "usr/share/zsh/vendor-completions/_portion",
    "fish": "usr/share/fish/vendor_completions.d/portion.fish",
}


def missing():
    return None if shutil.which("dpkg-deb") else "dpkg-deb is missing"


def path(release):
    return release.out / f"portion_{release.version}_{release.deb_architecture}.deb"


def build(release):
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        place(release.binary, tree / "usr/bin/portion", 0o755)
        for shell, name in COMPLETIONS.items():
            write(tree / name, run([release.binary, "completions", shell]))
        pages = Path(scratch) / "man"
        run([release.binary, "man", "--dir", pages])
        for page in pages.iterdir():
            write_gzip(tree / "usr/share/man/man1" / f"{page.name}.gz", page.read_bytes())
        service = (REPOSITORY / "deploy/systemd/portion.service").read_text()
        write(tree / "usr/lib/systemd/system/portion.service", service.replace("/usr/local/bin/", "/usr/bin/"))
        docs = tree / "usr/share/doc/portion"
        write(docs / "README.md", (REPOSITORY / "README.md").read_text())
        write(docs / "copyright", copyright_text())
        write_gzip(docs / "changelog.gz", (REPOSITORY / "CHANGELOG.md").read_bytes())
        kibibytes = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file()) // 1024
        glibc = release.glibc()
        depends = f"libc6 (>= {glibc[0]}.{glibc[1]}), libgcc-s1" if glibc else ""
        control = fill(
            "control", version=release.version, architecture=release.deb_architecture, size=kibibytes, depends=depends
        )
        write(tree / "DEBIAN/control", "\n".join(line for line in control.splitlines() if line != "Depends: ") + "\n")
        for folder in [tree, *(found for found in tree.rglob("*") if found.is_dir())]:
            folder.chmod(0o755)
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", tree, path(release)])
    return [path(release)]


def smoke(release):
    """Installs it below a scratch directory with a database of its own, makes a call, and removes it."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        database = root / "var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (database / name).mkdir(parents=True)
        (database / "status").touch()
        (root / "log").touch()
        dpkg = [
            "dpkg", f"--instdir={root}", f"--admindir={database}", f"--log={root}/log", "--force-not-root",
            "--force-depends", "--force-script-chrootless", "--force-bad-path",
        ]
        run([*dpkg, "--install", path(release)])
        program = root / "usr/bin/portion"
        guarded_call([program], [program, "demo-server"])
        run([*dpkg, "--remove", "portion"])
        assert not program.exists(), "dpkg --remove left the program"


def place(source, target, mode):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def write(target, text):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(0o644)


def write_gzip(target, content):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(content, mtime=0))
    target.chmod(0o644)


def copyright_text():
    mit = (REPOSITORY / "LICENSE-MIT").read_text()
    return f"Licensed under either of MIT or Apache-2.0, at your choice.\nApache-2.0: /usr/share/common-licenses/Apache-2.0\n\n{mit}"

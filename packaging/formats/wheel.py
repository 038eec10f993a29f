"""The wheel `portion-mcp` for PyPI: the program, and the module `portion_client`. It never contains a module `portion`."""

import shutil
import sys
import tempfile
import venv
from pathlib import Path

from .common import REPOSITORY, environment, guarded_call, run


def missing():
    return None


def path(release):
    return next(release.out.glob(f"portion_mcp-{release.version}-*.whl"))


def build(release):
    for old in release.out.glob("portion_mcp-*.whl"):
        old.unlink()
    run([sys.executable, REPOSITORY / "python/build_wheel.py", "--binary", release.binary, "--out", release.out])
    return [path(release)]


def smoke(release):
    """Installs it into a fresh environment, makes a call by both names of the program, and imports the module."""
    with tempfile.TemporaryDirectory() as scratch:
        python = install(release, Path(scratch) / "venv")
        for name in ("portion", "portion-mcp"):
            program = python.with_name(name)
            guarded_call([program], [program, "demo-server"])
        code = "import importlib.util as u, portion_client as c; assert u.find_spec('portion') is None; print(c.find_binary())"
        found = run([python, "-c", code], cwd=scratch, env=environment(scratch)).strip()
        assert Path(found).parent == python.parent, found


def install(release, folder):
    """Makes an environment with the wheel, without a network. Returns its interpreter."""
    venv.create(folder, symlinks=True, with_pip=True)
    python = folder / "bin/python"
    run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", path(release)])
    shutil.rmtree(folder / "share", ignore_errors=True)
    return python

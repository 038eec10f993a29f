#!/usr/bin/env python3
"""Puts a program that is built already into the wheel `portion-mcp`, beside the module. Standard library only.

usage: build_wheel.py --binary PATH [--out FOLDER]
"""

import argparse
import base64
import hashlib
import re
import stat
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "portion_mcp"


def version():
    manifest = (HERE.parent / "Cargo.toml").read_text()
    return re.search(r'^version = "([^"]+)"', manifest, re.MULTILINE).group(1)


def platform_tag(binary):
    """The platform on which the program runs: on Linux, with the least version of glibc that it needs."""
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    needed = [(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", binary.read_bytes())]
    if sys.platform == "linux" and needed:
        major, minor = max(needed)
        return platform.replace("linux_", f"manylinux_{major}_{minor}_")
    return platform


def contents(binary, release, tag):
    """Yields name, bytes and whether it is a program."""
    for file in sorted((HERE / "src").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file.relative_to(HERE / "src").as_posix(), file.read_bytes(), False
    name = "portion" + (sysconfig.get_config_var("EXE") or "")
    yield f"{NAME}-{release}.data/scripts/{name}", binary.read_bytes(), True
    info = f"{NAME}-{release}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: portion-mcp\nVersion: {release}\nRequires-Python: >=3.9\n"
        "Summary: Budgeted client for MCP retrieval tools, and the program portion\n"
        "License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n"
        "Description-Content-Type: text/markdown\n\n"
    ) + (HERE / "README.md").read_text()
    yield f"{info}/METADATA", metadata.encode(), False
    wheel = f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    yield f"{info}/WHEEL", wheel.encode(), False
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        yield f"{info}/licenses/{name}", (HERE.parent / name).read_bytes(), False
    yield f"{info}/entry_points.txt", b"[console_scripts]\nportion-mcp = portion_client.__main__:main\n", False


def build(binary, out):
    release = version()
    tag = "py3-none-" + platform_tag(binary)
    wheel = out / f"{NAME}-{release}-{tag}.whl"
    records = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:

        def add(name, data, is_program):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            archive.writestr(entry, data)

        for name, data, is_program in contents(binary, release, tag):
            add(name, data, is_program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(data)}")
        record = f"{NAME}-{release}.dist-info/RECORD"
        add(record, "\n".join([*records, f"{record},,\n"]).encode(), False)
    return wheel


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE / "dist")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    print(build(given.binary, given.out))

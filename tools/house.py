#!/usr/bin/env python3
"""Prints measurements of the house: sizes, import circles, the style of doc comments, and the words of the documents.

Usage: tools/house.py [--list] [--before REVISION] [--build]
       tools/house.py --size [--write]

`--list` also names the files and functions over the aims, the circles, and doc comments that begin as a question.
`--before` prints the figures of another revision beside today's. `--build` measures `cargo build` from nothing, and
again after a change of the scanner. These figures are for people: they check nothing.

`--size` compares the lines of code of each crate with those in `tools/size`, and fails if there are more in all.
`--write` records those of today, and keeps the reasons in that file.
"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = ROOT / "tools/size"
MIN_CODE_LINES, MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_CIRCLE = 80, 400, 80, 4
QUESTION = re.compile(r"^(Whether|What|Where|Which|Who|Whose|Whom|How|When|Why)\b")
ITEM = re.compile(r"^\s*pub(?:\([^)]*\))?\s+(?:async\s+|const\s+|unsafe\s+)*(fn|struct|enum|trait|type|const|static|mod|union)\b")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+|extern\s+\"C\"\s+)*fn\s+(\w+)")
IMPORT = re.compile(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
COMMENT_OR_LITERAL = re.compile(r"""(//[^\n]*|/\*.*?\*/)|r(#*)".*?"\2|"(?:\\.|[^"\\])*"|'(?:\\.[^'\n]*|[^'\\\n])'""", re.S)
TEST_ITEM = re.compile(r"^[ \t]*#\[cfg\((?:all\()?test\b[^\]]*\]", re.M)
PATH = re.compile(r"(?<![\w:$])((?:crate|super|self|[a-z_]\w*)(?:::\w+)+)")


def masked(text):
    """Returns the text with spaces in place of comments, and `x` in place of what stands in literals. Nothing moves."""

    def mask(found):
        return re.sub(r"\S", " " if found[1] else "x", found[0])

    return COMMENT_OR_LITERAL.sub(mask, text)


def production_text(text):
    """Returns the text without the items that only tests compile."""
    code = masked(text)
    kept, end = [], 0
    for attribute in TEST_ITEM.finditer(code):
        if attribute.start() >= end:
            kept.append(text[end : attribute.start()])
            end = end_of_item(code, attribute.end())
    return "".join(kept) + text[end:]


def end_of_item(code, start):
    """Returns where the item ends: at a semicolon or closing brace outside of all brackets."""
    depth = 0
    for found in re.compile(r"[\[({]|[\])}];?|;").finditer(code, start):
        depth += {"[": 1, "(": 1, "{": 1, ";": 0}.get(found[0][0], -1)
        if depth == 0 and found[0] not in ("]", ")"):
            return found.end()
    return len(code)


def production_lines(path):
    """Returns the lines of a file without its unit tests."""
    return production_text(path.read_text()).splitlines()


def code_lines(path):
    """Counts the lines of a file that have code, without its unit tests."""
    return sum(bool(line.strip()) for line in masked(production_text(path.read_text())).splitlines())


def is_test(path):
    """Returns true for files that only tests compile."""
    return "tests" in path.parts or "laws" in path.parts or path.name in ("tests.rs", "laws.rs")


def sources(crate):
    """Returns the files of a crate that are not only for tests."""
    source = crate / "src"
    return [path for path in sorted(source.rglob("*.rs")) if not is_test(path.relative_to(source))]


def functions(lines):
    """Yields the length and the name of each function, by indentation as rustfmt writes it."""
    for start, line in enumerate(lines):
        match = FUNCTION.match(line)
        opening = next((other for other in lines[start:] if other.rstrip().endswith(("{", ";", "}"))), ";")
        if not match or opening.rstrip().endswith(";"):
            continue
        end = match.group(1) + "}"
        length = next((offset for offset, other in enumerate(lines[start:], 1) if other == end), 0)
        yield length, match.group(2)


def documented_items(lines):
    """Yields the first line of the doc comment of each public item."""
    first = None
    for line in lines:
        text = line.strip()
        if text.startswith("///"):
            first = first or text[3:].strip()
        elif text.startswith("#["):
            continue
        else:
            if first and ITEM.match(line):
                yield first
            first = None


def imported_paths(tree):
    """Returns the paths of a `use` declaration without aliases."""
    start = tree.find("{")
    if start < 0:
        return [re.split(r"\s+as\s+", tree.strip())[0]]
    parts, depth, current = [], 0, ""
    for char in tree[start + 1 :]:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    return [tree[:start].strip() + path.removeprefix("self") for part in parts + [current] if part.strip() for path in imported_paths(part.strip())]


class Crate:
    """The modules of a crate and the paths in their code."""

    def __init__(self, source, files):
        self.code = {}
        for path in files:
            names = [name for name in path.relative_to(source).with_suffix("").parts if name not in ("mod", "lib", "main")]
            code = "\n".join(line for line in production_lines(path) if not line.lstrip().startswith("//"))
            self.code[tuple(names)] = re.sub(r"pub\(in [^)]*\)", "pub", code)
        self.references = {module: list(self.find(module)) for module in self.code}

    def find(self, module):
        """Yields the paths in a module from the root of the crate, and the name and visibility of imports."""
        code = self.code[module]
        for match in IMPORT.finditer(code):
            for path in imported_paths(match.group(2)):
                absolute = self.absolute(module, path)
                if absolute is not None:
                    yield absolute, absolute[-1] if absolute else "", bool(match.group(1))
        for match in PATH.finditer(IMPORT.sub("", code)):
            absolute = self.absolute(module, match.group(1))
            if absolute is not None:
                yield absolute, None, False

    def absolute(self, module, path):
        names = [name.strip() for name in path.split("::") if name.strip()]
        base = list(module)
        if not names:
            return None
        if names[0] == "crate":
            return tuple(names[1:])
        if names[0] not in ("super", "self"):
            return module + tuple(names) if module + (names[0],) in self.code else None
        while names and names[0] in ("super", "self"):
            if names.pop(0) == "super" and base:
                base.pop()
        return tuple(base + names)

    def definition(self, path, steps=8):
        """Returns the module that defines what a path names; imports are followed."""
        module = next(path[:length] for length in range(len(path), -1, -1) if path[:length] in self.code or not length)
        rest = path[len(module) :]
        for target, name, _ in self.references.get(module, []) if rest and steps else []:
            if name == rest[0] and target != path:
                return self.definition(target + rest[1:], steps - 1)
        return module

    def arrows(self):
        """Returns the files that each file refers to. Files that make names of their own modules public do not count."""
        edges = collections.defaultdict(set, {module: set() for module in self.code})
        for module, references in self.references.items():
            for path, _, is_public in references:
                target = self.definition(path)
                if target != module and not (is_public and target[: len(module)] == module):
                    edges[module].add(target)
        return edges


def circles(edges):
    """Returns the sets of nodes that reach each other, the largest first."""

    def reachable(start):
        seen, todo = set(), [start]
        while todo:
            for name in edges[todo.pop()]:
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return seen

    nodes = list(edges)
    reach = {name: reachable(name) for name in nodes}
    groups = {frozenset(other for other in nodes if other in reach[name] and name in reach[other]) for name in nodes}
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def public_modules(files):
    """Returns the lines of the files of public modules."""
    public = set()
    for path in files:
        folder = path.parent if path.name in ("lib.rs", "mod.rs") else path.with_suffix("")
        for name in re.findall(r"^pub mod (\w+);", path.read_text(), re.M):
            public.update(file for file in (folder / f"{name}.rs", folder / name / "mod.rs") if file.exists())
    return [path.read_text().splitlines() for path in sorted(public)]


def has_example(lines):
    """Returns true if the module or an item of it has an example."""
    return any(line.strip().startswith(("//! ```", "/// ```")) for line in lines)


def measure(root):
    """Returns the figures of a tree by name, and the entries for `--list` by heading."""
    code, sizes, lengths, docs, questions, largest, modules = {}, [], [], 0, [], [], []
    for crate in sorted((root / "crates").iterdir()):
        files = sources(crate)
        code[crate.name] = [code_lines(path) for path in files]
        for path in files:
            lines, place = production_lines(path), str(path.relative_to(root))
            sizes.append((len(lines), place))
            lengths.extend((length, name, place) for length, name in functions(lines))
            for first in documented_items(lines):
                docs += 1
                questions.extend([f"{place}: {first}"] if QUESTION.match(first) else [])
        modules += public_modules(files)
        found = circles(Crate(crate / "src", files).arrows())
        largest.extend((len(group), crate.name, " ".join(sorted("::".join(module) for module in group))) for group in found)
    total = sum(size for size, _ in sizes)
    over = [(size, place) for size, place in sizes if size > MAX_FILE_LINES]
    long = sorted((entry for entry in lengths if entry[0] > MAX_FUNCTION_LINES), reverse=True)
    wide = sorted((entry for entry in largest if entry[0] > MAX_CIRCLE), reverse=True)
    length, name, place = max(lengths)
    circle = max(largest, default=(0, "none", ""))
    headed = sum(bool(lines) and lines[0].startswith("//!") for lines in modules)
    of_files = [lines for crate in code.values() for lines in crate]
    pages = [page.read_text() for page in (root / "docs").rglob("*.md")]
    architecture = root / "ARCHITECTURE.md"
    figures = {
        "crates": f"{len(code)}",
        "lines of code": f"{sum(of_files):,}",
        **{f"  {crate}": f"{sum(lines):,} in {len(lines)} files" for crate, lines in code.items()},
        f"files under {MIN_CODE_LINES} lines of code": f"{sum(lines < MIN_CODE_LINES for lines in of_files)} of {len(of_files)}",
        "lines with comments": f"{total:,}",
        "files": f"{len(sizes)}, median {statistics.median(size for size, _ in sizes):.0f} lines",
        f"lines in files over {MAX_FILE_LINES}": f"{100 * sum(size for size, _ in over) / total:.1f} % in {len(over)} files",
        "longest function": f"{length} lines: {name} in {place}",
        f"functions over {MAX_FUNCTION_LINES} lines": f"{len(long)} of {len(lengths)}",
        "largest import circle": f"{circle[0]} files of {circle[1]}",
        f"circles over {MAX_CIRCLE} files": f"{len(wide)}",
        "docs that begin as a question": f"{100 * len(questions) / max(docs, 1):.1f} % of {docs} public items",
        "public modules with a text": f"{headed} of {len(modules)}; with an example {sum(map(has_example, modules))}",
        "words of docs": f"{sum(len(page.split()) for page in pages):,} in {len(pages)} pages",
        "lines of ARCHITECTURE.md": f"{len(architecture.read_text().splitlines()) if architecture.exists() else 0}",
    }
    return figures, {"files": sorted(over, reverse=True), "functions": long, "circles": wide, "questions": questions}


def figures_of_revision(revision):
    """Returns the figures of a revision of the repository."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", ROOT, "archive", revision, "crates", "docs", "ARCHITECTURE.md"], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive.stdout)
        return measure(pathlib.Path(folder))[0]


def check_size(write):
    """Prints the lines of code of each crate beside the recorded ones. Returns false if there are more in all."""
    counted = {crate.name: sum(map(code_lines, sources(crate))) for crate in sorted((ROOT / "crates").iterdir())}
    heading = [line for line in SIZE.read_text().splitlines() if line.startswith("#")]
    recorded = [line.split(None, 2) for line in SIZE.read_text().splitlines() if line and not line.startswith("#")]
    allowed = {name: int(lines) for name, lines, *_ in recorded}
    reasons = {name: reason[0] for name, _, *reason in recorded if reason}
    rows = [(name, lines, allowed.get(name, 0), reasons.get(name, "")) for name, lines in counted.items()]
    total, most = sum(counted.values()), sum(allowed.values())
    print(f"{'crate':<18} {'lines':>7} {'allowed':>7}")
    for name, lines, limit, reason in [*rows, ("in all", total, most, "")]:
        print(f"{name:<18} {lines:>7} {limit:>7}  {f'{lines - limit:+}' if lines != limit else '':<6} {reason}".rstrip())
    if write:
        text = [f"{name:<18} {lines:>6}  {reason}".rstrip() for name, lines, _, reason in rows]
        SIZE.write_text("\n".join(heading + text) + "\n")
    elif total > most:
        print(f"{total - most} lines of code more than {SIZE.relative_to(ROOT)} allows: see its first lines")
    return write or total <= most


def build_seconds():
    """Returns the seconds of a build from nothing, and of one after a change of the scanner."""
    scanner = ROOT / "crates/portion-json/src/scan/mod.rs"
    with tempfile.TemporaryDirectory() as target:

        def build():
            began = time.monotonic()
            command = ["cargo", "build", "--quiet", "--locked", "--bin", "portion"]
            subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"CARGO_TARGET_DIR": target})
            return time.monotonic() - began

        first = build()
        scanner.touch()
        return first, build()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--before", metavar="REVISION")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--size", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.size or options.write:
        sys.exit(not check_size(options.write))
    figures, entries = measure(ROOT)
    before = figures_of_revision(options.before) if options.before else {}
    for name, figure in figures.items():
        print(f"{name:<31} {figure}" + (f"   (before: {before[name]})" if name in before else ""))
    if options.build:
        first, again = build_seconds()
        print(f"{'cargo build':<31} {first:.0f} s; after a change of the scanner {again:.0f} s")
    for heading, listed in entries.items() if options.list else ():
        print(f"\n{heading}")
        for entry in listed:
            print("  " + (entry if isinstance(entry, str) else " ".join(map(str, entry))))


main()

#!/usr/bin/env python3
"""Prints measurements of the structure of the code: sizes, import circles, and the style of doc comments.

Usage: tools/house.py [--list] [--before REVISION] [--build]

`--list` also names the files and functions over the aims, the circles, and doc comments that begin as a question.
`--before` prints the figures of another revision beside today's. `--build` measures `cargo build` from nothing, and
again after a change of the scanner.
Nothing is checked: the figures are for people.
"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_CIRCLE = 400, 80, 4
QUESTION = re.compile(r"^(Whether|What|Where|Which|Who|Whose|Whom|How|When|Why)\b")
ITEM = re.compile(r"^\s*pub(?:\([^)]*\))?\s+(?:async\s+|const\s+|unsafe\s+)*(fn|struct|enum|trait|type|const|static|mod|union)\b")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+|extern\s+\"C\"\s+)*fn\s+(\w+)")
IMPORT = re.compile(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:$])((?:crate|super|self|[a-z_]\w*)(?:::\w+)+)")


def production_lines(path):
    """Returns the lines of a file without its unit tests."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and number + 1 < len(lines) and lines[number + 1].startswith("mod ") and lines[number + 1].endswith("{"):
            return lines[:number]
    return lines


def is_test(path):
    """Returns true for files that only tests compile."""
    return "tests" in path.parts or "laws" in path.parts or path.name in ("tests.rs", "laws.rs")


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
    sizes, lengths, docs, questions, largest, modules = [], [], 0, [], [], []
    for crate in sorted((root / "crates").iterdir()):
        source = crate / "src"
        files = [path for path in sorted(source.rglob("*.rs")) if not is_test(path.relative_to(source))]
        for path in files:
            lines, place = production_lines(path), str(path.relative_to(root))
            sizes.append((len(lines), place))
            lengths.extend((length, name, place) for length, name in functions(lines))
            for first in documented_items(lines):
                docs += 1
                questions.extend([f"{place}: {first}"] if QUESTION.match(first) else [])
        modules += public_modules(files)
        found = circles(Crate(source, files).arrows())
        largest.extend((len(group), crate.name, " ".join(sorted("::".join(module) for module in group))) for group in found)
    total = sum(size for size, _ in sizes)
    over = [(size, place) for size, place in sizes if size > MAX_FILE_LINES]
    long = sorted((entry for entry in lengths if entry[0] > MAX_FUNCTION_LINES), reverse=True)
    wide = sorted((entry for entry in largest if entry[0] > MAX_CIRCLE), reverse=True)
    length, name, place = max(lengths)
    circle = max(largest, default=(0, "none", ""))
    headed = sum(bool(lines) and lines[0].startswith("//!") for lines in modules)
    figures = {
        "production lines": f"{total:,}",
        "files": f"{len(sizes)}, median {statistics.median(size for size, _ in sizes):.0f} lines",
        f"lines in files over {MAX_FILE_LINES}": f"{100 * sum(size for size, _ in over) / total:.1f} % in {len(over)} files",
        "longest function": f"{length} lines: {name} in {place}",
        f"functions over {MAX_FUNCTION_LINES} lines": f"{len(long)} of {len(lengths)}",
        "largest import circle": f"{circle[0]} files of {circle[1]}",
        f"circles over {MAX_CIRCLE} files": f"{len(wide)}",
        "docs that begin as a question": f"{100 * len(questions) / max(docs, 1):.1f} % of {docs} public items",
        "public modules with a text": f"{headed} of {len(modules)}; with an example {sum(map(has_example, modules))}",
    }
    return figures, {"files": sorted(over, reverse=True), "functions": long, "circles": wide, "questions": questions}


def figures_of_revision(revision):
    """Returns the figures of a revision of the repository."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", ROOT, "archive", revision, "crates"], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive.stdout)
        return measure(pathlib.Path(folder))[0]


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
    options = parser.parse_args()
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

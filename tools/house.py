#!/usr/bin/env python3
"""Prints measurements of the structure of the code: sizes, import circles and the style of doc comments.

Usage: tools/house.py [--circles]

`--circles` lists the modules of each import circle. Nothing is checked: the figures are for people.
"""

import collections
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUESTION = re.compile(r"^(Whether|What|Where|Which|Who|Whose|Whom|How|When|Why)\b")
ITEM = re.compile(r"^\s*pub(?:\([^)]*\))?\s+(?:async\s+|const\s+|unsafe\s+)*(fn|struct|enum|trait|type|const|static|mod|union)\b")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+|extern\s+\"C\"\s+)*fn\s+(\w+)")


def production_lines(path):
    """Returns the lines of a file without its unit tests."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and number + 1 < len(lines) and lines[number + 1].startswith("mod ") and lines[number + 1].endswith("{"):
            return lines[:number]
    return lines


def is_test(path):
    """Returns true for files that only tests compile."""
    return "tests" in path.parts or path.name in ("tests.rs", "laws.rs")


def longest_function(lines):
    """Returns the length and the name of the longest function, by indentation as rustfmt writes it."""
    longest = (0, "")
    for start, line in enumerate(lines):
        match = FUNCTION.match(line)
        opening = next((other for other in lines[start:] if other.rstrip().endswith(("{", ";", "}"))), ";")
        if not match or opening.rstrip().endswith(";"):
            continue
        end = match.group(1) + "}"
        for offset, other in enumerate(lines[start:], 1):
            if other == end:
                longest = max(longest, (offset, match.group(2)))
                break
    return longest


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


def top_module(path, source):
    """Returns the name of the module directly below the crate root."""
    return path.relative_to(source).parts[0].removesuffix(".rs")


def imports(path, source, names):
    """Returns the top-level modules that a file names by `crate::` or by `super::` up to the root."""
    text = "\n".join(line for line in production_lines(path) if not line.lstrip().startswith("//"))
    depth = len(path.relative_to(source).parts) - (1 if path.name == "mod.rs" else 0)
    found = set()
    for prefix in ("crate::", "super::" * depth):
        for match in re.finditer(r"(?<![\w:])" + re.escape(prefix) + r"(?:\{([^;]*?)\};|(\w+))", text, re.S):
            words = [match.group(2)] if match.group(2) else re.findall(r"(?:^|[,{])\s*(\w+)", match.group(1))
            found.update(word for word in words if word in names)
    return found


def circles(edges):
    """Returns the sets of modules that import each other in a loop."""

    def reachable(start):
        seen, todo = set(), [start]
        while todo:
            for name in edges[todo.pop()]:
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return seen

    reach = {name: reachable(name) for name in edges}
    groups = {frozenset(other for other in edges if other in reach[name] and name in reach[other]) for name in edges}
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def main():
    show_circles = "--circles" in sys.argv[1:]
    sizes, functions, docs, questions = [], [], 0, 0
    largest = {}
    for crate in sorted((ROOT / "crates").iterdir()):
        source = crate / "src"
        files = [path for path in sorted(source.rglob("*.rs")) if not is_test(path.relative_to(source))]
        names = {top_module(path, source) for path in files} - {"lib", "main"}
        edges = collections.defaultdict(set, {name: set() for name in names})
        for path in files:
            lines = production_lines(path)
            sizes.append(len(lines))
            functions.append((*longest_function(lines), str(path.relative_to(ROOT))))
            for first in documented_items(lines):
                docs += 1
                questions += bool(QUESTION.match(first))
            module = top_module(path, source)
            if module in names:
                edges[module] |= imports(path, source, names) - {module}
        largest[crate.name] = circles(edges)
    over = sum(size for size in sizes if size > 400)
    length, name, place = max(functions)
    print(f"production lines           {sum(sizes):,}")
    print(f"files                      {len(sizes)}, median {statistics.median(sizes):.0f} lines")
    print(f"lines in files over 400    {100 * over / sum(sizes):.1f} %")
    print(f"longest function           {length} lines: {name} in {place}")
    print(f"functions over 80 lines    {sum(length > 80 for length, _, _ in functions)} files have one")
    print(f"docs that begin as a question  {100 * questions / docs:.1f} % of {docs} public items")
    for crate, groups in largest.items():
        print(f"import circles of {crate:<18} {', '.join(str(len(group)) for group in groups) or 'none'}")
        if show_circles:
            for group in groups:
                print("    " + " ".join(sorted(group)))


main()

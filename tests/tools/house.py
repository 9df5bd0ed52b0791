"""How large the house is: `python -m tools.house` counts, and draws who imports whom (`make house`).

Modules without a statement of their own (an empty `__init__`) are not counted.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.sax.saxutils import escape

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src"


@dataclass(frozen=True)
class Module:
    name: str
    text: str
    tree: ast.Module
    is_package: bool

    @property
    def package(self) -> str:
        """The folder under `weft` that it lies in, or its own name."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else parts[0]

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def functions(self) -> list[str]:
        defs = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.name for node in ast.walk(self.tree) if isinstance(node, defs)]

    @cached_property
    def classes(self) -> list[str]:
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def imports(self, known: set[str]) -> set[str]:
        """The modules that it names, wherever in the file."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= (inner & known) or {node.module}
        return (found & known) - {self.name}


def modules(source: Path = SOURCE) -> list[Module]:
    return list(_read(source))


def _read(source: Path) -> Iterator[Module]:
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        has_code = any(not _is_docstring(node) for node in tree.body)
        if has_code or not is_package:
            yield Module(".".join(parts[:-1] if is_package else parts), text, tree, is_package)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@dataclass(frozen=True)
class House:
    modules: list[Module]

    @cached_property
    def names(self) -> set[str]:
        return {module.name for module in self.modules}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """Module -> modules that import it."""
        found: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for name in module.imports(self.names):
                found[name].add(module.name)
        return found

    @property
    def lines(self) -> int:
        return sum(module.lines for module in self.modules)

    @property
    def with_one_importer(self) -> int:
        return sum(len(self.importers[name]) == 1 for name in self.names)

    @property
    def functions_used_once(self) -> int:
        """Private functions whose name stands in one other place of their file: each is a step of one caller."""
        count = 0
        for module in self.modules:
            words = Counter(re.findall(r"\b_\w+", module.text))
            count += sum(
                name.startswith("_") and not name.endswith("__") and words[name] == 2 for name in module.functions
            )
        return count

    @cached_property
    def repeated_classes(self) -> list[str]:
        counted = Counter(name for module in self.modules for name in module.classes)
        return sorted(name for name, count in counted.items() if count > 1)

    @cached_property
    def edges(self) -> Counter[tuple[str, str]]:
        """(package, package that it imports) -> in how many of its modules."""
        packages = {module.name: module.package for module in self.modules}
        found: Counter[tuple[str, str]] = Counter()
        for module in self.modules:
            for package in {packages[name] for name in module.imports(self.names)} - {module.package, "weft"}:
                found[module.package, package] += module.package != "weft"
        return +found


def files_per_commit(source: Path = SOURCE) -> list[int]:
    """How many source files each commit changed, merges and commits that changed none aside."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%x00", "--name-only", "--", source],
        cwd=PROJECT, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    return [len(commit.split()) for commit in log.split("\0") if commit.split()]


def report(house: House) -> str:
    functions = sum(len(module.functions) for module in house.modules)
    classes = sum(len(module.classes) for module in house.modules)
    per_package = Counter(module.package for module in house.modules)
    commits = files_per_commit()
    rows: list[tuple[str, float]] = [
        ("modules", len(house.modules)),
        ("lines", house.lines),
        ("lines of a module, median", round(statistics.median(module.lines for module in house.modules))),
        ("modules with one importer", house.with_one_importer),
        ("classes", classes),
        ("class names used more than once", len(house.repeated_classes)),
        ("functions", functions),
        ("private functions used once", house.functions_used_once),
    ]
    if commits:
        rows.append(("source files per commit, median", round(statistics.median(commits))))
        rows.append(("source files per commit, mean", round(statistics.mean(commits), 1)))
    text = "\n".join(f"{name:36}{value:>10,}" for name, value in rows)
    largest = ", ".join(f"{name} {count}" for name, count in per_package.most_common(12))
    repeated = ", ".join(house.repeated_classes)
    return f"{text}\n\nmodules per package: {largest}\nclass names used more than once: {repeated}"


def drawing(house: House) -> str:
    """Packages in rows, each above all that it imports; the wider a line, the more modules import."""
    packages = {module.package for module in house.modules} - {"weft"}
    height: dict[str, int] = {}

    def level(package: str, above: tuple[str, ...] = ()) -> int:
        if package not in height:
            below = [to for start, to in house.edges if start == package and to not in (*above, package)]
            height[package] = 1 + max((level(to, (*above, package)) for to in below), default=-1)
        return height[package]

    rows: dict[int, list[str]] = defaultdict(list)
    for package in sorted(packages):
        rows[level(package)].append(package)
    count = Counter(module.package for module in house.modules)
    widest, top = max(len(row) for row in rows.values()), max(rows)
    step, drop = 150, 84
    place = {
        package: (round((number + 0.5) * widest * step / len(row)), (top - depth) * drop + 40)
        for depth, row in rows.items()
        for number, package in enumerate(row)
    }
    lines = [
        f'<path d="M{place[start][0]} {place[start][1] + 16} L{place[to][0]} {place[to][1] - 16}" '
        f'stroke-width="{min(6.0, 0.5 + weight / 6):.1f}"/>'
        for (start, to), weight in sorted(house.edges.items())
    ]
    boxes = [
        f'<g><rect x="{x - 62}" y="{y - 16}" width="124" height="32" rx="6"/>'
        f'<text x="{x}" y="{y + 5}">{escape(package)} {count[package]}</text></g>'
        for package, (x, y) in sorted(place.items())
    ]
    style = (
        "path{stroke:#8899aa;stroke-opacity:.35;fill:none}rect{fill:#eef4fb;stroke:#446}"
        "text{font:13px sans-serif;text-anchor:middle;fill:#112}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest * step} {top * drop + 80}">'
        f"<title>Packages of weft: each imports those below it; numbers are modules</title><style>{style}</style>"
        f'<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>{"".join(lines)}{"".join(boxes)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    parser.add_argument("--draw", type=Path, metavar="FILE", help="write the packages and their imports as an SVG")
    arguments = parser.parse_args()
    house = House(modules())
    print(report(house))
    if arguments.draw:
        arguments.draw.write_text(drawing(house), encoding="utf-8")


if __name__ == "__main__":
    main()

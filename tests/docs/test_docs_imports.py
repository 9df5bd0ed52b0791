"""The table of who imports whom is what the code does, and it has no cycles."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "weft"
TOP = {"cli", "__init__", "__main__"}
"""May import everything; nobody imports them."""


def documented() -> dict[str, list[str]]:
    """Package -> packages that it may import, in the order of the document: from the lowest to the highest."""
    text = (PROJECT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", text[text.index("| package | imports |") :], re.MULTILINE)
    return {
        package: re.findall(r"`(\w+)`", imports)
        for packages, imports in rows
        for package in re.findall(r"`(\w+)`", packages)
    }


def imported(package: str) -> set[str]:
    files = (SOURCE / package).rglob("*.py") if (SOURCE / package).is_dir() else [SOURCE / f"{package}.py"]
    found = {name for file in files for node in ast.walk(ast.parse(file.read_text())) for name in names_in(node)}
    return {name for name in found if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()} - {package}


def names_in(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.ImportFrom) or node.module is None or node.module.split(".")[0] != "weft":
        return []
    return node.module.split(".")[1:2] or [alias.name for alias in node.names]


def packages() -> list[str]:
    return sorted(
        {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()} - TOP
    )


@pytest.mark.parametrize("package", packages())
def test_a_package_imports_what_the_table_says(package: str) -> None:
    assert imported(package) == set(documented()[package])


def test_the_table_goes_upwards() -> None:
    below: set[str] = set()
    for package, imports in documented().items():
        assert set(imports) <= below, package
        below.add(package)

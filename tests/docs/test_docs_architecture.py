"""docs/architecture.md names every module, in the section of its package, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "weft"
TEXT = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file())


def section_of(package: str) -> str:
    """The text under the heading that names a package."""
    found = re.search(rf"^### [^\n]*\b{package}\b[^\n]*:[^\n]*\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"no heading names {package}"
    return found[1]


def modules_of(package: str) -> set[str]:
    # The parts of the synthetic web have a page of their own.
    files = (file for file in (SOURCE / package).rglob("*.py") if "demo/web/" not in file.as_posix())
    return {file.stem for file in files if file.stem != "__init__"}


def names_in(text: str) -> set[str]:
    return {part for name in re.findall(r"`([\w./]+)`", text) for part in name.rstrip("/").split("/")}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_named_in_its_section(package: str) -> None:
    assert modules_of(package) - names_in(section_of(package)) == set()


@pytest.mark.parametrize(
    "path", sorted({name for name in re.findall(r"`([a-z]\w*/[\w/]+)`", TEXT) if name.split("/")[0] in PACKAGES})
)
def test_every_path_leads_somewhere(path: str) -> None:
    place = SOURCE / path
    assert place.is_dir() or place.with_suffix(".py").is_file() or "NAME" in path

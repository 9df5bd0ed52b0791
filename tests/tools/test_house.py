"""The house grows only on purpose: the number of modules is held, and the counts are right."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tools.house import House, drawing, modules, report

MOST_MODULES = 661
"""Raise it only with a page in docs/decisions that says why a module was needed (the last: 030 and 031). Lower it when
modules go."""


def house_of(directory: Path, files: dict[str, str]) -> House:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return House(modules(directory))


SMALL = {
    "weft/__init__.py": '"""Only words."""\n',
    "weft/errors.py": "class WeftError(Exception): ...\n",
    "weft/store/__init__.py": "",
    "weft/store/api.py": "from weft.errors import WeftError\nclass Part: ...\ndef _step(): ...\n_ = _step\n",
    "weft/cli/main.py": "import weft.errors\nfrom weft.store import api\n\nclass Part: ...\n",
}


def test_there_are_no_more_modules_than_were_decided() -> None:
    assert len(modules()) <= MOST_MODULES


def test_modules_importers_and_repeated_names_are_counted(tmp_path: Path) -> None:
    house = house_of(tmp_path, SMALL)
    assert house.names == {"weft.errors", "weft.store.api", "weft.cli.main"}
    assert house.importers == {"weft.errors": {"weft.store.api", "weft.cli.main"}, "weft.store.api": {"weft.cli.main"}}
    assert (house.with_one_importer, house.functions_used_once, house.repeated_classes) == (1, 1, ["Part"])
    assert house.edges == {("store", "errors"): 1, ("cli", "errors"): 1, ("cli", "store"): 1}


def test_the_report_and_the_drawing_name_every_package(tmp_path: Path) -> None:
    house = house_of(tmp_path, SMALL)
    assert "modules with one importer" in report(house)
    text = "".join(ElementTree.fromstring(drawing(house)).itertext())
    assert all(name in text for name in ("cli 1", "store 1", "errors 1"))

"""A home: made for its owner alone, and never widened or narrowed later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.home import Home


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_a_new_home_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    home = Home(tmp_path / "home")
    with umask(mask):
        assert home.make("")
    assert (mode(home.path), mode(home.settings_file)) == (0o700, 0o600 & ~mask)
    assert home.is_private


def test_directories_above_a_new_home_are_as_the_umask_says(tmp_path: Path) -> None:
    with umask(0o022):
        Home(tmp_path / "above" / "home").make("")
    assert mode(tmp_path / "above") == 0o755


def test_a_directory_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.path.chmod(0o750)
    with umask(0o022):
        assert home.make("")
        assert (mode(home.path), mode(home.settings_file)) == (0o750, 0o644)
        home.keep_private()
        (home.path / "new").touch()
    assert mode(home.path / "new") == 0o644
    assert not home.is_private


def test_in_a_private_home_everything_new_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make("")
    with umask(0o000):
        home.keep_private()
        (home.path / "new").touch()
        assert mode(home.path / "new") == 0o600

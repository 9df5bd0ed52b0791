"""A home for all tests of the web app, which none of them may change, and the app over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import axe, browser  # noqa: F401 - fixtures
from support.web_app import RunningApp, copy_home, make_home, new_token, running_app


@pytest.fixture(scope="session")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="session")
def token(small_home: Path) -> str:
    return new_token(small_home)


@pytest.fixture(scope="session")
def app(small_home: Path, token: str) -> Iterator[RunningApp]:
    """On loopback: everybody may read."""
    with running_app(small_home) as running:
        yield running


@pytest.fixture(scope="session")
def far_app(small_home: Path, token: str) -> Iterator[RunningApp]:
    """Others can reach it: reading needs a login or a token."""
    origins = 'web.origins=["https://board.example"]'
    with running_app(small_home, 'web.hosts=["weft.example"]', origins, listens_at="192.0.2.1") as running:
        yield running


@pytest.fixture
def own_home(small_home: Path, tmp_path: Path) -> Path:
    """A copy that a test may change and break."""
    return copy_home(small_home, tmp_path)

"""The control plane for many who look: one connection, made anew when it fails or leads to another file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.config import Settings
from weft.errors import MgmtUnavailable, NotKnown
from weft.mgmt.api import Mgmt
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.web import control_desk
from weft.web.control_desk import ControlDesk


class Opened:
    """Opens control planes and counts them."""

    def __init__(self) -> None:
        self.made: list[MemoryMgmt] = []
        self.identity = 1

    def open(self) -> Mgmt:
        self.made.append(MemoryMgmt())
        return self.made[-1]


@contextmanager
def desk_of(opened: Opened, home: Path) -> Iterator[ControlDesk]:
    desk = ControlDesk(opened.open, opened.open, lambda: opened.identity, home, Settings())
    yield desk
    desk.close()


def asked(mgmt: Any) -> Any:
    return mgmt


def test_questions_share_a_connection_until_it_fails(tmp_path: Path) -> None:
    opened = Opened()

    def fail(_: Any) -> None:
        raise MgmtUnavailable("the database cannot be reached")

    def miss(_: Any) -> None:
        raise NotKnown("no such node")

    with desk_of(opened, tmp_path) as desk:
        first = desk.read(asked)
        assert desk.read(asked) is first
        with pytest.raises(NotKnown):
            desk.read(miss)
        assert desk.read(asked) is first, "an answer is no failure"
        with pytest.raises(MgmtUnavailable):
            desk.read(fail)
        assert desk.read(asked) is not first
        assert len(opened.made) == 2


def test_another_file_is_opened(tmp_path: Path) -> None:
    opened = Opened()
    with desk_of(opened, tmp_path) as desk:
        first = desk.read(asked)
        opened.identity = 2
        assert desk.read(asked) is not first
        assert desk.read(asked) is opened.made[-1]


def test_figures_are_read_once_a_second_and_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(control_desk, "time", SimpleNamespace(monotonic=lambda: now))
    with desk_of(Opened(), tmp_path) as desk:
        first = desk.status()
        assert desk.status() is first
        now += 0.9
        assert desk.status() is first
        now += 0.2
        second = desk.status()
        assert second is not first
        desk.change(asked)
        assert desk.status() is not second

"""Page handlers: found by their entry points, called with pages, and never in the way."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint

import pytest

from weft.index import handlers
from weft.index.handlers import HandledPage, PageHandlers, load_handlers

PAGE = HandledPage(uri="com.a", url="https://a.com/", fetched=1, status=200, title="A", text="words", links=["com.b"])


def point(name: str) -> EntryPoint:
    return EntryPoint(name, f"weft.index.handlers:{name}", handlers.GROUP)


def test_handlers_are_loaded_by_their_entry_points_and_one_that_cannot_be_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    handled: list[HandledPage] = []
    monkeypatch.setattr(handlers, "keeping", handled.append, raising=False)
    load_handlers([point("absent"), point("keeping")]).handle(PAGE)
    assert handled == [PAGE]
    assert [record.getMessage() for record in caplog.records] == ["page handler cannot be loaded name=absent"]


def test_what_a_handler_raises_is_logged_and_the_next_one_is_called(caplog: pytest.LogCaptureFixture) -> None:
    handled: list[HandledPage] = []

    def failing(page: HandledPage) -> None:
        raise ValueError("no")

    PageHandlers({"failing": failing, "keeping": handled.append}).handle(PAGE)
    assert handled == [PAGE]
    assert [record.getMessage() for record in caplog.records] == ["page handler failed name=failing uri=com.a"]


def test_a_slow_handler_is_named_in_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(handlers, "SLOW", -1.0)
    with caplog.at_level(logging.WARNING):
        PageHandlers({"idle": lambda page: None}).handle(PAGE)
    assert "page handler is slow name=idle uri=com.a" in caplog.text

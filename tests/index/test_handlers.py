"""Page handlers: found by their entry point, told of pages, and never in the way."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint

import pytest

from weft.index import handlers
from weft.index.handlers import HandledPage, Handlers

PAGE = HandledPage(uri="com.a", url="https://a.com/", fetched=1, status=200, title="A", text="words", links=["com.b"])


def point(name: str) -> EntryPoint:
    return EntryPoint(name, f"weft.index.handlers:{name}", handlers.GROUP)


def test_what_a_handler_raises_is_logged_and_the_next_one_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[HandledPage] = []

    def failing(page: HandledPage) -> None:
        raise ValueError("no")

    monkeypatch.setattr(handlers, "failing", failing, raising=False)
    monkeypatch.setattr(handlers, "keeping", told.append, raising=False)
    Handlers([point("absent"), point("failing"), point("keeping")]).handle(PAGE)
    assert told == [PAGE]
    assert [record.getMessage() for record in caplog.records] == [
        "page handler cannot be loaded name=absent",
        "page handler failed name=failing uri=com.a",
    ]


def test_a_slow_handler_is_named_in_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(handlers, "SLOW", -1.0)
    monkeypatch.setattr(handlers, "keeping", lambda page: None, raising=False)
    with caplog.at_level(logging.WARNING):
        Handlers([point("keeping")]).handle(PAGE)
    assert "page handler is slow name=keeping uri=com.a" in caplog.text

"""Page handlers: functions of other packages that are told of every page that was loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points

import msgspec

GROUP = "weft.handlers"
_log = logging.getLogger(__name__)


class HandledPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page as a handler gets it."""

    uri: str
    url: str
    fetched: int
    """Milliseconds since 1970."""
    status: int
    title: str
    text: str
    links: list[str]
    """The uris that it references."""


Handler = Callable[[HandledPage], object]


class Handlers:
    """Called after a page is in the index, at least once; what a handler raises is logged and harms nobody else."""

    def __init__(self, found: Iterable[EntryPoint] | None = None) -> None:
        points = entry_points(group=GROUP) if found is None else found
        self._handlers: dict[str, Handler] = {}
        for point in points:
            try:
                self._handlers[point.name] = point.load()
            except Exception:
                _log.exception("page handler cannot be loaded name=%s", point.name)

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def handle(self, page: HandledPage) -> None:
        for name, handler in self._handlers.items():
            try:
                handler(page)
            except Exception:
                _log.exception("page handler failed name=%s uri=%s", name, page.uri)

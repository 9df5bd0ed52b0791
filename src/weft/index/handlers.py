"""Page handlers: functions of other packages that are called with every page that was loaded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import msgspec

GROUP = "weft.handlers"
SLOW: Final = 1.0
"""Seconds for one page, beyond which a handler is named in the log: the index waits for it."""
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


class PageHandlers:
    """Handlers by name. Each is called after a page is in the index, at most once per load; what one raises is logged
    and does not keep the others from being called."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def handle(self, page: HandledPage) -> None:
        for name, handler in self._handlers.items():
            began = time.monotonic()
            try:
                handler(page)
            except Exception:
                _log.exception("page handler failed name=%s uri=%s", name, page.uri)
            if (seconds := time.monotonic() - began) > SLOW:
                _log.warning("page handler is slow name=%s uri=%s seconds=%.1f", name, page.uri, seconds)


def load_handlers(points: Iterable[EntryPoint] | None = None) -> PageHandlers:
    """The handlers of all installed packages; one that cannot be loaded is logged and left out."""
    handlers: dict[str, Handler] = {}
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            handlers[point.name] = point.load()
        except Exception:
            _log.exception("page handler cannot be loaded name=%s", point.name)
    return PageHandlers(handlers)

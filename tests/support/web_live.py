"""A home that is written while the web app reads it, and a client of event streams that can be cut off anywhere."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from support.web_app import PATIENCE, RunningApp
from weft.config import Settings
from weft.config.sections import IndexSettings
from weft.home import Home
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.api import Store
from weft.store.open import open_store

RULES = UrlRules()


class WrittenHome:
    """Its store is open to be written, as in an index process."""

    def __init__(self, path: Path, store: Store) -> None:
        self.path = path
        self._links = LinkIndex(store, IndexSettings())

    def load(self, *pages: tuple[str, str, Sequence[tuple[str, str]]]) -> None:
        """Pages in one batch: URL, title, and links as URLs with their words."""
        self._links.apply([_page(*page) for page in pages])


def _page(url: str, title: str, links: Sequence[tuple[str, str]]) -> LoadedPage:
    fetched = int(time.time() * 1000)
    return load_page(RULES, RULES.identify(url), fetched, [RawLink(*link) for link in links], Doc(title=title))


@contextmanager
def written_home(place: Path, name: str = "home") -> Iterator[WrittenHome]:
    path = place / name
    Home(path).make("")
    with open_store(path / "store", Settings()) as store:
        yield WrittenHome(path, store)


class Event(NamedTuple):
    name: str
    data: Any
    mark: str


class EventClient:
    """Reads as browsers do: an event that did not arrive whole is none, and its id is not remembered."""

    def __init__(self, raw: socket.socket) -> None:
        self._raw, self._unread, self._text = raw, b"", b""
        self._end = time.monotonic() + PATIENCE
        self.mark = ""
        self.comments = 0
        self.is_over = False
        """Whether the server ended the stream as HTTP demands it."""

    def head(self) -> str:
        while b"\r\n\r\n" not in self._unread:
            if not self._receive():
                break
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        return head.decode()

    def next(self) -> Event | None:
        """The next event; None: the stream ended."""
        while True:
            while (end := self._text.find(b"\n\n")) >= 0:
                block, self._text = self._text[:end].decode(), self._text[end + 2 :]
                if event := self._dispatch(block):
                    return event
            if not self._more():
                return None

    def until_marked(self) -> str:
        """The id that comes first, before there is any event."""
        while b"\n\n" not in self._text:
            assert self._more(), "the stream ended"
        block, _, self._text = self._text.partition(b"\n\n")
        self._dispatch(block.decode())
        assert self.mark
        return self.mark

    def take(self, most: int) -> list[Event]:
        """What is whole within so many bytes; the rest is left to be cut off."""
        while len(self._text) < most and self._more():
            pass
        whole, _, self._text = self._text[:most].rpartition(b"\n\n")
        found = [self._dispatch(block.decode()) for block in whole.split(b"\n\n") if block]
        return [event for event in found if event]

    def until_comment(self) -> None:
        while not self.comments:
            block, found, rest = self._text.partition(b"\n\n")
            if found:
                self._text = rest
                self._dispatch(block.decode())
            else:
                assert self._more(), "the stream ended"

    def _dispatch(self, block: str) -> Event | None:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                self.comments += 1
            else:
                fields[name] = value
        self.mark = fields.get("id", self.mark)
        if "data" not in fields:
            return None
        return Event(fields.get("event", "message"), json.loads(fields["data"]), self.mark)

    def _more(self) -> bool:
        """Take another chunk out of the transfer encoding."""
        while (end := self._unread.find(b"\r\n")) < 0 or len(self._unread) < end + 4 + int(self._unread[:end], 16):
            if not self._receive():
                return False
        length = int(self._unread[:end], 16)
        self._text += self._unread[end + 2 : end + 2 + length]
        self._unread = self._unread[end + 4 + length :]
        self.is_over = not length
        return bool(length)

    def _receive(self) -> bool:
        assert time.monotonic() < self._end, "what the test waits for does not come"
        piece = self._raw.recv(1 << 16)
        self._unread += piece
        return bool(piece)


@contextmanager
def streaming(app: RunningApp, mark: str = "", **asked: object) -> Iterator[EventClient]:
    """A stream that was accepted; cut without a word at the end."""
    with asking(app, mark, **asked) as client:
        head = client.head()
        assert head.startswith("HTTP/1.1 200 "), head
        assert "text/event-stream" in head
        yield client


@contextmanager
def asking(app: RunningApp, mark: str = "", **asked: object) -> Iterator[EventClient]:
    """A request for a stream."""
    with socket.create_connection(("127.0.0.1", app.port), timeout=PATIENCE) as raw:
        resumes = f"Last-Event-ID: {mark}\r\n" if mark else ""
        raw.sendall(f"GET /api/events?{urlencode(asked)} HTTP/1.1\r\nHost: 127.0.0.1\r\n{resumes}\r\n".encode())
        yield EventClient(raw)

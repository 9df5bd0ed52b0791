"""libcurl's multi interface driven by asyncio: it names the sockets to watch, the event loop watches them."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Final

import pycurl  # type: ignore[import-untyped]

from weft.spider.kept_connections import KeptConnections

_BATCH: Final = 1024


class CurlLoop:
    """Runs any number of transfers; calls `ended(curl, code, message)` for each, code 0 meaning well.

    libcurl's sockets wait in a selector of their own, which itself is one socket to the event loop: that is about half
    the work of a reader for each socket, and everything that is ready is handled in one go.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, connections: int, ended: Callable[[pycurl.Curl, int, str], None]
    ) -> None:
        self._loop, self._ended = loop, ended
        self.kept = KeptConnections()
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._sockets = selectors.DefaultSelector()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        loop.add_reader(self._fileno(), self._act)

    def add(self, curl: pycurl.Curl) -> None:
        self._multi.add_handle(curl)

    def remove(self, curl: pycurl.Curl) -> None:
        """Stop a transfer; a connection in the middle of a response is closed."""
        self._multi.remove_handle(curl)

    def close(self) -> None:
        self._loop.remove_reader(self._fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._multi.close()
        self._sockets.close()

    def _fileno(self) -> int:
        number: int = self._sockets.fileno()
        return number

    def _watch(self, what: int, socket: int, _multi: object, _data: object) -> None:
        # libcurl's numbers for reading, writing and both are those of the selectors module.
        if what == pycurl.POLL_REMOVE:
            if socket in self._sockets.get_map():
                self._sockets.unregister(socket)
        elif socket in self._sockets.get_map():
            self._sockets.modify(socket, what)
        else:
            self._sockets.register(socket, what)

    def _set_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds == 0:
            # Not at once: libcurl calls this while it is at work, and must not be called back meanwhile.
            self._timer = self._loop.call_soon(self._time_out)
        elif milliseconds > 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _act(self) -> None:
        act = self._multi.socket_action
        for key, events in self._sockets.select(0):
            act(key.fd, events)
        self._collect()

    def _collect(self) -> None:
        waiting = 1
        while waiting:
            waiting, well, badly = self._multi.info_read(_BATCH)
            for curl in well:
                self._remember(curl)
                self._finish(curl, 0, "")
            for curl, code, message in badly:
                self._finish(curl, code, message)

    def _remember(self, curl: pycurl.Curl) -> None:
        # Before it is removed: afterwards the handle does not know its connection any more.
        socket = curl.getinfo(pycurl.ACTIVESOCKET)
        if socket >= 0:
            self.kept.remember((curl.getinfo(pycurl.LOCAL_IP), curl.getinfo(pycurl.LOCAL_PORT)), socket)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        self._multi.remove_handle(curl)
        self._ended(curl, code, message)

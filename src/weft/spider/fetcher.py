"""All fetches in flight: begun, watched, ended, given up."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from time import monotonic

import pycurl  # type: ignore[import-untyped]

from weft.spider.multi import CurlLoop
from weft.spider.request import Request
from weft.spider.transfer import Means, Response, Transfer

log = logging.getLogger(__name__)

OnEnd = Callable[[Response], None]


class Fetcher:
    """Belongs to one event loop. `on_end` is called exactly once for each fetch that is not aborted."""

    def __init__(self, means: Means, connections: int) -> None:
        self._means = means
        self._loop = asyncio.get_running_loop()
        self._curls = CurlLoop(self._loop, connections, self._finish)
        self._running: dict[pycurl.Curl, tuple[Transfer, OnEnd]] = {}
        self._idle_handles: list[Transfer] = []
        self._every = max(0.05, min(1.0, means.limits.idle_seconds / 4))
        self._watch = self._loop.call_later(self._every, self._end_silent)

    def __len__(self) -> int:
        return len(self._running)

    def start(self, request: Request, on_end: OnEnd) -> Transfer:
        transfer = self._handle(request)
        transfer.begin(request)
        self._curls.add(transfer.curl)
        self._running[transfer.curl] = transfer, on_end
        return transfer

    def abort(self, transfer: Transfer) -> None:
        """Give a fetch up; nobody is told. Doing it after its end is harmless."""
        if self._running.get(transfer.curl, (None,))[0] is transfer:
            self._stop(transfer)
            self._put_back(transfer)

    def close(self) -> None:
        self._watch.cancel()
        for transfer, _ in list(self._running.values()):
            self._stop(transfer)
        self._curls.close()

    def _handle(self, request: Request) -> Transfer:
        if request.access.is_plain and self._idle_handles:
            return self._idle_handles.pop()
        if not request.access.verify:
            log.warning("certificate not verified, as the site's settings say url=%s", request.url)
        elif request.access.ca:
            log.info("certificate verified by the site's own authority url=%s ca=%s", request.url, request.access.ca)
        return Transfer(self._means)

    def _put_back(self, transfer: Transfer) -> None:
        # A handle with a site's own options is not used for others.
        if transfer.request.access.is_plain:
            self._idle_handles.append(transfer)
        else:
            transfer.curl.close()

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer, on_end = self._running.pop(curl)
        response = transfer.end(code, message)
        self._put_back(transfer)
        on_end(response)

    def _stop(self, transfer: Transfer) -> None:
        del self._running[transfer.curl]
        self._curls.remove(transfer.curl)

    def _end_silent(self) -> None:
        self._watch = self._loop.call_later(self._every, self._end_silent)
        latest = monotonic() - self._means.limits.idle_seconds
        # Until it is connected, libcurl's own limit for connecting holds.
        silent = [one for one, _ in self._running.values() if one.is_connected and one.heard < latest]
        for transfer in silent:
            _, on_end = self._running[transfer.curl]
            self._stop(transfer)
            response = transfer.end(pycurl.E_OPERATION_TIMEDOUT, "nothing came for too long")
            self._put_back(transfer)
            on_end(response)


def system_certificates() -> str:
    """The file of certificates that this system trusts; empty: libcurl must know one itself."""
    return ssl.get_default_verify_paths().cafile or ""

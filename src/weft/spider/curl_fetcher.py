"""Fetches through libcurl: begun, watched, ended, given up."""

from __future__ import annotations

import asyncio
import logging
import ssl
from time import monotonic

import pycurl  # type: ignore[import-untyped]

from weft.spider.curl_loop import CurlLoop
from weft.spider.curl_transfer import CurlOptions, CurlTransfer
from weft.spider.fetching import FetchId, OnEnd, Request

log = logging.getLogger(__name__)


class CurlFetcher:
    """A Fetcher over libcurl. Belongs to the event loop in which it is made."""

    def __init__(self, options: CurlOptions, connections: int) -> None:
        """`connections` to web servers are kept open for the next request."""
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._curls = CurlLoop(self._loop, connections, self._finish)
        self._running: dict[FetchId, tuple[CurlTransfer, OnEnd]] = {}
        self._by_curl: dict[pycurl.Curl, CurlTransfer] = {}
        self._idle_handles: list[CurlTransfer] = []
        self._last_id = 0
        self._every = max(0.05, min(1.0, options.limits.idle_seconds / 4))
        self._watch = self._loop.call_later(self._every, self._end_silent)

    def __len__(self) -> int:
        return len(self._running)

    def start(self, request: Request, on_end: OnEnd) -> FetchId:
        self._last_id += 1
        transfer, fetch_id = self._handle(request), FetchId(self._last_id)
        transfer.begin(request, fetch_id)
        self._curls.add(transfer.curl)
        self._running[fetch_id] = transfer, on_end
        self._by_curl[transfer.curl] = transfer
        return fetch_id

    def abort(self, fetch: FetchId) -> None:
        if fetch in self._running:
            transfer, _ = self._stop(fetch)
            self._put_back(transfer)

    def close(self) -> None:
        self._watch.cancel()
        for fetch_id in list(self._running):
            self._stop(fetch_id)
        self._curls.close()

    def _handle(self, request: Request) -> CurlTransfer:
        if request.access.is_plain and self._idle_handles:
            return self._idle_handles.pop()
        if not request.access.verify:
            log.warning("certificate not verified, as the site's settings say url=%s", request.url)
        elif request.access.ca:
            log.info("certificate verified by the site's own authority url=%s ca=%s", request.url, request.access.ca)
        return CurlTransfer(self._options, self._curls.kept)

    def _put_back(self, transfer: CurlTransfer) -> None:
        # A handle with a site's own options is not used for others.
        if transfer.request.access.is_plain:
            self._idle_handles.append(transfer)
        else:
            transfer.curl.close()

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._by_curl[curl]
        if transfer.is_stale:
            # Nothing was sent; libcurl has closed that connection.
            transfer.begin(transfer.request, transfer.fetch_id, must_connect=True)
            self._curls.add(curl)
            return
        del self._by_curl[curl]
        transfer, on_end = self._running.pop(transfer.fetch_id)
        self._end(transfer, on_end, code, message)

    def _end(self, transfer: CurlTransfer, on_end: OnEnd, code: int, message: str) -> None:
        response = transfer.end(code, message)
        self._put_back(transfer)
        on_end(response)

    def _stop(self, fetch_id: FetchId) -> tuple[CurlTransfer, OnEnd]:
        transfer, on_end = self._running.pop(fetch_id)
        del self._by_curl[transfer.curl]
        self._curls.remove(transfer.curl)
        return transfer, on_end

    def _end_silent(self) -> None:
        self._watch = self._loop.call_later(self._every, self._end_silent)
        latest = monotonic() - self._options.limits.idle_seconds
        silent = [fetch_id for fetch_id, (transfer, _) in self._running.items() if transfer.is_silent_since(latest)]
        for fetch_id in silent:
            # The end of one fetch may be a reason to abort another.
            if fetch_id in self._running:
                self._end(*self._stop(fetch_id), pycurl.E_OPERATION_TIMEDOUT, "nothing came for too long")


def system_certificates() -> str:
    """The file of certificates that this system trusts; empty: libcurl must know one itself."""
    return ssl.get_default_verify_paths().cafile or ""

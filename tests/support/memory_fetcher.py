"""A fetcher that answers from a dict, in place of one that needs web servers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from weft.model.fetch_error import FetchError
from weft.spider.fetching import FetchId, OnEnd, Request, Response

NO_RESPONSE = Response(b"", b"", FetchError.NETWORK)


class MemoryFetcher:
    """Pages are whole HTTP messages by URL, or how the fetch ends instead; a URL without one cannot be connected to.

    URLs in `held` are answered when they are taken out and release() is called.
    """

    def __init__(self, pages: Mapping[str, bytes | FetchError] | None = None) -> None:
        self.pages = dict(pages or {})
        self.held: set[str] = set()
        self.requests: list[Request] = []
        self.is_closed = False
        self._running: dict[FetchId, tuple[Request, OnEnd]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, request: Request, on_end: OnEnd) -> FetchId:
        if self.is_closed:
            raise RuntimeError("the fetcher is closed")
        self.requests.append(request)
        fetch = FetchId(len(self.requests))
        self._running[fetch] = request, on_end
        if request.url not in self.held:
            asyncio.get_running_loop().call_soon(self._end, fetch)
        return fetch

    def abort(self, fetch: FetchId) -> None:
        self._running.pop(fetch, None)

    def close(self) -> None:
        self.is_closed = True
        self._running.clear()

    def release(self) -> None:
        """Answer what is not held any more."""
        for fetch, (request, _) in list(self._running.items()):
            if request.url not in self.held:
                self._end(fetch)

    def _end(self, fetch: FetchId) -> None:
        if fetch in self._running:
            request, on_end = self._running.pop(fetch)
            on_end(self._response(request))

    def _response(self, request: Request) -> Response:
        page = self.pages.get(request.url)
        if page is None:
            return NO_RESPONSE
        if isinstance(page, FetchError):
            return Response(b"", b"", page)
        head, blank, body = page.partition(b"\r\n\r\n")
        if request.is_unwanted(head + blank):
            return Response(head + blank, b"", FetchError.UNWANTED_TYPE, is_cut=True)
        is_cut = len(body) > request.most
        error = FetchError.TOO_LARGE if is_cut and not request.cuts else None
        return Response(head + blank, body[: request.most], error, is_cut)

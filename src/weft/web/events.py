"""Server-sent events: a bounded number of streams, each of which ends with its connection or with the server."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from weft.web.endpoint import read_params
from weft.web.event_feed import TOPICS, EventFeed, EventsParams
from weft.web.limits import WebLimits
from weft.web.problems import RequestRefused
from weft.web.resources import WebResources
from weft.web.threads import AnswerThreads

EVENTS_PATH: Final = "/api/events"
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStreams:
    """Answers requests itself, in one frame: whatever ends a stream, its place is free again."""

    def __init__(self, web: WebResources, most: int, limits: WebLimits) -> None:
        self._web, self._most, self.count = web, most, 0
        # Of its own: streams that catch up must not keep questions waiting.
        self._threads = AnswerThreads(limits)
        self._is_over = asyncio.Event()

    def end(self) -> None:
        """Close all streams: a server that stops waits for its connections."""
        self._is_over.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        asked = read_params(EventsParams, request.query_params.multi_items(), {})
        if request.query_params.get("topics") == "":  # elsewhere that is as good as none; here it would never end
            raise RequestRefused(400, f"topics: expected one or more of {', '.join(TOPICS)}")
        # Where a browser goes on is newer than where its page began.
        feed = EventFeed(self._web, self._threads, asked, request.headers.get("last-event-id"))
        if self.count >= self._most:
            raise RequestRefused(503, f"{self.count} streams are open already (web.streams)", {"Retry-After": "5"})
        self.count += 1
        try:
            await feed.begin()
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            if scope["method"] != "HEAD":
                await self._tell(feed, receive, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.count -= 1

    async def _tell(self, feed: EventFeed, receive: Receive, send: Send) -> None:
        """Until there is nothing more to tell, nobody to tell it to, or the server stops."""
        telling = asyncio.create_task(_send_all(feed, send))
        ends = [telling, asyncio.create_task(_disconnected(receive)), asyncio.create_task(self._is_over.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        if not telling.cancelled() and (fault := telling.exception()):
            raise fault


async def _send_all(feed: EventFeed, send: Send) -> None:
    async for piece in feed.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

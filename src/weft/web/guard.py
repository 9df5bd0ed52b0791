"""Around the whole app: whom it answers, how often, and with which headers of security."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.config.sections import WebSettings
from weft.errors import WeftError
from weft.web.error_answers import IS_REFUSED, failed, refused
from weft.web.problems import RequestRefused
from weft.web.rate_limit import RateLimit
from weft.web.request_tally import RequestTally
from weft.web.security_headers import SECURITY_HEADERS
from weft.web.threads import AnswerThreads
from weft.web.visitors import Doorkeeper, Visitor

log = logging.getLogger(__name__)

MOST_BODY: Final = 64 << 10
"""Bytes of a request's body."""
OPEN_TO_ALL: Final = ("/healthz", "/readyz", "/login", "/favicon.ico", "/static/")
"""Answered to those who may not read, too; a folder is with all that is in it."""


class Guard:
    def __init__(
        self,
        app: ASGIApp,
        settings: WebSettings,
        doorkeeper: Doorkeeper,
        threads: AnswerThreads,
        tally: RequestTally,
    ) -> None:
        self._app, self._doorkeeper, self._threads, self._tally = app, doorkeeper, threads, tally
        self._origins = frozenset(origin.lower() for origin in settings.origins)
        self._limit = RateLimit(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        added = {**SECURITY_HEADERS, **self._cors(scope, headers)}
        answer = _Answer(scope, send, added, self._tally)
        try:
            self._check(scope, headers)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await _preflight(answer)  # before the visitor: browsers ask it without a token
                return
            scope.setdefault("state", {})["visitor"] = await self._visitor(scope, headers)
            await self._app(scope, receive, answer)
        except ClientDisconnect:
            log.debug("client gone before its request was complete path=%s", scope["path"])
        except WeftError as error:
            await self._refuse(scope, receive, answer, error)
        except Exception as error:
            log.exception("request not answered path=%s", scope["path"])
            if not answer.has_begun:
                await (await failed(Request(scope), error))(scope, receive, answer)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if len(hosts := headers.getlist("host")) > 1:
            raise RequestRefused(400, "expected one Host")
        self._doorkeeper.check_host(hosts[0] if hosts else "")
        if "transfer-encoding" in headers:
            raise RequestRefused(411, "expected Content-Length, not Transfer-Encoding")
        # The parser of uvicorn takes one number in plain digits alone.
        if int(headers.get("content-length", "0")) > MOST_BODY:
            raise RequestRefused(413, f"the body is too large; expected at most {MOST_BODY:,} bytes")
        client = (scope.get("client") or ("",))[0]
        if not scope["path"].startswith("/static/") and (wait := self._limit.wait(client, time.monotonic())):
            seconds = math.ceil(wait)
            raise RequestRefused(
                429, f"too many requests; ask again in {seconds} s (web.rate)", {"Retry-After": str(seconds)}
            )

    async def _visitor(self, scope: Scope, headers: Headers) -> Visitor:
        if "authorization" in headers or "cookie" in headers:
            visitor = await self._threads.run(self._doorkeeper.visitor, headers)
        else:
            visitor = self._doorkeeper.visitor(headers)
        if not visitor.may_read and not _is_open_to_all(scope["path"]):
            raise RequestRefused(
                401,
                "reading needs a login or a token; `weft token login` prints a link to log in with",
                {"WWW-Authenticate": 'Bearer realm="weft"'},
            )
        return visitor

    def _cors(self, scope: Scope, headers: Headers) -> dict[str, str]:
        """Pages of these origins may read the API, with a token if one is needed; cookies are not sent along."""
        if not scope["path"].startswith(("/api/", "/openapi.json")) or not self._origins:
            return {}
        origin = headers.get("origin", "")
        if origin.lower() not in self._origins:
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": "ETag, Retry-After",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }

    async def _refuse(self, scope: Scope, receive: Receive, answer: _Answer, error: WeftError) -> None:
        if answer.has_begun:
            log.warning("answer broken off path=%s reason=%s", scope["path"], error)
            return
        await (await refused(Request(scope), error))(scope, receive, answer)


def _is_open_to_all(path: str) -> bool:
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in OPEN_TO_ALL)


class _Answer:
    """`send`, with headers added to whatever is answered, which is counted."""

    def __init__(self, scope: Scope, send: Send, headers: Mapping[str, str], tally: RequestTally) -> None:
        self._scope, self._send, self._headers, self._tally = scope, send, headers, tally
        self._since = time.monotonic()
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._tally.answered(message["status"], time.monotonic() - self._since)
            if self._scope.get("state", {}).get(IS_REFUSED):
                self._tally.refused(message["status"], is_answered=True)
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)


async def _preflight(send: Any) -> None:
    headers = [
        (b"access-control-allow-methods", b"GET, HEAD"),
        (b"access-control-allow-headers", b"Authorization, If-None-Match, Last-Event-ID"),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body"})

"""The web app, put together: which address is answered by what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from weft.answers.budget import Budget
from weft.errors import WeftError
from weft.web.api import ENDPOINTS
from weft.web.change import Change, Done
from weft.web.changes import CHANGES
from weft.web.endpoint import Endpoint, read_body, read_params
from weft.web.error_answers import error_answer, failed, refused
from weft.web.events import EVENTS_PATH, EventStreams
from weft.web.forms import form_fields, taken
from weft.web.guard import Guard
from weft.web.json_answers import csv_answer, json_answer
from weft.web.limits import WebLimits
from weft.web.login import LoginDesk
from weft.web.openapi import openapi, operation_id
from weft.web.pages.catalogue import PAGES
from weft.web.pages.page import Page, shown_page
from weft.web.problems import RequestRefused
from weft.web.rate_limit import network_of
from weft.web.request_tally import RequestTally
from weft.web.resources import WebResources
from weft.web.scrape import metrics_answer
from weft.web.static_files import StaticFiles
from weft.web.threads import AnswerThreads
from weft.web.visitors import Doorkeeper

Answer = TypeVar("Answer")
Handler = Callable[[Request], Awaitable[Response]]


class WebApp:
    """Everything that is answered; `asgi` is what a server runs."""

    def __init__(self, web: WebResources, listens_at: tuple[str, int], limits: WebLimits) -> None:
        settings = web.loaded.settings.web
        self._web, self._threads = web, AnswerThreads(limits)
        self._doorkeeper = Doorkeeper(settings, listens_at, web.control, web.sessions)
        self.streams = EventStreams(web, settings.streams, limits)
        self.tally = RequestTally()
        self.asgi: ASGIApp = Guard(
            Starlette(
                routes=self._routes(),
                exception_handlers={HTTPException: _not_routed, WeftError: refused, Exception: failed},
            ),
            settings,
            self._doorkeeper,
            self._threads,
            self.tally,
        )

    def figures(self) -> dict[str, Any]:
        """How the app is doing."""
        return {**self.tally.facts(), "streams": self.streams.count, "seq": self._web.index.seq}

    def _routes(self) -> list[Route]:
        login = LoginDesk(self._web, self._doorkeeper, self._threads)
        document = openapi(ENDPOINTS, CHANGES)

        async def described(request: Request) -> Response:
            return json_answer(request, document)

        async def metrics(request: Request) -> Response:
            return await self._threads.run(metrics_answer, self._web)

        return [
            *(Route(each.path, self._question(each)) for each in ENDPOINTS),
            *(Route(each.path, self._change(each), methods=["POST"]) for each in CHANGES),
            *(Route(f"/do/{operation_id(each.path)}", self._form(each), methods=["POST"]) for each in CHANGES),
            Route(EVENTS_PATH, self.streams, methods=["GET"]),
            Route("/openapi.json", described),
            Route("/metrics", metrics),
            Route("/healthz", _health),
            Route("/readyz", self._readiness),
            Route("/login", login.show),
            Route("/login", login.take_token, methods=["POST"]),
            Route("/logout", login.end, methods=["POST"]),
            Route("/static/{name}", StaticFiles().answer),
            *(Route(each.path, self._page(each)) for each in PAGES),
        ]

    def _question(self, endpoint: Endpoint[Any]) -> Handler:
        async def handle(request: Request) -> Response:
            asked = endpoint.read(request.query_params.multi_items(), request.path_params)
            found = await self._asked(request, endpoint, endpoint.ask, asked)
            if endpoint.is_listing and asked.format == "csv":
                return csv_answer(request, found, operation_id(endpoint.path))
            return json_answer(request, found)

        return handle

    def _page(self, page: Page[Any]) -> Handler:
        async def handle(request: Request) -> Response:
            return await self._asked(request, page.twin, partial(shown_page, page), request)

        return handle

    async def _asked(
        self, request: Request, endpoint: Endpoint[Any], ask: Callable[[WebResources, Any], Answer], asked: Any
    ) -> Answer:
        """What `ask` finds for an endpoint, within the budget of one answer."""
        budget, client = Budget(), network_of(request.client.host if request.client else "")
        web = self._web.within(budget)
        return await self._threads.run(ask, web, asked, budget=budget, client=client, is_heavy=not endpoint.is_light)

    def _change(self, change: Change[Any]) -> Handler:
        """By a program: JSON, and a token; or a script of our own page."""

        async def handle(request: Request) -> Response:
            self._doorkeeper.check_change(
                request.state.visitor, request.headers, request.headers.get("x-csrf-token", "")
            )
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise RequestRefused(415, "expected a body with Content-Type: application/json")
            asked = read_body(change.body, await request.body())
            return json_answer(request, await self._threads.run(change.act, self._web, asked))

        return handle

    def _form(self, change: Change[Any]) -> Handler:
        """By a form of a page, which is shown again with what came of it."""

        async def handle(request: Request) -> Response:
            fields = await form_fields(request)
            csrf, back = taken(fields, "csrf"), taken(fields, "back")
            self._doorkeeper.check_change(request.state.visitor, request.headers, csrf)
            session = request.state.visitor.session
            if session is None:
                raise RequestRefused(400, f"forms are for browsers that have logged in; programs use {change.path}")
            asked = read_params(change.body, fields, {})
            try:
                done: Done = await self._threads.run(change.act, self._web, asked)
                session.tell(done.sentence)
            except WeftError as error:
                session.tell(str(error), is_bad=True)
            return RedirectResponse(back if is_ours(back) else "/", 303)

        return handle

    async def _readiness(self, request: Request) -> Response:
        def look() -> int:
            self._web.control.status()
            with self._web.borrowed() as index:
                return index.totals().seq

        seq = await self._threads.run(look)
        return PlainTextResponse(f"ready (seq {seq})\n")


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def is_ours(path: str) -> bool:
    """Whether it is an address of this app, and of no other site: `//elsewhere` and `/\\elsewhere` are."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


async def _not_routed(request: Request, error: Exception) -> Response:
    """Nothing has this address, or not with this method."""
    status = getattr(error, "status_code", 404)
    sentence = (
        f"{request.method} is no way to ask for this"
        if status == 405
        else "there is no such page; the box above finds words, addresses and domains"
    )
    return error_answer(request, status, sentence, getattr(error, "headers", None))

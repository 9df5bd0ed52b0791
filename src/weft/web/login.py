"""Logging in with a browser: by the link that `weft up` prints, or with a token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from weft.actions.web_login import take_login_code
from weft.web.forms import form_fields, taken
from weft.web.problems import RequestRefused
from weft.web.rendering import render
from weft.web.resources import WebResources
from weft.web.threads import AnswerThreads
from weft.web.visitors import Doorkeeper, check_origin

_HTML = "text/html; charset=utf-8"


class LoginDesk:
    def __init__(self, web: WebResources, doorkeeper: Doorkeeper, threads: AnswerThreads) -> None:
        self._web, self._cookie, self._threads = web, doorkeeper.cookie_name, threads
        self._doorkeeper = doorkeeper

    async def show(self, request: Request) -> Response:
        """The form; with a code in the address, the login itself. A code works once."""
        code = request.query_params.get("code")
        if code is None or request.method == "HEAD":  # programs look at links before people follow them
            return Response(render("login.html", request, title="Log in", sentence=""), media_type=_HTML)
        if not await self._threads.run(take_login_code, self._web.home, code):
            sentence = "This link was used already, or is too old. `weft token login` prints a new one."
            return self._refused(request, sentence)
        return self._begun()

    async def take_token(self, request: Request) -> Response:
        check_origin(request.headers)
        token = taken(await form_fields(request), "token").strip()
        found = await self._threads.run(self._doorkeeper.token, token)
        if found is None:
            return self._refused(request, "This token is not valid. `weft token create` makes one.")
        return self._begun(found.id)

    async def end(self, request: Request) -> Response:
        visitor = request.state.visitor
        csrf = taken(await form_fields(request), "csrf")
        self._doorkeeper.check_change(visitor, request.headers, csrf)
        if not visitor.cookie:
            raise RequestRefused(400, "there is no session to end")
        self._web.sessions.end(visitor.cookie)
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(self._cookie, httponly=True, samesite="strict")
        return answer

    def _begun(self, token: str = "") -> Response:
        answer = RedirectResponse("/", 303)
        sessions = self._web.sessions
        answer.set_cookie(
            self._cookie, sessions.begin(token), max_age=int(sessions.seconds), httponly=True, samesite="strict"
        )
        return answer

    def _refused(self, request: Request, sentence: str) -> Response:
        return Response(render("login.html", request, title="Log in", sentence=sentence), 403, media_type=_HTML)

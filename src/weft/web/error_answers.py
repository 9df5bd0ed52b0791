"""What somebody gets instead of an answer: a page for people, problem+json for programs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from weft.errors import WeftError
from weft.web.json_answers import problem_answer
from weft.web.problems import RequestRefused, status_of
from weft.web.rendering import render

IS_REFUSED: Final = "is_refused"
"""In the state of a request that was not looked at further."""


def error_answer(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    if is_for_program(request):
        return problem_answer(status, sentence, headers)
    title = HTTPStatus(status).phrase
    content = render("error.html", request, title=title, status=status, sentence=sentence)
    return Response(content, status, dict(headers or {}), "text/html; charset=utf-8")


async def refused(request: Request, error: Exception) -> Response:
    headers = {}
    if isinstance(error, RequestRefused):
        headers = error.headers
        request.scope.setdefault("state", {})[IS_REFUSED] = True
    status = status_of(error) if isinstance(error, WeftError) else 500
    return error_answer(request, status, str(error), headers)


async def failed(request: Request, error: Exception) -> Response:
    """A fault of ours, which is in the log."""
    return error_answer(request, 500, "weft could not answer this; its log says why")


def is_for_program(request: Request) -> bool:
    path = request.scope["path"]
    if path.startswith("/api/") or path in ("/metrics", "/healthz", "/readyz", "/openapi.json"):
        return True
    return "text/html" not in request.headers.get("accept", "*/*") and "*/*" not in request.headers.get("accept", "*/*")

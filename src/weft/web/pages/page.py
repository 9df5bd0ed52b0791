"""A page for people, declared once: where it is, which question it shows the answer of, and what else it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from weft.errors import NotKnown
from weft.web.endpoint import Endpoint, Params
from weft.web.error_answers import is_for_program
from weft.web.json_answers import answer
from weft.web.rendering import render
from weft.web.resources import WebResources

_HTML = "text/html; charset=utf-8"
_HEADERS = {"Cache-Control": "no-cache, private", "Vary": "Cookie"}


class Elsewhere(Exception):  # noqa: N818 - an answer, not a fault
    """What was asked for is shown at another address."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


@dataclass(frozen=True, slots=True)
class Page(Generic[Params]):
    path: str
    template: str
    title: str
    twin: Endpoint[Params]
    """The question; the page takes the same parameters."""
    more: Callable[[WebResources, Params, Any], dict[str, Any]] | None = None
    """What the template shows besides the answer, by name; may raise Elsewhere."""
    unknown: str = "error.html"
    """The template for what is not known: what somebody can do about it depends on what they asked for."""


def shown_page(page: Page[Any], web: WebResources, request: Request) -> Response:
    """Runs in a thread; raises WeftError."""
    query = request.query_params.multi_items()
    asked = page.twin.read(query, request.path_params)
    twin = quote(page.twin.path.format(**request.path_params)) + (f"?{urlencode(query)}" if query else "")
    if page.twin.is_listing and asked.format == "csv":
        return RedirectResponse(twin, 303)
    try:
        found = page.twin.ask(web, asked)
        more = page.more(web, asked, found) if page.more else {}
    except Elsewhere as other:
        return RedirectResponse(other.address, 303)
    except NotKnown as error:
        if is_for_program(request):
            raise
        context = {"title": "Not known", "status": 404, "sentence": str(error), "asked": asked}
        return Response(render(page.unknown, request, **context), 404, _HEADERS, _HTML)
    most = page.twin.most_items
    context = {"title": page.title, "twin": twin, "asked": asked, "answer": found, "most": most, **more}
    return answer(request, render(page.template, request, **context), _HTML, _HEADERS)

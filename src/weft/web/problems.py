"""What goes wrong with a request: a status and one sentence, as problem+json for programs and as a page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from weft.errors import NotKnown, UsageError, WeftError
from weft.model.url import UrlRefused

PROBLEM_JSON: Final = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """One sentence: what is wrong, and what was expected."""


class RequestRefused(WeftError):  # noqa: N818 - an answer, not a fault
    """The request is answered with this status and sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers or {}


def status_of(error: WeftError) -> int:
    """What a caller can mend is 4xx; what only time or somebody who runs weft can mend is 503."""
    if isinstance(error, RequestRefused):
        return error.status
    if isinstance(error, NotKnown):
        return 404
    if isinstance(error, UsageError | UrlRefused):
        return 400
    return 503


def problem(status: int, sentence: str) -> Problem:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=sentence)

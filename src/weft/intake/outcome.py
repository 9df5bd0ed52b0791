"""What a response does to the index."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_PARTIAL: Final = 206
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})

# The beginnings by which the standard of MIME sniffing knows HTML.
_LOOKS_LIKE_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*"
    rb"<(?:(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|!--)",
    re.IGNORECASE,
)


class Effect(StrEnum):
    REPLACE = "replace"
    """The page says now what the response says."""
    REMOVE = "remove"
    """There is no such page (any more)."""
    KEEP = "keep"
    """Nothing is known that was not known before."""


def effect_of(status: int, *, is_html: bool, leads_elsewhere: bool | None) -> Effect:
    """By the table of outcomes; `leads_elsewhere`: whether Location names another page, None if there is none."""
    if is_success(status):
        return Effect.REPLACE if is_html else Effect.REMOVE
    if status in _GONE or (is_redirect(status) and leads_elsewhere):
        return Effect.REMOVE
    return Effect.KEEP


def is_success(status: int) -> bool:
    """Whether the body is what the URL names; a part of it is not."""
    return 200 <= status < 300 and status != _PARTIAL


def is_redirect(status: int) -> bool:
    return status in _REDIRECTS


def is_html_type(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() in _HTML


def looks_like_html(body: bytes) -> bool:
    """For bodies of which no header tells what they are."""
    return _LOOKS_LIKE_HTML.match(body) is not None

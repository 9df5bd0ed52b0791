"""HTML: a page with text and links."""

from __future__ import annotations

from functools import partial
from typing import Final

from weft.html import parse_page
from weft.linkindex.records import Doc
from weft.reading.outcomes import BodyKind
from weft.reading.response_body import Body, BodyType, PageContent, ReadBody, looks_like_html
from weft.reading.settings import ReadingSettings

HTML_MEDIA_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})


def _recognise(body: Body) -> ReadBody | None:
    is_html = body.media_type in HTML_MEDIA_TYPES if body.media_type else looks_like_html(body.data)
    return partial(_read, body) if is_html else None


def _read(body: Body, settings: ReadingSettings) -> PageContent:
    parsed = parse_page(body.data, body.content_type, settings.limits, settings.product)
    doc = Doc(
        title=parsed.title,
        description=parsed.description,
        language=parsed.language,
        headings=parsed.headings,
        h1=parsed.h1,
        text=parsed.text,
        simhash=parsed.simhash,
    )
    return PageContent(
        doc,
        parsed.links,
        parsed.base,
        parsed.robots,
        parsed.canonical,
        parsed.refresh.url if parsed.refresh else "",
        parsed.fingerprint,
        parsed.simhash,
    )


HTML: Final = BodyType(BodyKind.PAGE, _recognise)

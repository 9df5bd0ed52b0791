"""What `weft page` prints: the state in words first, then the facts that are known, a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.model.page_state import PageState

if TYPE_CHECKING:
    from weft.answers.objects import PageAnswer
    from weft.answers.page_text import PageText

_AS_NAMED = (
    "fetched",
    "next_due",
    "status",
    "type",
    "bytes",
    "depth",
    "redirect",
    "canonical",
    "robots",
    "title",
    "h1",
)


def page_facts(page: PageAnswer) -> Iterator[tuple[str, str]]:
    """Names and values. What is not known, or empty, is left out."""
    yield "seq", str(page.seq)
    yield "uri", page.uri
    yield "url", page.url
    yield "domain", page.domain
    yield "state", state_words(page)
    yield "crawled", "yes" if page.crawled else "no"
    for name in _AS_NAMED:
        value = getattr(page, name)
        if value is not None and value != "":
            yield name, f"{value:,}" if name == "bytes" else str(value)
    yield "references", str(page.references)
    yield "score", str(page.score)
    if page.outlinkcount is not None:
        yield "outlinkcount", str(page.outlinkcount)
    if page.left_out:
        yield "left_out", f"{page.left_out:,} more links do not count: {_TOO_MANY}"
    yield "counting", page.counting
    if page.near:
        yield "near-duplicates:", ", ".join(f"{item.url} (distance {item.distance})" for item in page.near)


def text_lines(page: PageText) -> Iterator[str]:
    """Title, description and text; the text has its headings in their places."""
    said = [part for part in (page.title, page.description, page.text) if part]
    for part in said:
        yield from part.splitlines()
        if part is not said[-1]:
            yield ""


_TOO_MANY = "the page has too many (limits.page_targets, limits.page_link_bytes)"


def state_words(page: PageAnswer) -> str:
    """The state, and what a person would ask next."""
    details = {
        PageState.FILE: _file_words(page),
        PageState.REDIRECT: f" to {page.redirect}" if page.redirect else "",
        PageState.GONE: f" (status {page.status})" if page.status else "",
        PageState.FAILING: _failing_words(page),
        PageState.REFUSED: f": {page.reason}" if page.reason else "",
    }
    return f"{page.state}{details.get(page.state, '')}"


def _file_words(page: PageAnswer) -> str:
    size = None if page.bytes is None else f"{page.bytes:,} bytes"
    known = [text for text in (page.type, size) if text]
    return f" ({', '.join(known)})" if known else ""


def _failing_words(page: PageAnswer) -> str:
    what = f"status {page.status}" if page.status else str(page.reason)
    tries = f", {page.failures} tries" if page.failures > 1 else ""
    return f": {what}, since {page.failing_since}{tries}"

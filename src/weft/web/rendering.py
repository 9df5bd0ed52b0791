"""Pages as HTML: templates in which everything is escaped, and how numbers, times and addresses look in them."""

from __future__ import annotations

import hashlib
import shlex
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request

from weft import __version__
from weft.model.shown_text import readable_text
from weft.web.change_words import CHANGE_WORDS
from weft.web.visitors import Visitor

_HERE: Final = Path(__file__).parent
_NOBODY: Final = Visitor(may_read=False)
_SPANS: Final = ((60, "s", 1), (3600, "min", 60), (86_400, "h", 3600), (86_400 * 60, "d", 86_400))


def render(template: str, request: Request, **context: Any) -> bytes:
    visitor = getattr(request.state, "visitor", _NOBODY)
    shown = {
        "visitor": visitor,
        "path": request.scope["path"],
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "origin": f"{request.url.scheme}://{request.headers.get('host', '')}",
        "twin": None,
        "query": "",
        "notice": visitor.session.take_notice() if visitor.session else "",
        "notice_is_bad": bool(visitor.session and visitor.session.is_bad),
    }
    return _templates().get_template(template).render({**shown, **context}).encode("utf-8", "replace")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=number,
        size=size,
        ago=ago,
        when=when,
        text=text,
        plain=readable_text,
        link=link,
        marked=marked,
        span=span,
        share=share,
        shell=shlex.quote,
    )
    made.globals.update(version=__version__, href=href, asset=asset, change_words=CHANGE_WORDS)
    return made


def number(value: float | None, digits: int = 0) -> str:
    """1234567 as 1,234,567; what is not known is a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def size(value: float | None) -> str:
    if value is None:
        return "–"
    for unit in ("bytes", "KB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def share(part: float, whole: float) -> str:
    return "–" if not whole else f"{100 * part / whole:.0f} %"


def span(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for most, unit, one in _SPANS:
        if abs(seconds) < most:
            return f"{seconds / one:.1f} {unit}" if abs(seconds) < 10 and one == 1 else f"{seconds / one:.0f} {unit}"
    return (
        f"{seconds / 86_400 / 365:.1f} years" if abs(seconds) > 86_400 * 730 else f"{seconds / 86_400 / 30:.0f} months"
    )


def ago(moment: str | float | None) -> Markup:
    """A time in relation to now, with the exact one beside it; the page's script keeps it true."""
    at = _datetime(moment)
    if at is None:
        return Markup('<span class="none">–</span>')
    exact = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    iso = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    seconds = (datetime.now(UTC) - at).total_seconds()
    words = f"{span(seconds)} ago" if seconds >= 0 else f"in {span(-seconds)}"
    if abs(seconds) < 1:
        words = "now"
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(iso, exact, words)


def when(moment: str | float | None) -> str:
    at = _datetime(moment)
    return "–" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _datetime(moment: str | float | None) -> datetime | None:
    """From the text of an answer, or from seconds since 1970."""
    if moment is None or moment == "":
        return None
    if isinstance(moment, str):
        try:
            return datetime.fromisoformat(moment)
        except ValueError:
            return None
    return datetime.fromtimestamp(moment, UTC)


def text(value: object) -> Markup:
    """Words from the web: nothing that turns the line around, and their direction is their own."""
    return Markup("<bdi>{}</bdi>").format(readable_text(str(value)))


def link(url: str, words: str | None = None) -> Markup:
    """A way out to the web, for http and https alone; anything else is only shown."""
    shown = readable_text(words if words is not None else url)
    if not url.lower().startswith(("http://", "https://")):
        return Markup('<span class="url">{}</span>').format(shown)
    return Markup('<a class="url out" href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>').format(
        url, shown
    )


def marked(value: str, marks: list[tuple[int, int]]) -> Markup:
    """Text with the words that were searched for in <mark>."""
    pieces, at = [], 0
    for begin, end in marks:
        pieces += [
            escape(readable_text(value[at:begin])),
            Markup("<mark>{}</mark>").format(readable_text(value[begin:end])),
        ]
        at = end
    pieces.append(escape(readable_text(value[at:])))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(pieces))


def href(path: str, **params: object) -> str:
    """An address of this app; parameters that are None, False or empty are left out."""
    given = {name: _param(value) for name, value in params.items() if value not in (None, "", False)}
    return f"{quote(path)}?{urlencode(given)}" if given else quote(path)


def _param(value: object) -> str:
    return "true" if value is True else str(value)


@cache
def asset(name: str) -> str:
    """The address of a file of ours; it changes with its content, so browsers may keep it for good."""
    content = (_HERE / "static" / name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"

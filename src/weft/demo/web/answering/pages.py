"""HTML pages: from links and words to bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.links import PageLink
from weft.demo.web.definition.qualities import PLAIN, Charset, Quality
from weft.demo.web.definition.words import Language, escaped, phrase, with_entities

_SENTENCE_BYTES: Final = 85
_OUTSIDE_TEXT: Final = 1_200
"""Bytes of a page that are neither sentences nor links."""
_NO_LINKS: Final = (
    '<!-- <a href="/only-a-comment.html">nothing</a> -->\n',
    "<script>var text = \"<a href='/only-a-script.html'>nothing</a>\";</script>\n",
    '<p><a name="part1">here</a> <a href="mailto:owner@demo.test">write</a> <a href="tel:+123">call</a></p>\n',
    '<p><a href="javascript:void(0)">more</a> <img src="/images/logo.png" alt="logo"></p>\n',
)
_HEADERS: Final = {
    Charset.RIGHT: "text/html; charset=utf-8",
    Charset.HEADER_WRONG: "text/html; charset=iso-8859-1",
    Charset.META_WRONG: "text/html",
    Charset.UNKNOWN_NAME: "text/html; charset=utf-ate",
    Charset.META_ONLY: "text/html",
    Charset.BYTE_ORDER_MARK: "text/html",
}
_METAS: Final = {Charset.META_WRONG: "koi8-r", Charset.META_ONLY: "windows-1252", Charset.BYTE_ORDER_MARK: "utf-16"}


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says beside its links; `code` is a word that no other page has."""

    title: str
    code: str
    version: int
    size: int
    base: str = ""
    canonical: str = ""
    refresh: str = ""
    quality: Quality = PLAIN


def content_type(quality: Quality) -> str:
    return _HEADERS[quality.charset]


def html_page(text: PageText, links: Sequence[PageLink], language: Language, dice: Dice) -> bytes:
    written = [_written(link, dice.bits()) for link in links]
    sentences = max(3, (text.size - _OUTSIDE_TEXT - sum(map(len, written))) // _SENTENCE_BYTES)
    body = [
        f"<nav><ul>\n{''.join(f'<li>{link}</li>' for link in written[:6])}\n</ul></nav>\n<h1>{text.title}</h1>\n",
        f"<p>Entry {text.code}, edition {text.version}.</p>\n",
        *_paragraphs(sentences, written[6:], language, dice),
        dice.pick(_NO_LINKS),
    ]
    page = f'<!DOCTYPE html>\n<html lang="en">\n{_head(text, language, dice)}<body>\n{"".join(body)}</body>\n</html>\n'
    return _encoded(page, text.quality.charset)


def _head(text: PageText, language: Language, dice: Dice) -> str:
    charset, quality = text.quality.charset, text.quality
    lines = [
        f'<meta charset="{_METAS.get(charset, "utf-8")}">',
        f"<title>{text.title} ({text.code})</title>",
        f'<meta name="description" content="{dice.pick(language.sentences)}">',
    ]
    if text.base:
        lines.append(f'<base href="{escaped(text.base)}">')
    if quality.robots and not quality.is_robots_header:
        lines.append(f'<meta name="robots" content="{quality.robots}">')
    if text.canonical:
        lines.append(f'<link rel="canonical" href="{escaped(text.canonical)}">')
    if text.refresh:
        lines.append(f'<meta http-equiv="refresh" content="60; url={escaped(text.refresh)}">')
    lines.append('<link rel="stylesheet" href="/style.css">')
    return "<head>\n" + "\n".join(lines) + "\n</head>\n"


def _paragraphs(count: int, links: Sequence[str], language: Language, dice: Dice) -> Iterable[str]:
    """`count` sentences with the links spread among them."""
    pieces = dice.picks(language.sentences, count)
    for at, link in enumerate(links):
        pieces[at * count // len(links)] += " " + link
    at = 0
    while at < count:
        length = dice.between(3, 8)
        if dice.chance(0.2):
            yield f"<h2>{phrase(language.words, dice, 2, 5)}</h2>\n"
        closing = "" if dice.chance(0.2) else "</p>"
        yield f"<p>{' '.join(pieces[at : at + length])}{closing}\n"
        at += length


def _written(link: PageLink, bits: int) -> str:
    """A link in one of the ways in which people write HTML."""
    href = link.href
    if "&" in href:
        href = href.replace("&", "&amp;" if bits & 3 else "&#38;")
    words = with_entities(link.anchor) if bits & 12 == 0 else link.anchor
    if bits >> 4 & 15 == 0:
        words = f"<b>{words}</b>"
    rel = f' rel="{link.rel}"' if link.rel else ""
    style = bits >> 8 & 15
    if style == 0:
        return f"<A HREF='{href}'{rel}>\n  {words}\n</A>"
    if style == 1 and href.isascii() and not set(href) & _NEED_QUOTES:
        return f"<a{rel} href={href}>{words}</a>"
    return f'<a href="{href}"{rel}>{words}</a>'


_NEED_QUOTES: Final = frozenset(" \n\t\"'=<>`&")


def _encoded(page: str, charset: Charset) -> bytes:
    if charset is Charset.BYTE_ORDER_MARK:
        return codecs.BOM_UTF16_LE + page.encode("utf-16-le")
    if charset is Charset.META_ONLY:
        return page.encode("cp1252", "xmlcharrefreplace")
    return page.encode()


def simple_page(title: str, text: str, links: Sequence[PageLink] = ()) -> bytes:
    """A small page: errors, calendars, traps."""
    items = "".join(f"<li>{_written(link, 0xFFFF)}</li>\n" for link in links)
    head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
    page = f"<!DOCTYPE html>\n<html>{head}\n<body><h1>{title}</h1>\n<p>{text}</p>\n<ul>\n{items}</ul></body></html>\n"
    return page.encode()

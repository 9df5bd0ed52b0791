"""Answers that hold a page or a file: made from the seed, encoded, with validators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from functools import partial

from weft.demo.web.answering.encodings import chosen, encode
from weft.demo.web.answering.files import note, paper, picture
from weft.demo.web.answering.pages import PageText, content_type, html_page
from weft.demo.web.answering.responses import DemoRequest, DemoResponse, header_block, whole
from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.links import BASE, PageLink
from weft.demo.web.definition.paths import path_of
from weft.demo.web.definition.qualities import PLAIN, Quality
from weft.demo.web.definition.words import phrase
from weft.demo.web.definition.world import World


class PageAnswers:
    """The pages and files of one host."""

    def __init__(self, world: World, host: DemoHost) -> None:
        self._world, self._host = world, host

    def quality(self, number: int) -> Quality:
        return self._world.state.quality(self._host.number, number) if number < self._host.layout.pages else PLAIN

    def refresh(self, number: int) -> str:
        """Where a page's meta refresh leads, or nothing."""
        if not self.quality(number).has_refresh:
            return ""
        dice = Dice(self._world.plan.seed, "refresh", self._host.number, number)
        return self._world.linker.url(self._host, dice.zipf(self._host.layout.pages))

    def links(self, number: int, target: str) -> list[PageLink]:
        version = self._world.state.version(self._host, number)
        return self._world.linker.links(self._host, number, version, target)

    def page(self, number: int, target: str) -> bytes:
        """The HTML of a page, as it is now."""
        plan, version = self._world.plan, self._world.state.version(self._host, number)
        dice = Dice(plan.seed, "page", self._host.number, number, version)
        least, most = plan.page_bytes
        quality, origin = self.quality(number), self._world.linker.origin(self._host)
        text = PageText(
            title=phrase(self._world.language.words, dice, 2, 6).capitalize(),
            code=f"p{self._host.number}x{number}",
            version=version,
            size=round(least * (most / max(least, 1)) ** dice.unit()),
            base=origin + BASE if quality.has_base else "",
            canonical=origin + path_of(plan.seed, self._host, number) if self._has_canonical(number) else "",
            refresh=self.refresh(number),
            quality=quality,
        )
        return html_page(text, self.links(number, target), self._world.language, dice)

    def _has_canonical(self, number: int) -> bool:
        return self._host.traits.has_variants and number % 2 == 0

    def html(self, kind: PageKind, number: int, request: DemoRequest) -> DemoResponse:
        """A page with its headers; 304 is not decided here."""
        state, quality = self._world.state, self.quality(number)
        version = state.version(self._host, number)
        headers = [("Content-Type", content_type(quality))]
        if quality.robots and quality.is_robots_header:
            headers.append(("X-Robots-Tag", quality.robots))
        body = self._encoded(self.page(number, request.target), request, headers)
        etag, modified = self._validators(number, version)
        headers += [("ETag", etag)] if etag else []
        headers += [("Last-Modified", modified)] if modified else []
        return replace(
            whole(kind, 200, headers, body),
            etag=etag.encode(),
            modified=modified.encode(),
            until=state.stands_until(self._host, number),
            page=number,
            version=version,
        )

    def _encoded(self, body: bytes, request: DemoRequest, headers: list[tuple[str, str]]) -> bytes:
        encoding = chosen(self._host.traits.encoding, request.headers.get(b"accept-encoding", b""))
        headers.append(("Vary", "Accept-Encoding"))
        if encoding is None:
            return body
        headers.append(("Content-Encoding", encoding.value))
        return encode(body, encoding)

    def _validators(self, number: int, version: int) -> tuple[str, str]:
        """ETag and Last-Modified: hosts have both, one of them, or none."""
        way = self._host.number % 4
        weak = "W/" if number % 5 == 0 else ""
        etag = f'{weak}"{self._world.plan.seed:x}-{number:x}-{version:x}"'
        modified = formatdate(self._world.plan.epoch + version, usegmt=True)
        return etag if way in (0, 1) else "", modified if way in (0, 2) else ""

    def file(self, kind: PageKind, number: int) -> DemoResponse:
        dice = Dice(self._world.plan.seed, "file", self._host.number, number)
        media, make = {
            PageKind.IMAGE: ("image/png", partial(picture, dice)),
            PageKind.DOCUMENT: ("application/pdf", partial(paper, dice, self._world.language)),
            PageKind.TEXT: ("text/plain; charset=utf-8", partial(note, dice, self._world.language)),
        }[kind]
        return replace(whole(kind, 200, [("Content-Type", media)], make()), until=float("inf"), page=number)


def unless_changed(request: DemoRequest, response: DemoResponse) -> DemoResponse:
    """304 in the place of an answer that the client has already."""
    if not request.is_conditional or not (response.etag or response.modified):
        return response
    known = request.headers.get(b"if-none-match")
    if known is not None:
        is_same = bool(response.etag) and _opaque(response.etag) in map(_opaque, known.split(b","))
    else:
        is_same = bool(response.modified) and request.headers[b"if-modified-since"] == response.modified
    if not is_same:
        return response
    block = header_block(_kept(response), None)
    return replace(response, status=304, rest=block, body_at=len(block))


def _opaque(tag: bytes) -> bytes:
    return tag.strip().removeprefix(b"W/")


def _kept(response: DemoResponse) -> Iterator[tuple[str, str]]:
    if response.etag:
        yield "ETag", response.etag.decode()
    if response.modified:
        yield "Last-Modified", response.modified.decode()

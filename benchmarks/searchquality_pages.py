"""The pages of a set as labels are made from them: title, headings, words, links and what is nearly the same."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from searchquality_words import words_of
from weft.config.sections import UrlSettings
from weft.html import parse_page
from weft.model.url import UrlRefused, UrlRules

_PARTS = re.compile(r" [-–—|:(] ?| \(")
_SHINGLE = 5
_SKETCH = 24
_NEARLY_THE_SAME = 0.9
_ON_MANY_TITLES = 5


@dataclass(frozen=True)
class Link:
    anchor: str
    source: str
    target: str
    """Uris."""


@dataclass(frozen=True)
class LabelPage:
    uri: str
    host: str
    title: str
    headings: list[str]
    text: str
    links: list[Link]
    lines: list[list[str]] = field(repr=False)
    """The words of each line of the text, in lower case."""
    words: frozenset[str] = field(repr=False)
    """Of title and text, in lower case."""


def read_pages(directory: Path, port: int) -> list[LabelPage]:
    """The pages below a directory for each host, in the order of their paths."""
    rules = UrlRules(UrlSettings().strip)
    files = sorted(directory.rglob("*.html"))
    return [read_page(file.read_bytes(), _url(file.relative_to(directory), port), rules) for file in files]


def _url(path: Path, port: int) -> str:
    host, *rest = path.parts
    return f"http://{host}:{port}/{quote('/'.join(rest))}"


def read_page(content: bytes, url: str, rules: UrlRules) -> LabelPage:
    page = parse_page(content, "text/html")
    uri = rules.identify(url).uri
    base = url if not page.base else rules.join(url, page.base).url
    links = list(_links(((link.href, link.anchor) for link in page.links), base, uri, rules))
    lines = [words_of(line.lower()) for line in page.text.splitlines()]
    words = frozenset(word for line in lines for word in line) | frozenset(words_of(page.title.lower()))
    host = url.split("/")[2].partition(":")[0]
    return LabelPage(uri, host, page.title, page.headings, page.text, links, lines, words)


def _links(found: Iterable[tuple[str, str]], base: str, source: str, rules: UrlRules) -> Iterator[Link]:
    for href, anchor in found:
        try:
            target = rules.join(base, href).uri
        except UrlRefused:
            continue
        if target != source and anchor:
            yield Link(anchor, source, target)


def own_titles(pages: Sequence[LabelPage]) -> dict[str, str]:
    """By uri what a title says of its page: without the parts that are on many titles of the site."""
    many: Counter[tuple[str, str]] = Counter(
        (page.host, part) for page in pages for part in set(_title_parts(page.title))
    )
    return {
        page.uri: " ".join(
            word
            for part in _title_parts(page.title)
            if many[page.host, part] < _ON_MANY_TITLES
            for word in words_of(part)
        )
        for page in pages
    }


def _title_parts(title: str) -> list[str]:
    return [part for part in _PARTS.split(title) if part]


def nearly_same(pages: Sequence[LabelPage]) -> dict[str, frozenset[str]]:
    """By uri the pages whose text is nearly the same, itself included."""
    shingles = {page.uri: _shingles(page) for page in pages}
    holders: dict[int, list[str]] = defaultdict(list)
    for uri, found in shingles.items():
        for one in sorted(found)[:_SKETCH]:
            holders[one].append(uri)
    # Two pages that share nine in ten of their shingles share some of the smallest ones.
    pairs = {(a, b) for uris in holders.values() if len(uris) <= 50 for a in uris for b in uris if a < b}
    same: dict[str, set[str]] = {page.uri: {page.uri} for page in pages}
    for a, b in pairs:
        both, either = len(shingles[a] & shingles[b]), len(shingles[a] | shingles[b])
        if either and both / either >= _NEARLY_THE_SAME:
            same[a].add(b)
            same[b].add(a)
    return {uri: frozenset(uris) for uri, uris in same.items()}


def _shingles(page: LabelPage) -> set[int]:
    words = [word for line in page.lines for word in line]
    runs = {" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))}
    return {int.from_bytes(sha256(run.encode()).digest()[:6]) for run in runs}

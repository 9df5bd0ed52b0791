"""The pages that `weft bench search` makes up: words by Zipf's law, linked as in `workload`, the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import numpy as np

from weft.linkindex.loaded import LoadedPage, Outlinks
from weft.linkindex.records import Doc, Outlink, PageRecord, Version, encode_page, pack_doc
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, url_of
from workload import LINKS_PER_PAGE, Web

WORDS = 200_000
"""Different words that there are."""
LONG_TEXT = 830
"""Words of a text of 5 KB."""
SHORT_TEXT = 100
_TITLE_WORDS = 4
_LINE = 25
_HEADINGS = 4
_FETCHED = 1_700_000_000_000


class TextPlan(NamedTuple):
    """How many pages, how long their texts are, and how many links each has."""

    pages: int
    words: int = LONG_TEXT
    links: int = LINKS_PER_PAGE


class Texts:
    """Words by rank, the most frequent first, and runs of them as they are drawn."""

    def __init__(self, seed: int = 1) -> None:
        self.words = [_word(rank) for rank in range(WORDS)]
        self._array = np.array(self.words, dtype=object)
        chances = 1 / (np.arange(WORDS) + 2.7) ** 1.07
        self._upto = np.cumsum(chances / chances.sum())
        self._random = np.random.default_rng(seed)

    def rows(self, count: int, length: int) -> list[list[str]]:
        ranks = np.searchsorted(self._upto, self._random.random((count, length)))
        rows: list[list[str]] = self._array[np.minimum(ranks, WORDS - 1)].tolist()
        return rows

    def simhashes(self, count: int) -> list[int]:
        """By chance, so that no two pages say nearly the same."""
        hashes: list[int] = self._random.integers(1, 2**63, count).tolist()
        return hashes


def _word(rank: int) -> str:
    """Frequent words are short; no two are the same."""
    letters, number = "", rank
    while True:
        number, syllable = divmod(number, 100)
        letters = "bdfghklmnprstvwzcjxq"[syllable % 20] + "aeiou"[syllable // 20] + letters
        if not number:
            return letters + "nrs"[rank % 3]


def make_pages(plan: TextPlan, seed: int = 1) -> Iterator[list[LoadedPage]]:
    """Batches of pages, each with the texts of its links: the titles of their targets, whole or begun."""
    texts = Texts(seed)
    titles = [" ".join(row).title() for row in texts.rows(plan.pages, _TITLE_WORDS)]
    web, first = Web(plan.pages), 0
    numbers = {web.uri(page): page for page in range(plan.pages)}
    for batch in web.batches():
        docs = _docs(texts, titles[first : first + len(batch)], plan.words)
        for _, targets in batch:
            del targets[plan.links :]
        yield [
            _load(uri, targets, [_anchor(titles[numbers[target]], n) for n, target in enumerate(targets)], doc)
            for (uri, targets), doc in zip(batch, docs, strict=True)
        ]
        first += len(batch)


def rounds(pages: Iterator[list[LoadedPage]], size: int) -> Iterator[list[LoadedPage]]:
    """The same pages in pieces of this size."""
    each = (page for batch in pages for page in batch)
    while some := list(islice(each, size)):
        yield some


def _docs(texts: Texts, titles: Sequence[str], length: int) -> list[Doc]:
    rows, hashes = texts.rows(len(titles), length), texts.simhashes(len(titles))
    return [
        Doc(
            status=200, type="text/html", language="en", title=title, text=_text(row), simhash=simhash,
            headings=[" ".join(row[at : at + 5]) for at in range(0, len(row), len(row) // _HEADINGS)],
        )
        for title, row, simhash in zip(titles, rows, hashes, strict=True)
    ]  # fmt: skip


def _text(row: Sequence[str]) -> str:
    return "\n".join(" ".join(row[at : at + _LINE]) for at in range(0, len(row), _LINE))


def _anchor(title: str, number: int) -> str:
    return " ".join(title.split()[:2]) if number % 3 == 0 else title


def _load(uri: bytes, targets: list[bytes], anchors: list[str], doc: Doc) -> LoadedPage:
    outlinks = [Outlink(url_of(Uri(target.decode())), anchor) for target, anchor in zip(targets, anchors, strict=True)]
    record = PageRecord(url=url_of(Uri(uri.decode())), title=doc.title, outlinkcount=len(outlinks), outlinks=outlinks)
    cur, packed = encode_page(record), pack_doc(doc)
    columns = Outlinks(
        targets, [_domain(target) for target in targets], [anchor.encode() for anchor in anchors],
        [False] * len(targets),
    )  # fmt: skip
    version = Version(_FETCHED, blake2b(cur + packed, digest_size=16).digest())
    return LoadedPage(uri, _domain(uri), version, cur, packed, columns)


def _domain(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()

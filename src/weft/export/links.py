"""Rows of references: one for each that counts, in the order of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.export.columns import Block, Coded
from weft.export.sources import Source
from weft.export.urls import ShownUrls
from weft.linkindex.batch import PageUnreadable
from weft.linkindex.records import Outlink, decode_page, decode_since
from weft.model.domain import Domain
from weft.model.url import Uri, UrlRefused, domain_of, identity_of
from weft.store.api import Reader

BLOCK_ROWS: Final = 50_000
BLOCK_BYTES: Final = 32 << 20
"""Stored pages that a block may come from, whatever the number of its rows."""


class Wanted(NamedTuple):
    """Which references are rows."""

    external_only: bool = False
    """Whether those inside one domain do not count."""
    targets: frozenset[Domain] | None = None
    """Domains that they must lead to; None: any."""
    since: int | None = None


def link_blocks(reader: Reader, sources: Iterable[Source], wanted: Wanted) -> Iterator[Block]:
    urls = ShownUrls(reader)
    held = _Held()
    for source in sources:
        held.add(source)
        if held.is_full:
            yield _block(held, urls, wanted)
            held = _Held()
    yield _block(held, urls, wanted)


class _Held:
    """References on their way into one block: those of some pages, one page behind the other."""

    def __init__(self) -> None:
        self.sources: list[Uri] = []
        self.urls: list[str] = []
        self.counts: list[int] = []
        self.links: list[Outlink] = []
        self.since: list[int | None] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        return len(self.links) >= BLOCK_ROWS or self._size >= BLOCK_BYTES

    def add(self, source: Source) -> None:
        try:
            record = decode_page(source.cur)
            links = record.outlinks
            since: Sequence[int | None] = decode_since(source.since) if source.since else [None] * len(links)
            if len(since) != len(links):
                raise ValueError(f"page:since has {len(since)} times for {len(links)} links")
        except (msgspec.DecodeError, ValueError) as error:
            raise PageUnreadable(source.uri, error) from error
        self.sources.append(Uri(source.uri.decode()))
        self.urls.append(record.url)
        self.counts.append(len(links))
        self.links += links
        self.since += since
        self._size += len(source.cur)


class _Targets(NamedTuple):
    """Where the references of a block lead: each URL once, and which of them each row means."""

    urls: list[str]
    uris: list[Uri]
    domains: list[Domain]
    rows: NDArray[np.intp]

    def only(self, is_row: NDArray[np.bool_]) -> _Targets:
        used, rows = np.unique(self.rows[is_row], return_inverse=True)
        numbers = used.tolist()
        columns = ([column[number] for number in numbers] for column in (self.urls, self.uris, self.domains))
        return _Targets._make((*columns, rows))


def _block(held: _Held, urls: ShownUrls, wanted: Wanted) -> Block:
    targets = _targets(held)
    sources = np.repeat(np.arange(len(held.sources)), held.counts)
    homes = [domain_of(uri) for uri in held.sources]
    is_counted = _is_counted(sources, homes, targets, wanted)
    links, since = held.links, held.since
    is_row = is_counted if wanted.since is None else is_counted & _is_since(since, wanted.since)
    if not is_row.all():
        links, since = list(compress(links, is_row.tolist())), list(compress(since, is_row.tolist()))
        sources, targets = sources[is_row], targets.only(is_row)
    urls.remember(held.sources, held.urls)
    columns: list[Any] = [
        Coded(held.sources, sources),
        Coded(held.urls, sources),
        Coded(targets.uris, targets.rows),
        Coded(urls.of_targets(targets.uris, targets.urls), targets.rows),
        [link.anchor for link in links],
        [link.rel for link in links],
        since,
        Coded(homes, sources),
        Coded(targets.domains, targets.rows),
    ]
    return Block(columns, done=int(is_counted.sum()))


def _targets(held: _Held) -> _Targets:
    urls = [link.url for link in held.links]
    number = {url: number for number, url in enumerate(dict.fromkeys(urls))}
    rows = np.fromiter(map(number.__getitem__, urls), np.intp, len(urls))
    try:
        known = [_identity(url) for url in number]
    except (UrlRefused, ValueError) as error:
        raise PageUnreadable(_first_unreadable(held), error) from error
    return _Targets(list(number), [uri for uri, _ in known], [domain for _, domain in known], rows)


def _is_counted(sources: NDArray[np.intp], homes: list[Domain], targets: _Targets, wanted: Wanted) -> NDArray[np.bool_]:
    """Whether the index counts a reference, and it leads where it should."""
    is_counted = _is_first(sources, _numbers(targets.uris)[targets.rows])
    if wanted.external_only:
        numbers = _numbers([*homes, *targets.domains])
        is_counted &= numbers[: len(homes)][sources] != numbers[len(homes) :][targets.rows]
    if wanted.targets is not None:
        is_wanted = np.array([domain in wanted.targets for domain in targets.domains], bool)
        is_counted &= is_wanted[targets.rows]
    return is_counted


def _is_first(sources: NDArray[np.intp], uris: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The first one counts, should a page name a target twice."""
    is_first = np.zeros(len(sources), bool)
    is_first[np.unique(sources * (len(uris) + 1) + uris, return_index=True)[1]] = True
    return is_first


def _is_since(since: Sequence[int | None], earliest: int) -> NDArray[np.bool_]:
    return np.array([at is not None and at >= earliest for at in since], bool)


def _numbers(names: Sequence[str]) -> NDArray[np.intp]:
    """A number for each name, the same for the same name."""
    number = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.fromiter(map(number.__getitem__, names), np.intp, len(names))


def _first_unreadable(held: _Held) -> bytes:
    """The page whose links are no URLs."""
    end = 0
    for uri, count in zip(held.sources, held.counts, strict=True):
        begin, end = end, end + count
        try:
            for link in held.links[begin:end]:
                _identity(link.url)
        except (UrlRefused, ValueError):
            return uri.encode()
    raise AssertionError("one of them is not readable")


@lru_cache(maxsize=65_536)
def _identity(url: str) -> tuple[Uri, Domain]:
    """The pages of a site come one after another and mostly link to the same places."""
    page = identity_of(url)
    return page.uri, page.domain

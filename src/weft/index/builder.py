"""The index builder: crawled chunks become pages, links and results, exactly once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from weft import failpoints
from weft.clock import Clock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.fetch_results import FetchKind, after_fetch
from weft.dispatcher.lastmods import Lastmods
from weft.dispatcher.link_records import LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.learn_from_fetch import learn_from_fetch
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.scope import Scope
from weft.index import chunk_markers
from weft.index.fetch_reader import ReadFetch
from weft.index.handlers import HandledPage, PageHandlers
from weft.linkindex import keys
from weft.linkindex.cells import Cells
from weft.linkindex.loaded import NO_OUTLINKS, LoadedPage
from weft.linkindex.near_duplicates import near_cells
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Version
from weft.mgmt.values import BuildChunk, BuildLink, ChunkId
from weft.model.domain import reversed_domain
from weft.model.refusal import RefusalKind
from weft.model.url import Uri, domain_of
from weft.store.api import Store
from weft.store.tables import Table

ReadAll = Callable[[Sequence[BuildLink]], list[ReadFetch]]
"""Reads fetches from the archive and parses them, in worker processes or here."""


class BuiltRound(NamedTuple):
    """What loading some chunks in one round did."""

    seq: int
    results: int
    pages: int
    links: int
    discovered: int
    freshness: list[int]
    """For each response, milliseconds from the end of its fetch until it was in the index."""


class Builder:
    """Loads chunks into an index of which this process is the one writer.

    A chunk's marker is written in the batch that loads it: a chunk that comes again, because of a crash before it was
    reported, is known to be loaded already.
    """

    def __init__(
        self,
        store: Store,
        index: LinkIndex,
        read_all: ReadAll,
        settings: DispatcherSettings,
        clock: Clock,
        handlers: PageHandlers,
    ) -> None:
        self._store, self._index, self._read_all = store, index, read_all
        self._settings, self._clock = settings, clock
        self._handlers = handlers
        self.discovery = Discovery(settings)
        self._reported: list[ChunkId] = []

    @property
    def low_water(self) -> int:
        return max(1, self._settings.segment_size // 2)

    def build(self, chunks: Sequence[BuildChunk], scope: Scope) -> BuiltRound:
        """Load the chunks that are not loaded yet; when this returns, they are durable and visible."""
        waiting = [chunk for chunk in chunks if not chunk_markers.is_marked(self._store, chunk.id)]
        now = self._clock.now()
        links = [_timed(link, now) for chunk in waiting for link in chunk.links]
        reads = self._read_all(links) if links else []
        failpoints.point("builder.parsed")
        return self._load([chunk.id for chunk in waiting], links, reads, scope)

    def reported(self, chunk: ChunkId) -> None:
        """The control plane knows that this chunk is built: its marker may go, with the next round."""
        self._reported.append(chunk)

    def _load(self, chunks: list[ChunkId], links: list[BuildLink], reads: list[ReadFetch], scope: Scope) -> BuiltRound:
        now = self._clock.now()
        round_ = LinkRound(self._store, self.low_water)
        rules = ParameterRound(self._store, self._settings) if self._settings.learn_parameters else None
        lastmods = Lastmods(self._store, self._settings)
        found = self._take_results(round_, rules, lastmods, links, reads)
        lastmods.take(round_, [lastmod for read in reads for lastmod in read.lastmods()], now)
        pages = [read.page for read in reads if read.page is not None]
        try:
            discovered = self.discovery.offer(round_, scope, found, now, rules)
            learned = {**(rules.cells() if rules else {}), **lastmods.cells()}
            chunk_marks = {**chunk_markers.mark(chunks), **chunk_markers.forget(self._reported)}
            notes = {**round_.cells(), **_near_duplicates(round_), **learned, **chunk_marks}
            applied = self._index.apply([*pages, *self._still_there(links, reads)], notes)
        except BaseException:
            # What was offered is not written: it must not count as known.
            self.discovery.forget()
            raise
        self._reported = []
        failpoints.point("builder.loaded")
        self._call_handlers(links, reads)
        done = self._clock.now()
        freshness = [max(0, done - link.result.ended) for link in links if link.result.position]
        loaded = sum(not page.is_gone for page in pages)
        return BuiltRound(applied.seq, len(links), loaded, applied.links, discovered, freshness)

    def _take_results(
        self,
        round_: LinkRound,
        rules: ParameterRound | None,
        lastmods: Lastmods,
        links: list[BuildLink],
        reads: list[ReadFetch],
    ) -> list[DiscoveredLink]:
        """Put the links' records after their fetches into the round; return the links that their pages name."""
        places = [(_domain_key(link.uri), link.uri.encode()) for link in links]
        round_.read(places)
        if rules:
            rules.read(places)
        found: list[DiscoveredLink] = []
        for link, read, place in zip(links, reads, places, strict=True):
            record = round_.read([place])[0] or LinkRecord(url=link.url, discovered=link.result.ended)
            after = lastmods.judge(place, record, after_fetch(record, read.fetched, self._settings))
            if record.url != link.url and not after.self_redirect:
                after = msgspec.structs.replace(after, url=link.url)
            round_.put(*place, after)
            if rules:
                learn_from_fetch(rules, round_, place, after, read.fetched)
            found += self._found(link, read, record)
        return found

    def _found(self, link: BuildLink, read: ReadFetch, record: LinkRecord) -> list[DiscoveredLink]:
        # A redirect leads to the same page by another name: it is no further away, but such steps are counted.
        is_moved = read.fetched.kind is FetchKind.MOVED
        depth, redirects = (record.depth, record.redirects + 1) if is_moved else (record.depth + 1, 0)
        follow = read.follow
        nesting = record.nesting + 1 if read.is_index else 0
        if nesting > self._settings.sitemap_nesting:
            self.discovery.refused[RefusalKind.NESTED_SITEMAPS] += len(follow)
            follow = []
        return [
            DiscoveredLink(each.domain, each.uri, each.url, depth, link.uri, nesting=nesting, redirects=redirects)
            for each in follow
        ]

    def _still_there(self, links: list[BuildLink], reads: list[ReadFetch]) -> list[LoadedPage]:
        """Pages that have not changed, according to the server: their content stays, their version moves forward."""
        same = [link for link, read in zip(links, reads, strict=True) if read.fetched.kind is FetchKind.SAME]
        columns = [keys.page_column(link.uri.encode(), keys.VERSION) for link in same]
        return [
            _at(link, Version.decode(cell.value))
            for link, cell in zip(same, self._store.get(Table.FLUO, columns), strict=True)
            if cell is not None
        ]

    def _call_handlers(self, links: list[BuildLink], reads: list[ReadFetch]) -> None:
        if not self._handlers:
            return
        for link, read in zip(links, reads, strict=True):
            if read.page is not None and not read.page.is_gone:
                self._handlers.handle(
                    HandledPage(
                        uri=link.uri,
                        url=link.url,
                        fetched=link.result.ended,
                        status=link.result.status,
                        title=read.title,
                        text=read.text,
                        links=[target.decode() for target in read.page.outlinks.targets],
                    )
                )


def _near_duplicates(round_: LinkRound) -> Cells:
    """The cells by which near-duplicates are found, for pages whose text changed in this round."""
    cells: Cells = {}
    for link in round_.changed():
        cells |= near_cells(link.uri, link.before.simhash if link.before else 0, link.after.simhash)
    return cells


def _timed(link: BuildLink, now: int) -> BuildLink:
    """An error that no fetch was begun for has no time of its own."""
    if link.result.ended:
        return link
    return msgspec.structs.replace(link, result=msgspec.structs.replace(link.result, ended=now))


def _domain_key(uri: str) -> bytes:
    return reversed_domain(domain_of(Uri(uri))).encode()


def _at(link: BuildLink, known: Version) -> LoadedPage:
    """The known content, seen again; only its version counts."""
    version = Version(link.result.ended, known.content)
    return LoadedPage(link.uri.encode(), _domain_key(link.uri), version, cur=b"{}", doc=b"", outlinks=NO_OUTLINKS)

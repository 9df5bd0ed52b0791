"""The index builder: crawled chunks become pages, links and results, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from weft import failpoints
from weft.clock import Clock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.fetch_results import (
    FetchKind,
    after_fetch,
    answered,
    is_loaded,
    refers_to_nothing,
    time_of_fetch,
)
from weft.dispatcher.lastmods import Lastmods
from weft.dispatcher.link_records import LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.learn_from_fetch import learn_from_fetch
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.stored_time import noted
from weft.errors import BatchRefused, StoreError
from weft.index import chunk_markers
from weft.index.handlers import HandledPage, PageHandlers
from weft.index.heavy_fetches import HeavyShare, crowding
from weft.index.open_chunks import LinkTicket, OpenChunks
from weft.index.parking import Parking, WaitingChunk
from weft.index.read_ahead import ReadAhead
from weft.index.read_fetch import ReadFetch, failed, refers_elsewhere
from weft.index.reading_lanes import AskedFetch, FetchReading, ReadyFetch
from weft.index.round_weight import HEAVY_ROUND_WEIGHT, ROUND_WEIGHT, weight_of
from weft.linkindex.cells import Cells
from weft.linkindex.loaded import LoadedPage, load_seen_again
from weft.linkindex.near_duplicates import near_cells
from weft.linkindex.pipeline import LinkIndex
from weft.mgmt.values import BuildChunk, BuildLink, ChunkId
from weft.model.domain import reversed_domain
from weft.model.fetch_error import FetchError
from weft.model.refusal import RefusalKind, type_in_header
from weft.model.url import Uri, domain_of
from weft.store.api import Store

log = logging.getLogger(__name__)

ROUND_PAGES: Final = 500
"""Fetches that one round loads, at most: more would keep those behind it from the answers for longer."""
OPEN_CHUNKS: Final = 500
"""Chunks in hand at a time. Most of them wait for a slow or a heavy page or two."""
_PATIENCE: Final = 0.1
"""Seconds that a round waits for its first page."""
_GATHER: Final = 0.5
"""Seconds that a round waits for more pages while more are being read. A round costs as much as some twenty pages,
so that loading each as it comes would double the work."""


class BuiltRound(NamedTuple):
    """What loading some fetches did."""

    seq: int = 0
    pages: int = 0
    links: int = 0
    discovered: int = 0
    uris: Sequence[str] = ()
    """The links whose fetches were loaded."""
    freshness: Sequence[int] = ()
    """For each response, milliseconds from the end of its fetch until it was in the index."""

    is_heavy: bool = False
    """Whether these are heavy fetches, which wait because others go first."""

    @property
    def results(self) -> int:
        return len(self.uris)

    def and_then(self, other: BuiltRound) -> BuiltRound:
        return BuiltRound(
            seq=max(self.seq, other.seq),
            pages=self.pages + other.pages,
            links=self.links + other.links,
            discovered=self.discovered + other.discovered,
            uris=[*self.uris, *other.uris],
            freshness=[*self.freshness, *other.freshness],
            is_heavy=self.is_heavy or other.is_heavy,
        )


class Builder:
    """Loads chunks into an index of which this process is the one writer.

    A round loads what is ready, whatever chunk it is of, up to a number of pages and of bytes. The markers of its
    chunks are written in the same batch: a chunk that comes again, because of a crash before it was reported, is read
    only as far as it is not loaded.
    """

    def __init__(
        self,
        store: Store,
        index: LinkIndex,
        reading: FetchReading,
        settings: DispatcherSettings,
        clock: Clock,
        handlers: PageHandlers,
        round_weight: int = ROUND_WEIGHT,
        parking: Parking | None = None,
    ) -> None:
        self._store, self._index, self._reading = store, index, reading
        self._settings, self._clock = settings, clock
        self._handlers, self._round_weight = handlers, round_weight
        self.parking = parking or Parking()
        self.discovery = Discovery(settings)
        self._chunks = OpenChunks()
        self._ahead = ReadAhead()
        self._share = HeavyShare()
        self._reported: list[ChunkId] = []
        self.heavy_since: int | None = None
        """Since when a round of heavy fetches is being loaded."""
        self._seq = 0

    @property
    def seq(self) -> int:
        """That of a round by which everything loaded so far was in the index: the last one that this process wrote."""
        return self._seq or self._store.last_seq

    def store_figures(self) -> dict[str, int]:
        """Counts and sizes of the store; `history_bytes` if it is known, before compression."""
        history = self._index.history_bytes
        return {**self._store.statistics(), **({} if history is None else {"history_bytes": history})}

    @property
    def low_water(self) -> int:
        return max(1, self._settings.segment_size // 2)

    @property
    def has_room(self) -> bool:
        """Whether more chunks should be taken."""
        return len(self._chunks) < OPEN_CHUNKS and self._reading.waiting < self._ahead.links

    @property
    def room(self) -> int:
        """Fetches that there is room for, without those that wait for the slow lane."""
        return max(0, self._ahead.links - self._reading.waiting)

    @property
    def is_busy(self) -> bool:
        """Whether there are chunks in hand."""
        return len(self._chunks) > 0

    def open(self, chunks: Sequence[BuildChunk]) -> None:
        """Take chunks in hand and have those of their fetches read that are not loaded yet."""
        markers = chunk_markers.read_markers(self._store, [chunk.id for chunk in chunks])
        for chunk, marker in zip(chunks, markers, strict=True):
            self._read(self._chunks.add(chunk, marker))

    def _read(self, missing: Sequence[tuple[LinkTicket, BuildLink]]) -> None:
        links = self._timed([link for _, link in missing])
        self._reading.give(AskedFetch(ticket, link) for (ticket, _), link in zip(missing, links, strict=True))

    def _timed(self, links: list[BuildLink]) -> list[BuildLink]:
        """With the moments that their fetches count as ended at."""
        now = self._clock.now()
        places = [(_domain_key(link.uri), link.uri.encode()) for link in links]
        records = LinkRound(self._store, self.low_water).read(places)
        moments = [time_of_fetch(link.result.ended, record, now) for link, record in zip(links, records, strict=True)]
        return [_at_moment(link, moment) for link, moment in zip(links, moments, strict=True)]

    def build(self, scope: Scope) -> BuiltRound:
        """Load what is ready, as one round; when this returns, it is durable and visible.

        Raises StoreError if the store cannot be written: then nothing is lost, and the next process loads the rest.
        """
        if self._reading.waiting:
            self._share.others_are_there(self._clock.now())
        heavy = self._heavy() if self._share.is_turn(self._clock.now()) else []
        ready, loaded = heavy or self._ready(), list[ReadyFetch]()
        began = self._clock.now()
        self.heavy_since = began if heavy else None
        try:
            failpoints.point("builder.parsed")
            built = self._load_divided(ready, scope, loaded) if ready else BuiltRound()
            failpoints.point("builder.loaded")
            self._call_handlers(loaded)
        finally:
            self.heavy_since = None
        now = self._clock.now()
        if heavy:
            self._share.heavy_loaded(began, now)
        elif built.results:
            self._share.others_are_there(now)
            self._ahead.after_round(built.results, now)
        if heavy or not self._reading.waiting:
            self._ahead.rest()
        return built._replace(is_heavy=bool(heavy))

    def is_heavy(self, domain: str) -> bool:
        """Whether the pages of a domain take long to load, lately and on the whole."""
        return self._reading.is_heavy(domain)

    @property
    def crowding(self) -> list[str]:
        """Domains of which so much waits that no more of their pages should be fetched now."""
        return crowding(self._reading.heavy)

    def take_built(self) -> list[BuildChunk]:
        """The chunks that are loaded as a whole since the last call."""
        return self._chunks.take_loaded()

    def take_waiting(self) -> list[WaitingChunk]:
        """The chunks that wait for nothing but nodes that are away: they are not in hand any more.

        What is loaded of them stays loaded. Links whose nodes are back meanwhile are read.
        """
        back = self.parking.unpark(self._chunks)
        self._read([(ticket, self._chunks.link(ticket)) for ticket in back])
        return self.parking.take(self._chunks)

    def reported(self, chunk: ChunkId) -> None:
        """The control plane knows that this chunk is built: its marker may go, with the next round."""
        self._reported.append(chunk)

    def marked(self) -> list[ChunkId]:
        """Chunks with markers: after a restart also some that were reported, whose markers had no round to go with."""
        return chunk_markers.marked(self._store)

    def drop(self) -> None:
        """Let go of all chunks in hand: they are offered again, and loaded as far as they are not."""
        self._reading.drop()
        self._chunks.drop()

    def _heavy(self) -> list[ReadyFetch]:
        """Heavy fetches for one round. It is short if it can be: meanwhile nothing else is loaded."""
        ready: list[ReadyFetch] = []
        weight = 0
        while weight < min(HEAVY_ROUND_WEIGHT, self._round_weight) and (fetch := self._reading.take_heavy()):
            ready.append(fetch)
            weight += weight_of(fetch.read)
        return ready

    def _ready(self) -> list[ReadyFetch]:
        ready = self.parking.park(self._chunks)
        weight, patience = 0, _PATIENCE if self.is_busy else 0.0
        self._reading.gather(ROUND_PAGES, _GATHER)
        while len(ready) < ROUND_PAGES and weight < self._round_weight:
            fetch = self._reading.take(patience)
            if fetch is None:
                break
            ready.append(fetch)
            weight += weight_of(fetch.read)
            patience = 0.0
        return ready

    def _load_divided(self, ready: Sequence[ReadyFetch], scope: Scope, loaded: list[ReadyFetch]) -> BuiltRound:
        """Load all and add them to `loaded`; if that fails because of some of them, load the others without them."""
        try:
            built = self._load(ready, scope)
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, BatchRefused):
                raise
            if len(ready) == 1:
                return self._put_aside(ready[0], error, scope)
            log.warning("loading %d fetches failed, loading them in two halves reason=%s", len(ready), error)
        else:
            loaded += ready
            return built
        half = len(ready) // 2
        first = self._load_divided(ready[:half], scope, loaded)
        return first.and_then(self._load_divided(ready[half:], scope, loaded))

    def _put_aside(self, fetch: ReadyFetch, error: Exception, scope: Scope) -> BuiltRound:
        """Load that this fetch cannot be loaded; if not even that is possible, it is not the page's fault."""
        log.error("page cannot be loaded url=%s", fetch.link.url, exc_info=error)
        aside = fetch._replace(read=failed(fetch.link.result, FetchError.UNLOADABLE))
        return self._load([aside], scope)

    def _load(self, ready: Sequence[ReadyFetch], scope: Scope) -> BuiltRound:
        now = self._clock.now()
        links, reads = [fetch.link for fetch in ready], [fetch.read for fetch in ready]
        tickets = [fetch.ticket for fetch in ready]
        round_ = LinkRound(self._store, self.low_water)
        rules = ParameterRound(self._store, self._settings) if self._settings.learn_parameters else None
        lastmods = Lastmods(self._store, self._settings)
        seen_again = _seen_again(round_, links, reads)
        found = self._take_results(round_, rules, lastmods, links, reads, scope)
        lastmods.take(round_, [lastmod for read in reads for lastmod in read.lastmods()], now)
        pages = [read.page for read in reads if read.page is not None]
        try:
            discovered = self.discovery.offer(round_, scope, found, now, rules)
            learned = {**(rules.cells() if rules else {}), **lastmods.cells()}
            chunk_marks = {**self._chunks.markers_with(tickets), **chunk_markers.forget(self._reported)}
            marks = {**chunk_marks, **noted(self._store, now)}
            notes = {**round_.cells(), **_near_duplicates(round_), **learned, **marks}
            applied = self._index.apply([*pages, *seen_again], notes)
        except BaseException:
            # What was offered is not written: it must not count as known.
            self.discovery.forget()
            raise
        self._reported, self._seq = [], applied.seq
        self._chunks.loaded(tickets)
        done = self._clock.now()
        freshness = [max(0, done - link.result.ended) for link in links if link.result.position]
        loaded = sum(not page.is_gone for page in pages)
        return BuiltRound(applied.seq, loaded, applied.links, discovered, [link.uri for link in links], freshness)

    def _take_results(
        self,
        round_: LinkRound,
        rules: ParameterRound | None,
        lastmods: Lastmods,
        links: Sequence[BuildLink],
        reads: Sequence[ReadFetch],
        scope: Scope,
    ) -> list[DiscoveredLink]:
        """Put the links' records after their fetches into the round; return the links that their pages name."""
        now = self._clock.now()
        places = [(_domain_key(link.uri), link.uri.encode()) for link in links]
        round_.read(places)
        if rules:
            rules.read(places)
        found: list[DiscoveredLink] = []
        for link, read, place in zip(links, reads, places, strict=True):
            record = round_.read([place])[0] or _unknown(link, scope)
            if is_loaded(record, read.fetched):
                continue
            if read.fetched.kind is FetchKind.SAME and refers_elsewhere(link, record.original):
                round_.put(*place, refers_to_nothing(record, read.fetched))
                continue
            fetched_at = after_fetch(record, read.fetched, self._settings, now, scope.recrawl_of(link.url))
            if (left_out := type_in_header(fetched_at.reason)) is not None:
                fetched_at = self._left_out(fetched_at, scope.wants_type(link.url, left_out), now)
            after = lastmods.judge(place, record, fetched_at)
            if record.url != link.url and not after.self_redirect:
                after = msgspec.structs.replace(after, url=link.url)
            if read.fetched.kind is FetchKind.LISTING:
                after = msgspec.structs.replace(after, scope=scope.digest)
            round_.put(*place, after)
            if (has_answered := answered(read.fetched)) is not None:
                round_.domain_limit.fetched(place[0], has_answered=has_answered)
            if rules:
                learn_from_fetch(rules, round_, place, after, read.fetched)
            found += self._found(link, read, record)
        return found

    def _left_out(self, record: LinkRecord, is_wanted_now: bool, now: int) -> LinkRecord:
        """The record of a file whose type was not wanted when it was fetched."""
        if is_wanted_now:
            return record.reopen(now)
        self.discovery.refused[RefusalKind.TYPE] += 1
        return record

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

    def _call_handlers(self, loaded: Sequence[ReadyFetch]) -> None:
        if not self._handlers:
            return
        for _, link, read in loaded:
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


def _at_moment(link: BuildLink, moment: int) -> BuildLink:
    if link.result.ended == moment:
        return link
    return msgspec.structs.replace(link, result=msgspec.structs.replace(link.result, ended=moment))


def _domain_key(uri: str) -> bytes:
    return reversed_domain(domain_of(Uri(uri))).encode()


def _unknown(link: BuildLink, scope: Scope) -> LinkRecord:
    """The record of a link that the index does not know: one that was added, or that an older index, which was put
    back, had not found yet. Then the page that names it may come after it, and its priority tells how deep it is.
    """
    site = scope.site_at(link.url, domain_of(Uri(link.uri)))
    of_site = (site.settings.priority or 0) if site else 0
    depth = max(0, link.priority - of_site) if link.priority else 0
    return LinkRecord(url=link.url, discovered=link.result.ended, depth=depth)


def _seen_again(round_: LinkRound, links: Sequence[BuildLink], reads: Sequence[ReadFetch]) -> list[LoadedPage]:
    """Pages that have not changed, according to the server: their content stays, their version moves forward."""
    same = [link for link, read in zip(links, reads, strict=True) if read.fetched.kind is FetchKind.SAME]
    records = round_.read([(_domain_key(link.uri), link.uri.encode()) for link in same])
    return [
        load_seen_again(link.uri.encode(), _domain_key(link.uri), link.result.ended)
        for link, record in zip(same, records, strict=True)
        if not refers_elsewhere(link, record.original if record else None)
    ]

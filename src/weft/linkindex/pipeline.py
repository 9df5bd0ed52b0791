"""The observers joined: pages go in, and when `apply` returns every table is exact."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from weft.clock import Clock, SystemClock
from weft.config.sections import IndexSettings
from weft.errors import StoreError, UsageError
from weft.linkindex.cells import Cells, query_cells
from weft.linkindex.changes import ALL_ROWS, history_bytes, history_cells, oldest_blocks
from weft.linkindex.expiry import Expiry
from weft.linkindex.feed import feed_cells, oldest_feed_cells
from weft.linkindex.gc_paused import gc_paused
from weft.linkindex.index_state import IndexState
from weft.linkindex.keys import base_of
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.round import CountingRules, RoundPlan, plan_round
from weft.model.versions import BASES
from weft.store.api import Batch, Capability, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.tables import Table

_DAY = 86_400_000
"""Milliseconds."""

_SPARE = 20
"""One part in so many of `index.keep_bytes` is made free at a time: finding the oldest of all bases takes a while."""

_HISTORY = Column(b"history", b"bytes")
_COUNT = Column(b"index", b"setting", b"count")
"""Which references the tables count: written with the first round, changed only by a rebuild."""


class Applied(NamedTuple):
    """What a round did."""

    seq: int
    changed: int
    unchanged: int
    ignored: int
    links: int
    """References that came, went or changed."""


class LinkIndex:
    """The one owner of an embedded index: every round is one atomic batch, so a reader never sees half a page."""

    def __init__(self, store: Store, settings: IndexSettings, clock: Clock | None = None) -> None:
        self._store, self._settings, self._clock = store, settings, clock or SystemClock()
        self._state = IndexState(store)
        self._history_expiry, self._feed_expiry = Expiry(store, oldest_blocks), Expiry(store, oldest_feed_cells)
        self._expires_by_itself = Capability.EXPIRES in store.capabilities
        self.history_bytes = (
            None if self._expires_by_itself else _history_size(store, must_know=settings.keep_bytes > 0)
        )
        """Size of the history before compression; None: not known, because an older weft began it."""
        self._next_history_bytes = self.history_bytes
        self._rules = CountingRules(external_only=settings.count == "external", keeps_history=settings.history)
        self._is_marked = check_count(store, settings.count)

    def apply(self, pages: Iterable[LoadedPage], notes: Mapping[bytes, bytes | None] | None = None) -> Applied:
        """Take a round of pages, and `notes` (encoded cells, such as how far an import is) in the same batch."""
        with gc_paused():
            # In a function of its own: what it made is gone before the collector would walk over it.
            return self._apply(pages, notes or {})

    def _apply(self, pages: Iterable[LoadedPage], notes: Mapping[bytes, bytes | None]) -> Applied:
        plan = plan_round(self._state, pages, rules=self._rules)
        seq = self._store.last_seq + 1
        batch = self._batch(plan, seq)
        batch.add(notes)
        if batch:
            self._commit(batch, seq, plan)
        sorted_out = plan.pages
        return Applied(
            seq=self._store.last_seq,
            changed=len(sorted_out.changed),
            unchanged=len(sorted_out.unchanged),
            ignored=sorted_out.ignored,
            links=len(plan.updates.links),
        )

    def _batch(self, plan: RoundPlan, seq: int) -> Batch:
        self._next_history_bytes = self.history_bytes
        cells = query_cells(plan.updates)
        cells.update(plan.cells)
        now = self._clock.now()
        links, pages = plan.updates.links, plan.updates.page_changes
        if links or pages:
            if not self._expires_by_itself:
                domains = {change[1] for change in links}.union(change[1] for change in pages)
                cells.update(self._dropped({base_of(domain) for domain in domains}, seq, now))
            if self._settings.history:
                recorded = history_cells(links, pages, seq, now)
                cells.update({**recorded.cells, **self._count_history(recorded.size)})
        if plan.feed:
            bases = {base_of(domain) for domain in plan.feed.domains()}
            cells.update(self._feed_expiry.drop_old(bases, seq, now - self._settings.feed_days * _DAY, now).cells)
            cells.update(feed_cells(plan.feed, seq, now))
        return Batch(cells)

    def _dropped(self, bases: Collection[int], seq: int, now: int) -> Cells:
        """What drops history that was kept long enough, or that is too large by now."""
        most, size = self._settings.keep_bytes, self.history_bytes
        if size is not None and 0 < most < size:
            dropped = self._history_expiry.drop_most(size - most + most // _SPARE)
        else:
            dropped = self._history_expiry.drop_old(bases, seq, now - self._settings.keep_days * _DAY, now)
        return {**dropped.cells, **self._count_history(-dropped.size)}

    def _count_history(self, change: int) -> Cells:
        if self._next_history_bytes is None or not change:
            return {}
        self._next_history_bytes = max(0, self._next_history_bytes + change)
        return {cell_key(Table.META.byte, *_HISTORY): b"%d" % self._next_history_bytes}

    def _commit(self, batch: Batch, seq: int, plan: RoundPlan) -> None:
        if not self._is_marked:
            batch.add(count_cell(self._settings.count))
        try:
            self._store.write(batch, seq)
        except StoreError:
            self._state.forget()
            self._next_history_bytes = self.history_bytes
            self._history_expiry.forget()
            self._feed_expiry.forget()
            raise
        self._is_marked = True
        self.history_bytes = self._next_history_bytes
        self._state.remember(plan.uris, plan.domains)


def _history_size(reader: Reader, *, must_know: bool) -> int | None:
    """Size of the history before compression; None: nobody counted it, and it need not be known."""
    cell = reader.get(Table.META, [_HISTORY])[0]
    if cell is not None:
        return int(cell.value)
    if must_know or next(reader.scan_rows(Table.CHANGES, ALL_ROWS), None) is None:
        return sum(history_bytes(reader, base) for base in range(BASES))
    return None


def counted(reader: Reader) -> str | None:
    """Which references the tables count; None before the first page."""
    cell = reader.get(Table.META, [_COUNT])[0]
    return cell.value.decode() if cell else None


def count_cell(count: str) -> dict[bytes, bytes | None]:
    return {cell_key(Table.META.byte, *_COUNT): count.encode()}


def check_count(reader: Reader, wanted: str) -> bool:
    """Whether the tables say what they count; raises if it is not what the settings want."""
    found = counted(reader)
    if found is not None and found != wanted:
        raise UsageError(
            f'index.count is "{wanted}", but the tables count "{found}" references; `weft rebuild` makes them agree'
        )
    return found is not None

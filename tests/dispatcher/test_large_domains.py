"""Choosing a segment costs a segment, however many links the domain has: counted in cells that are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.dispatcher_world import CountingStore
from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.dispatcher import Dispatcher, DispatchStep
from weft.dispatcher.domain_work import DomainWork, encode_work, list_key, work_key
from weft.dispatcher.link_records import (
    LinkPhase,
    LinkRecord,
    encode_record,
    link_key,
    waiting_key,
)
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.segment import choose
from weft.mgmt.memory import MemoryMgmt
from weft.model.site import Site
from weft.store.rocksdb import RocksStore

DAY = 86_400_000
NOW = 1_770_000_000_000
DOMAIN = b"com.big"
SETTINGS = DispatcherSettings(segment_size=100)


def record(number: int) -> LinkRecord:
    """Three of four links are new, the others are due again, one after another."""
    url = f"https://big.com/page{number:09d}"
    if number % 4:
        return LinkRecord(url=url, phase=LinkPhase.NEW, discovered=NOW - DAY, depth=1 + number % 7, source="com.big")
    fetched = NOW - 2 * DAY + number % 1000
    return LinkRecord(url=url, phase=LinkPhase.DUE, due=fetched + DAY, fetched=fetched, status=200, interval=DAY)


def uri(number: int) -> bytes:
    return b"com.big/page%09d" % number


def cells(count: int) -> Iterator[tuple[bytes, bytes | None]]:
    """All cells of the domain, in the order of their keys, without ever holding them."""
    yield work_key(DOMAIN), encode_work(DomainWork(first=0, listed=0, links=count))
    for moment in range(1000):
        # 1000 is a multiple of 4: those with one moment come one after another.
        yield from ((key_of(number), b"") for number in range(moment, count, 1000) if not number % 4)
    for number in range(count):
        yield link_key(DOMAIN, uri(number)), encode_record(record(number))
    for depth in range(7):
        yield from ((key_of(number), b"") for number in range(depth, count, 7) if number % 4)
    yield list_key(DOMAIN, 0), b""


def key_of(number: int) -> bytes:
    key = waiting_key(DOMAIN, uri(number), record(number))
    assert key is not None
    return key


class Cost:
    """What it takes to look at a segment, and to hand one over."""

    def __init__(self, place: Path, count: int) -> None:
        with RocksStore(place / f"store{count}") as store:
            store.ingest(cells(count), 1, place / f"parts{count}")
            self.segment = self._choose(store)
            self.step, self.cells_of_step = self._step(store)

    def _choose(self, store: RocksStore) -> tuple[int, int]:
        """(links, cells read)"""
        counting = CountingStore(store)
        chosen = choose(counting, LinkRound(counting, 50), DOMAIN, SETTINGS, NOW)
        return len(chosen), counting.cells

    def _step(self, store: RocksStore) -> tuple[DispatchStep, int]:
        clock = ManualClock(NOW)
        scope = Scope([Site(name="big.com")], SETTINGS)
        # The sites count as handled: this measures a step without changes of sites.
        counting = CountingStore(store)
        dispatcher = Dispatcher(counting, MemoryMgmt(clock), SETTINGS, clock)
        dispatcher._site_changes._handled = scope
        return dispatcher.step(scope, 1000), counting.cells


def compare(place: Path, small: int, large: int) -> None:
    first, second = Cost(place, small), Cost(place, large)
    assert first.segment == second.segment
    assert first.segment[0] == SETTINGS.segment_size
    assert first.segment[1] <= 7 * SETTINGS.segment_size
    assert (first.step, first.cells_of_step) == (second.step, second.cells_of_step)
    assert first.step.given == SETTINGS.segment_size


def test_a_segment_of_a_domain_ten_times_as_large_costs_the_same(tmp_path: Path) -> None:
    compare(tmp_path, 4_000, 40_000)


@pytest.mark.long
def test_a_segment_of_a_domain_of_ten_million_links_costs_the_same(tmp_path: Path) -> None:
    compare(tmp_path, 10_000, 10_000_000)

"""Fronts: a domain knows where its waiting links begin, whatever happens to them, and reading begins there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dispatcher_world import CountingStore
from weft.config.sections import DispatcherSettings
from weft.dispatcher import fronts
from weft.dispatcher.domain_work import DomainWork, Fronts, decode_work, encode_work, work_column
from weft.dispatcher.link_records import DOMAIN_ROW, DUE, NEW, LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.segment import ChosenLink, choose
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

NOW = 1_770_000_000_000
DOMAINS = (b"com.a", b"com.b")
LINKS = [(domain, b"%s/%d" % (domain, number)) for domain in DOMAINS for number in range(5)]
LOW_WATER = 3


class Change(NamedTuple):
    """What becomes of one link in a round."""

    link: int
    phase: str
    moment: int
    hops: int
    references: int

    def after(self, before: LinkRecord | None) -> LinkRecord:
        known = before or LinkRecord(url=f"https://{self.link}/", discovered=NOW)
        if self.phase == "at once":
            return known.at_once(NOW + self.moment)
        if self.phase == "new":
            return msgspec.structs.replace(
                known, phase=LinkPhase.NEW, depth=self.hops, references=self.references, discovered=NOW + self.moment
            )
        due = NOW + self.moment
        return msgspec.structs.replace(known, phase=LinkPhase(self.phase), due=due, fetched=due - self.hops)


CHANGES = st.builds(
    Change,
    link=st.integers(0, len(LINKS) - 1),
    phase=st.sampled_from(["new", "new", "given", "due", "hidden", "at once"]),
    moment=st.integers(-3000, 3000),
    hops=st.integers(0, 3) | st.just(300),
    references=st.sampled_from([0, 1, 2, 1000]),
)
ROUNDS = st.lists(st.lists(CHANGES, min_size=1, max_size=12), min_size=1, max_size=8)


def apply(store: MemoryStore, changes: Iterable[Change]) -> None:
    links = LinkRound(store, LOW_WATER)
    for change in changes:
        place = LINKS[change.link]
        links.put(*place, change.after(links.read([place])[0]))
    if cells := links.cells():
        store.write(Batch(cells), store.last_seq + 1)


def work_of(store: MemoryStore, domain: bytes) -> DomainWork | None:
    cell = store.get(Table.LINKS, [work_column(domain)])[0]
    return decode_work(cell.value) if cell else None


def scanned(store: MemoryStore, domain: bytes) -> Fronts:
    """The fronts as a scan of all waiting links has them."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for family, size in ((NEW, 2), (DUE, 3)):
        firsts: dict[bytes, bytes] = {}
        for cell in store.scan(Table.LINKS, DOMAIN_ROW + domain, family):
            firsts.setdefault(cell.qualifier[:size], cell.qualifier)
        found[family] = tuple(firsts.values())[: fronts.MOST]
    return Fronts(found[NEW], found[DUE])


def without_fronts(store: MemoryStore) -> MemoryStore:
    """The same store as a weft wrote it that kept no fronts."""
    old = store.snapshot()
    for domain in DOMAINS:
        if work := work_of(store, domain):
            batch = Batch()
            batch.put(Table.LINKS, *work_column(domain), encode_work(msgspec.structs.replace(work, fronts=None)))
            old.write(batch, old.last_seq + 1)
    return old


def segments(store: Any, percentage: int) -> list[list[ChosenLink]]:
    settings = DispatcherSettings(segment_size=2, refresh_percentage=percentage)
    return [choose(store, LinkRound(store, LOW_WATER), domain, settings, NOW) for domain in DOMAINS]


def check(store: MemoryStore) -> None:
    for domain in DOMAINS:
        if work := work_of(store, domain):
            assert work.fronts == scanned(store, domain)
            assert work.first == work.fronts.first
    old = without_fronts(store)
    for percentage in (0, 50):
        assert segments(store, percentage) == segments(old, percentage)


@given(rounds=ROUNDS, most=st.sampled_from([1, 2, 3, fronts.MOST]))
def test_after_any_rounds_fronts_and_segments_are_those_of_a_full_scan(
    rounds: Sequence[Sequence[Change]], most: int
) -> None:
    store = MemoryStore()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fronts, "MOST", most)
        for changes in rounds:
            apply(store, changes)
            check(store)


@given(before=ROUNDS, changes=st.lists(CHANGES, min_size=1, max_size=12))
def test_a_domain_written_without_fronts_gets_them_with_its_first_change(
    before: Sequence[Sequence[Change]], changes: Sequence[Change]
) -> None:
    store = MemoryStore()
    for some in before:
        apply(store, some)
    old = without_fronts(store)
    apply(old, changes)
    for domain in DOMAINS:
        work = work_of(old, domain)
        if work and work.fronts:
            assert work.fronts == scanned(old, domain)


def test_a_work_of_before_is_read_without_fronts() -> None:
    stored = msgspec.msgpack.encode({"first": 0, "listed": 0, "links": 7})
    assert decode_work(stored) == DomainWork(first=0, listed=0, links=7, fronts=None)


def test_what_was_wanted_at_once_before_wishes_had_a_time_goes_first() -> None:
    store = MemoryStore()
    apply(store, [Change(0, "at once", 0, 0, 0), Change(2, "due", -3000, 0, 0)])
    links = LinkRound(store, LOW_WATER)
    links.read([LINKS[1]])
    links.put(*LINKS[1], LinkRecord(url="https://1/", phase=LinkPhase.DUE))
    store.write(Batch(links.cells()), 2)
    found = [cell.qualifier[8:] for cell in store.scan(Table.LINKS, DOMAIN_ROW + b"com.a", DUE)]
    assert found == [b"com.a/1", b"com.a/0", b"com.a/2"]
    assert [chosen.uri for chosen in segments(store, 0)[0]] == [b"com.a/1", b"com.a/0"]


def test_a_wish_that_is_repeated_changes_nothing() -> None:
    wanted = LinkRecord(url="https://a.com/", phase=LinkPhase.DUE, due=9, fetched=8).at_once(NOW)
    assert (wanted.is_wanted_at_once, wanted.wanted) == (True, NOW)
    assert wanted.at_once(NOW + 5000) == wanted


def test_a_round_that_takes_nothing_from_a_front_scans_nothing() -> None:
    store = MemoryStore()
    apply(store, [Change(number, "new", number, 0, 0) for number in range(3)])
    counting = CountingStore(store)
    links = LinkRound(counting, LOW_WATER)
    found = list(zip(LINKS[1:5], links.read(LINKS[1:5]), strict=True))
    looked_up = counting.cells
    for place, record in found:
        links.put(*place, Change(0, "due", 5, 0, 0).after(record))
    links.cells()
    assert counting.cells == looked_up + 1, "the domain's work alone"


def test_a_class_beyond_a_full_list_does_not_hide_a_nearer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "MOST", 2)
    store = MemoryStore()
    apply(store, [Change(hops, "new", 0, hops, 0) for hops in range(3)])
    apply(store, [Change(0, "given", 0, 0, 0), Change(3, "new", 0, 3, 0)])
    work = work_of(store, b"com.a")
    assert work is not None
    assert work.fronts is not None
    assert [front[0] for front in work.fronts.new] == [1, 2]

"""The link index is exact: whatever comes in, in whatever order and batches, the tables equal the batch program's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_webs import RULES, Buckets, histories, newest_pages
from weft.answers.index import Index
from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.errors import UsageError
from weft.linkindex import keys
from weft.linkindex.batch import expected_cells
from weft.linkindex.cells import (
    Cells,
    difference,
    domain_cells,
    uri_cells,
    write_domain_difference,
    write_uri_difference,
)
from weft.linkindex.changes import BLOCKS, LINK_BLOCK
from weft.linkindex.feed import must_build_anew, read_feed
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page, load_seen_again
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc, DomainInfo, UriInfo, decode_page, read_doc
from weft.model.url import Uri, url_of
from weft.model.versions import BASES
from weft.store.api import Batch, Capability, Cell, Column, Reader
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.tables import Table

DERIVED = {Table.FLUO: (b"um:", b"dm:", b"tm:"), Table.QUERY: (b"",), Table.DOMAINS: (b"",)}


def derived(reader: Reader) -> dict[bytes, bytes]:
    return {
        cell_key(table.byte, *cell[:3]): cell.value
        for table, prefixes in DERIVED.items()
        for prefix in prefixes
        for cell in reader.scan_rows(table, prefix)
    }


def assert_exact(reader: Reader, history: list[LoadedPage], tmp: Path, count: str = "all") -> None:
    """The pages are the newest ones, the tables follow from them, and the docs are theirs."""
    newest = newest_pages(history)
    cells = {c.row[2:]: c.value for c in reader.scan_rows(Table.FLUO, b"p:") if c.qualifier == b"cur"}
    assert cells == {uri: page.cur for uri, page in newest.items()}
    assert derived(reader) == dict(expected_cells(reader, count, tmp))
    docs = {cell.row[2:]: read_doc(cell.value) for cell in reader.scan_rows(Table.DOCS) if not cell.qualifier}
    assert docs.keys() == {uri for uri, page in newest.items() if page.doc}


def batched(history: list[LoadedPage], random: Random) -> list[list[LoadedPage]]:
    batches: list[list[LoadedPage]] = [[]]
    for page in history:
        if random.random() < 0.3:
            batches.append([])
        batches[-1].append(page)
    return batches


def play_one_owner(tmp: Path, history: list[LoadedPage], seed: int, count: str) -> None:
    random = Random(seed)
    store = MemoryStore()
    index = LinkIndex(store, IndexSettings(count=count))
    played: list[LoadedPage] = []
    for batch in batched(history, random):
        index.apply(batch)
        played += batch
        assert_exact(store, played, tmp, count)
    before = derived(store)
    random.shuffle(history)
    for batch in batched(history, random):
        index.apply(batch)
    assert derived(store) == before, "replaying any input changes nothing"


def play_many_owners(tmp: Path, history: list[LoadedPage], seed: int, owners: int, count: str) -> None:
    random = Random(seed)
    buckets = Buckets(owners, random, external_only=count == "external")
    for page in history:
        buckets.offer(page)
        while random.random() < 0.5:
            buckets.step()
    buckets.settle()
    assert_exact(buckets.store, history, tmp, count)


seeds, counting = st.integers(0, 10**6), st.sampled_from(["all", "external"])
one_owner = given(history=histories, seed=seeds, count=counting)
many_owners = given(history=histories, seed=seeds, owners=st.sampled_from([1, 2, 7]), count=counting)


@settings(max_examples=150)
@one_owner
def test_any_history_in_any_order_and_batches_is_exact_after_every_round(tmp_path_factory, **play) -> None:
    play_one_owner(tmp_path_factory.mktemp("sort"), **play)


@settings(max_examples=150)
@many_owners
def test_many_owners_with_messages_between_them_end_exact_too(tmp_path_factory, **play) -> None:
    play_many_owners(tmp_path_factory.mktemp("sort"), **play)


@pytest.mark.long
@settings(max_examples=5000)
@one_owner
def test_thousands_of_histories_are_exact_after_every_round(tmp_path_factory, **play) -> None:
    play_one_owner(tmp_path_factory.getbasetemp(), **play)


@pytest.mark.long
@settings(max_examples=5000)
@many_owners
def test_thousands_of_histories_with_many_owners_end_exact(tmp_path_factory, **play) -> None:
    play_many_owners(tmp_path_factory.getbasetemp(), **play)


infos = st.builds(UriInfo, st.integers(0, 3), st.just(0), st.integers(0, 1))


@given(infos, infos)
def test_the_written_out_difference_of_a_uri_is_the_plain_one(before: UriInfo, after: UriInfo) -> None:
    cells: Cells = {}
    write_uri_difference(cells, b"com.a/x", b"com.a", before, after)
    plain = difference(uri_cells(b"com.a/x", b"com.a", before), uri_cells(b"com.a/x", b"com.a", after))
    assert cells == plain


counts_of_domains = st.builds(DomainInfo, st.integers(0, 3), st.integers(0, 3))


@given(counts_of_domains, counts_of_domains)
def test_the_written_out_difference_of_a_domain_is_the_plain_one(before: DomainInfo, after: DomainInfo) -> None:
    cells: Cells = {}
    write_domain_difference(cells, b"com.a", before, after)
    assert cells == difference(domain_cells(b"com.a", before), domain_cells(b"com.a", after))


class Playground:
    """One index in memory and short words to play with it."""

    def __init__(self, tmp: Path, count: str = "all") -> None:
        self.store, self._tmp, self._count = MemoryStore(), tmp, count
        self.index = LinkIndex(self.store, IndexSettings(count=count))
        self.history: list[LoadedPage] = []

    def load(self, url: str, *links: str | RawLink, at: int = 1, text: str = "") -> None:
        raw = [link if isinstance(link, RawLink) else RawLink(link, "words") for link in links]
        self._apply(load_page(RULES, RULES.identify(url), at, raw, Doc(text=text)))

    def delete(self, url: str, at: int) -> None:
        self._apply(load_gone(RULES.identify(url), at))

    def _apply(self, page: LoadedPage) -> None:
        self.index.apply([page])
        self.history.append(page)
        assert_exact(self.store, self.history, self._tmp, self._count)

    def info(self, uri: bytes, domain: bytes = b"com.c") -> UriInfo:
        cell = self.store.get(Table.FLUO, [keys.uri_info_column(domain, uri)])[0]
        return UriInfo.decode(cell.value) if cell else UriInfo()

    def inlinks(self, uri: bytes) -> dict[bytes, bytes]:
        return {cell.qualifier: cell.value for cell in self.store.scan(Table.QUERY, b"p:" + uri, b"inlinks")}


@pytest.fixture
def play(tmp_path: Path) -> Playground:
    return Playground(tmp_path)


def test_an_update_adds_and_removes_references(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/", "https://b.com/")
    play.load("https://a.com/", "https://c.com/", "https://d.com/", at=2)
    assert play.info(b"com.c").references == 1
    assert play.info(b"com.b", b"com.b") == UriInfo()
    assert play.info(b"com.d", b"com.d").references == 1


def test_an_older_page_is_ignored_and_the_same_time_settles_one_way(play: Playground, tmp_path: Path) -> None:
    play.load("https://a.com/", "https://c.com/", at=5)
    play.load("https://a.com/", "https://b.com/", at=4)
    assert play.info(b"com.c").references == 1
    other = Playground(tmp_path)
    for one in (play, other):
        for link in ("https://x.com/", "https://y.com/")[:: 1 if one is play else -1]:
            one.load("https://a.com/", link, at=9)
    assert derived(play.store) == derived(other.store)


def test_an_unchanged_page_moves_its_version_so_that_a_late_one_loses(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/", at=10)
    play.load("https://a.com/", "https://c.com/", at=30)
    play.load("https://a.com/", "https://b.com/", at=20)
    assert play.info(b"com.c").references == 1


def test_an_unchanged_page_costs_one_cell(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/", "https://d.com/", at=1, text="long text")
    seq = play.store.last_seq
    play.load("https://a.com/", "https://c.com/", "https://d.com/", at=2, text="long text")
    written = [cell for table in Table for cell in play.store.scan_rows(table) if cell.seq > seq]
    assert [(cell.row, cell.qualifier) for cell in written] == [(b"p:com.a", b"version")]


def test_a_page_that_was_seen_again_only_moves_its_version(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/", at=10)
    seq = play.store.last_seq
    applied = play.index.apply([load_seen_again(b"com.a", b"com.a", 30, since=10)])
    written = [cell for table in Table for cell in play.store.scan_rows(table) if cell.seq > seq]
    assert [(cell.row, cell.qualifier) for cell in written] == [(b"p:com.a", b"version")]
    assert (applied.changed, applied.unchanged, applied.ignored) == (0, 0, 0)
    url = RULES.identify("https://a.com/")
    for at, references in ((20, 1), (31, 0)):
        play.index.apply([load_page(RULES, url, at, [RawLink("https://b.com/")], Doc())])
        assert play.info(b"com.c").references == references


@pytest.mark.parametrize(("since", "at"), [(11, 30), (5, 10), (5, 9)])
def test_seeing_again_what_was_never_loaded_or_is_older_changes_nothing(play: Playground, since: int, at: int) -> None:
    play.load("https://a.com/", "https://c.com/", at=10)
    seq = play.store.last_seq
    assert play.index.apply([load_seen_again(b"com.a", b"com.a", at, since)]).seq == seq
    assert play.index.apply([load_seen_again(b"com.b", b"com.b", at, since)]).seq == seq


def test_a_page_that_is_gone_does_not_come_back_because_it_was_seen_again(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/", at=10)
    play.index.apply([load_gone(RULES.identify("https://a.com/"), 20)])
    play.index.apply([load_seen_again(b"com.a", b"com.a", 30, since=10)])
    play.load("https://a.com/", "https://c.com/", at=25)
    assert play.info(b"com.c").references == 1


def test_a_page_and_that_it_was_seen_again_may_come_in_one_round(play: Playground) -> None:
    url = RULES.identify("https://a.com/")
    first, late = (load_page(RULES, url, at, [RawLink(f"https://{at}.com/")], Doc()) for at in (10, 20))
    play.index.apply([first, load_seen_again(b"com.a", b"com.a", 30, since=10), late])
    assert play.info(b"com.10", b"com.10").references == 1
    assert play.info(b"com.20", b"com.20") == UriInfo()


def test_a_page_that_links_to_itself_counts_both_ways(play: Playground) -> None:
    play.load("https://c.com/", "https://c.com/")
    assert play.info(b"com.c") == UriInfo(1, 0, 1)
    play.delete("https://c.com/", at=2)
    assert play.info(b"com.c") == UriInfo()


def test_a_page_without_links_is_counted_once(play: Playground) -> None:
    play.load("https://c.com/")
    play.load("https://c.com/", at=2, text="other")
    assert play.info(b"com.c") == UriInfo(0, 0, 1)


def test_duplicate_links_are_one_reference_with_the_first_words(play: Playground) -> None:
    play.load("https://a.com/", RawLink("https://c.com/", "first"), RawLink("http://c.com/#x", "second"))
    assert play.inlinks(b"com.c") == {b"com.a": b"first"}
    assert play.info(b"com.c") == UriInfo(1, 0, 0)


def test_changed_words_and_scheme_reach_the_target(play: Playground) -> None:
    play.load("https://a.com/", RawLink("https://c.com/", "old"))
    play.load("https://a.com/", RawLink("http://c.com/", "new"), at=2)
    assert play.inlinks(b"com.c") == {b"com.a": b"new"}
    assert play.info(b"com.c") == UriInfo(1, 1, 0)


def test_a_page_deleted_before_it_was_seen_leaves_no_trace_and_an_old_load_cannot_bring_it(play: Playground) -> None:
    play.delete("https://c.com/", at=5)
    play.delete("https://c.com/", at=6)
    assert derived(play.store) == {}
    play.load("https://c.com/", "https://a.com/", at=4)
    assert derived(play.store) == {}
    play.load("https://c.com/", "https://a.com/", at=7)
    assert play.info(b"com.c") == UriInfo(0, 0, 1)


def test_a_deleted_page_stays_known_while_others_reference_it(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/")
    play.load("https://c.com/", "https://a.com/")
    play.delete("https://c.com/", at=2)
    assert play.info(b"com.c") == UriInfo(1, 0, 0)
    assert play.info(b"com.a", b"com.a") == UriInfo(0, 0, 1)


def test_external_counting_leaves_out_references_inside_a_domain(tmp_path: Path) -> None:
    play = Playground(tmp_path, "external")
    play.load("https://www.c.com/", "https://c.com/", "https://a.com/")
    assert play.info(b"com.c") == UriInfo()
    assert play.inlinks(b"com.c") == {}
    assert play.info(b"com.a", b"com.a").references == 1


def test_counting_otherwise_than_the_tables_do_is_refused(play: Playground) -> None:
    play.load("https://a.com/", "https://c.com/")
    with pytest.raises(UsageError, match="weft rebuild"):
        LinkIndex(play.store, IndexSettings(count="external"))


def test_counts_beyond_32_bits_are_exact_and_sort_first(play: Playground) -> None:
    batch = Batch()
    batch.add({keys.uri_info(b"com.c", b"com.c"): UriInfo(2**40, 0, 0).encode()})
    batch.add(dict(uri_cells(b"com.c", b"com.c", UriInfo(2**40, 0, 0))))
    play.store.write(batch, 1)
    play.index.apply([load_page(RULES, RULES.identify("https://a.com/"), 1, [RawLink("https://c.com/")], Doc())])
    assert play.info(b"com.c").references == 2**40 + 1
    first = next(play.store.scan_rows(Table.QUERY, b"t:"))
    assert first.value == b"%d" % (2**40 + 1)


def test_notes_are_written_with_the_round(play: Playground) -> None:
    note = cell_key(Table.META.byte, b"import", b"", b"")
    applied = play.index.apply([], {note: b"here"})
    assert play.store.get(Table.META, [Column(b"import", b"", b"")])[0].seq == applied.seq
    assert play.index.apply([]).seq == applied.seq, "nothing to do, nothing written"


def test_history_is_dropped_once_it_was_kept_long_enough() -> None:
    clock, store = ManualClock(), MemoryStore()
    index = LinkIndex(store, IndexSettings(keep_days=10), clock)
    for number in range(5):
        url = RULES.identify(f"https://a.com/{number}")
        index.apply([load_page(RULES, url, 1000 + number, [RawLink("https://c.com/")], Doc())])
        clock.advance(6 * 86_400)
    blocks = [cell.row for cell in store.scan_rows(Table.CHANGES) if cell.family in BLOCKS]
    rows = [b"a:04", b"a:28", b"d:com.a", b"d:com.c", b"u:com.c"]
    of_pages = [b"u:com.a/3", b"u:com.a/4"]
    assert sorted(blocks) == sorted([*rows, *rows, *of_pages]), "two rounds are left"
    for of in (None, "c.com", "https://c.com/"):
        items = Index(store, RULES).changes(of, kind="links").items
        assert [item.source for item in items] == ["com.a/4", "com.a/3"]
    assert [item.target for item in Index(store, RULES).changes("a.com").items] == ["com.a/4", "com.a/3"]


class ExpiringStore(MemoryStore):
    """Stands for an engine whose history vanishes by itself: its oldest end is full of what it has dropped."""

    capabilities = MemoryStore.capabilities | Capability.EXPIRES

    def scan(self, table: Table, *where: Any, **how: Any) -> Iterator[Cell]:
        assert table is not Table.CHANGES
        return super().scan(table, *where, **how)


def test_where_history_vanishes_by_itself_nobody_looks_for_its_oldest() -> None:
    clock, store = ManualClock(), ExpiringStore()
    index = LinkIndex(store, IndexSettings(keep_days=10, feed_days=10), clock)
    for number in range(5):
        url = RULES.identify(f"https://a.com/{number}")
        index.apply([load_page(RULES, url, 1000 + number, [RawLink("https://c.com/")], Doc())])
        clock.advance(6 * 86_400)
    blocks = [cell.row for cell in store.scan_rows(Table.CHANGES) if cell.family in BLOCKS]
    assert blocks.count(b"a:04") == 5
    assert must_build_anew(store, 2)
    assert not must_build_anew(store, 3)
    assert [cell.seq for cell in read_feed(store, 4, 0)] == [4, 5]


def test_history_of_a_base_that_gets_no_more_is_dropped_too() -> None:
    clock, store = ManualClock(), MemoryStore()
    index = LinkIndex(store, IndexSettings(keep_days=10), clock)
    index.apply([load_page(RULES, RULES.identify("https://z.org/"), 1000, [], Doc())])
    clock.advance(11 * 86_400)
    for number in range(BASES):
        url = RULES.identify(f"https://a.com/{number}")
        index.apply([load_page(RULES, url, 2000 + number, [], Doc())])
    assert next(store.scan(Table.CHANGES, b"u:org.z"), None) is None
    assert len(Index(store, RULES).changes(limit=100).items) == BASES


@given(history=histories, seed=seeds)
def test_replaying_the_changes_of_each_page_gives_its_references_of_today(history: list[LoadedPage], seed: int) -> None:
    store = MemoryStore()
    index, answers = LinkIndex(store, IndexSettings()), Index(store, RULES)
    for batch in batched(history, Random(seed)):
        index.apply(batch)
    everything = answers.changes(limit=1000).items
    by_kind = [answers.changes(kind=kind, limit=1000).items for kind in ("links", "pages")]
    assert by_kind == [[item for item in everything if item.kind == kind] for kind in ("links", "pages")]
    for target in {item.target for item in everything}:
        own = answers.changes(url_of(Uri(target)), limit=1000).items
        assert own == [item for item in everything if item.target == target], "as they stand among all changes"
        balance = Counter[str]()
        for item in own:
            if item.kind == "pages":
                continue
            balance[item.source] += {"new": 1, "lost": -1, "anchor": 0}[item.change]
        inlinks = {cell.qualifier.decode() for cell in store.scan(Table.QUERY, b"p:" + target.encode(), b"inlinks")}
        assert +balance == Counter(inlinks)


@given(history=histories, seed=seeds)
def test_replaying_the_changes_of_pages_tells_which_are_there_and_their_titles(
    history: list[LoadedPage], seed: int
) -> None:
    store = MemoryStore()
    index, answers = LinkIndex(store, IndexSettings()), Index(store, RULES)
    for batch in batched(history, Random(seed)):
        index.apply(batch)
    titles: dict[str, str] = {}
    for item in reversed(answers.changes(kind="pages", limit=1000).items):
        if item.change == "page_new":
            assert item.target not in titles
            titles[item.target] = item.title or ""
        elif item.change == "page_gone":
            del titles[item.target]
        elif item.change == "page_title":
            assert titles[item.target] != item.title
            titles[item.target] = item.title or ""
    assert titles == {
        uri.decode(): decode_page(page.cur).title for uri, page in newest_pages(history).items() if page.cur
    }


def test_looking_for_changes_since_a_day_ends_where_older_ones_were_recorded() -> None:
    clock, store = ManualClock(), MemoryStore()
    index = LinkIndex(store, IndexSettings(), clock)
    for number in range(4):
        page = RULES.identify(f"https://a.com/{number}")
        index.apply([load_page(RULES, page, clock.now(), [RawLink("https://c.com/")], Doc())])
        clock.advance(86_400)
    damaged = Batch()
    for row in (b"a:28", b"d:com.c", b"u:com.c"):
        oldest = next(store.scan(Table.CHANGES, row, LINK_BLOCK, reverse=True))
        damaged.put(
            Table.CHANGES, row, LINK_BLOCK, oldest.qualifier, b"0 0 damaged" if row[0:1] != b"u" else b"damaged"
        )
    store.write(damaged, store.last_seq + 1)
    answers, yesterday = Index(store, RULES), clock.now() - 2 * 86_400_000
    for of in (None, "c.com", "https://c.com/"):
        items = answers.changes(of, since=yesterday, kind="links").items
        assert [item.source for item in items] == ["com.a/3", "com.a/2"]
        with pytest.raises(msgspec.DecodeError):
            answers.changes(of)

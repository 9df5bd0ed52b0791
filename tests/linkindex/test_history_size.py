"""The history has a bound in bytes: its size is counted exactly, and above the bound the oldest goes first."""

from __future__ import annotations

from typing import Any

from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.linkindex.changes import ALL_ROWS, history_bytes, read_block
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.model.versions import BASES
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

RULES = UrlRules()
START = 1_770_000_000_000


class History:
    def __init__(self, **settings: Any) -> None:
        self.store, self.clock = MemoryStore(), ManualClock(START)
        self.settings = IndexSettings(**settings)
        self.index = LinkIndex(self.store, self.settings, self.clock)
        self.rounds = 0

    def change(self, pages: int = 20, domains: int = 3) -> None:
        """A round in which pages of some domains link elsewhere."""
        self.rounds += 1
        self.clock.advance(3600)
        loaded = []
        for page in range(pages):
            url = RULES.identify(f"https://d{page % domains}.com/{page}")
            links = [
                RawLink(f"https://t{(page + self.rounds + n) % 50}.com/", f"words {self.rounds}") for n in range(5)
            ]
            doc = Doc(title=f"{page} in round {self.rounds}", text="some words")
            loaded.append(load_page(RULES, url, self.clock.now(), links, doc))
        self.index.apply(loaded)

    @property
    def counted(self) -> int:
        return sum(history_bytes(self.store, base) for base in range(BASES))

    @property
    def stored(self) -> int:
        return sum(1 for _ in self.store.scan_rows(Table.CHANGES))

    def moments(self) -> list[int]:
        """When each block of all that is kept was recorded, the oldest first."""
        return sorted({read_block(cell.value).recorded for cell in self.store.scan_rows(Table.CHANGES, ALL_ROWS)})


def test_the_size_that_is_counted_is_that_of_what_is_there() -> None:
    history = History(keep_days=2)
    assert history.index.history_bytes == 0
    for _ in range(100):
        history.change()
        assert history.index.history_bytes == history.counted > 0
    # What is older than two days went, and was counted off.
    assert history.moments()[0] > START + 24 * 3600_000


def test_above_the_bound_the_oldest_goes_first_and_the_size_stays_below_it() -> None:
    free = History()
    for _ in range(10):
        free.change()
    bound = free.counted
    history = History(keep_bytes=bound)
    for number in range(60):
        history.change()
        size = history.index.history_bytes
        assert size == history.counted
        assert size is not None
        assert size < bound * 1.3, number
    kept = history.moments()
    assert history.clock.now() - kept[0] < 12 * 3600_000
    assert kept == [history.clock.now() - 3600_000 * n for n in reversed(range(len(kept)))]


def test_no_cell_of_what_was_dropped_stays() -> None:
    history = History(keep_bytes=1)
    for _ in range(5):
        history.change()
    # The last round is there as a whole, and nothing else.
    assert len(history.moments()) == 1
    blocks = {cell.qualifier for cell in history.store.scan_rows(Table.CHANGES)}
    assert len(blocks) == 1


def test_a_history_that_an_older_weft_began_is_counted_once_it_is_bounded() -> None:
    history = History()
    for _ in range(5):
        history.change()
    batch = Batch()
    batch.delete(Table.META, b"history", b"bytes", b"")
    history.store.write(batch, history.store.last_seq + 1)
    assert LinkIndex(history.store, IndexSettings(), history.clock).history_bytes is None
    history.index = LinkIndex(history.store, IndexSettings(), history.clock)
    history.change()
    assert history.index.history_bytes is None
    bounded = LinkIndex(history.store, IndexSettings(keep_bytes=1 << 30), history.clock)
    assert bounded.history_bytes == history.counted
    history.index = bounded
    history.change()
    assert bounded.history_bytes == history.counted


def test_a_new_process_knows_the_size() -> None:
    history = History()
    history.change()
    assert LinkIndex(history.store, IndexSettings(), history.clock).history_bytes == history.counted

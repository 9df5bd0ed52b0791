"""Random histories of small webs, and the ways to play them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

from weft.linkindex.cells import query_cells
from weft.linkindex.changes import history_cells
from weft.linkindex.index_state import IndexState
from weft.linkindex.keys import base_of
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.records import Doc
from weft.linkindex.round import CountingRules, plan_round
from weft.linkindex.updates import LinkChange
from weft.model.url import UrlRules
from weft.model.versions import BASES
from weft.store.api import Batch
from weft.store.memory import MemoryStore

RULES = UrlRules()
NAMES = ["a.com/", "a.com/1", "www.a.com/", "b.com/", "b.com/x?y=1", "c.co.uk/", "d.org:8080/", "1.2.3.4/", "e.com/e"]


@st.composite
def pages(draw: st.DrawFn) -> LoadedPage:
    """Any version of any of a few pages: few enough that they meet each other again and again."""
    scheme = draw(st.sampled_from(["http", "https"]))
    page = RULES.identify(f"{scheme}://{draw(st.sampled_from(NAMES))}")
    at = draw(st.integers(1, 6))
    if draw(st.integers(0, 4)) == 0:
        return load_gone(page, at)
    links = st.builds(
        RawLink,
        href=st.builds("{}://{}".format, st.sampled_from(["http", "https"]), st.sampled_from(NAMES)),
        anchor=st.sampled_from(["", "one", "two"]),
        rel=st.sampled_from(["", "nofollow"]),
    )
    title = draw(st.sampled_from(["", "T"]))
    return load_page(RULES, page, at, draw(st.lists(links, max_size=6)), Doc(title=title, text=title * 3))


histories = st.lists(pages(), max_size=25)


def newest_pages(history: list[LoadedPage]) -> dict[bytes, LoadedPage]:
    """What must stand in the end, by the plainest rule: the largest version of each page."""
    best: dict[bytes, LoadedPage] = {}
    for page in history:
        if page.uri not in best or page.version > best[page.uri].version:
            best[page.uri] = page
    return {uri: page for uri, page in best.items() if not page.is_gone}


class Buckets:
    """An index with several owners in one store: rounds and messages interleaved at random, as in a cluster."""

    def __init__(self, count: int, random: Random, *, external_only: bool = False) -> None:
        self.store = MemoryStore()
        self._random, self._count = random, count
        self._pages: list[list[LoadedPage]] = [[] for _ in range(count)]
        self._messages: list[list[LinkChange]] = [[] for _ in range(count)]
        self._states = [IndexState(self.store) for _ in range(count)]
        self._rules = [
            CountingRules(external_only, owns=lambda domain, owner=owner: self._owner(domain) == owner)  # type: ignore[misc]
            for owner in range(count)
        ]
        self._seq = 0

    def _owner(self, domain: bytes) -> int:
        return base_of(domain) * self._count // BASES

    def _is_owned_by(self, owner: int) -> Callable[[bytes], bool]:
        return lambda domain: self._owner(domain) == owner

    def offer(self, page: LoadedPage) -> None:
        self._pages[self._owner(page.domain)].append(page)

    def step(self) -> None:
        """One round of one owner with part of what waits for it."""
        owner = self._random.randrange(self._count)
        self._round(owner, self._random.randrange(4), self._random.randrange(6))

    def settle(self) -> None:
        while any(self._pages) or any(self._messages):
            for owner in range(self._count):
                self._round(owner, 1000, 1000)

    def _round(self, owner: int, pages: int, messages: int) -> None:
        taken, self._pages[owner] = self._pages[owner][:pages], self._pages[owner][pages:]
        heard, self._messages[owner] = self._messages[owner][:messages], self._messages[owner][messages:]
        plan = plan_round(self._states[owner], taken, heard, self._rules[owner])
        self._seq += 1
        batch = Batch()
        batch.add(plan.cells)
        links, changed = plan.updates.links, plan.updates.page_changes
        history = history_cells(links, changed, self._seq, self._seq, b"00")
        batch.add({**query_cells(plan.updates), **history.cells})
        self.store.write(batch, self._seq)
        self._states[owner].remember(plan.uris, plan.domains)
        for change in plan.outgoing:
            self._messages[self._owner(change[1])].append(change)

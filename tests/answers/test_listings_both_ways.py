"""One law for every listing: `next` leads through everything once, and `prev` leads back through the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from support.search_world import STORE, SearchWorld
from weft.answers.index import Index
from weft.answers.objects import Listing
from weft.answers.search import SearchOptions, search_listing
from weft.answers.view import View
from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.errors import NotKnown
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.search.local_shards import LocalShards
from weft.store.memory import MemoryStore

RULES = UrlRules()
SECOND = 1000
NAMES = [f"{site}.com/{path}" for site in ("a", "b", "www.b", "c") for path in ("", "1", "2")]

Ask: TypeAlias = Callable[..., Listing]
Load: TypeAlias = tuple[str, list[str], bool]
"""A page, whom it references, and whether it is gone."""


def page(name: str, targets: list[str], at: int, *, is_gone: bool) -> LoadedPage:
    url = RULES.identify(f"https://{name}")
    if is_gone:
        return load_gone(url, at)
    return load_page(RULES, url, at, [RawLink(f"https://{target}", target) for target in targets], Doc(title=f"{at}"))


loads = st.tuples(
    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=6), st.integers(0, 5).map(lambda n: not n)
)
rounds = st.lists(st.lists(loads, max_size=4), min_size=1, max_size=6)


def index_of(rounds: list[list[Load]]) -> Index:
    store, clock = MemoryStore(), ManualClock(0)
    links = LinkIndex(store, IndexSettings(), clock)
    links.apply([page("a.com/", ["b.com/", "a.com/1"], 1, is_gone=False)])
    for number, loaded in enumerate(rounds, start=1):
        clock.advance(1)
        latest = {name: (targets, is_gone) for name, targets, is_gone in loaded}
        # Pages of one round are not fetched in the order of their names.
        times = {name: number * SECOND - 100 * (crc32(name.encode()) % 7) for name in latest}
        links.apply([page(name, t, times[name], is_gone=gone) for name, (t, gone) in latest.items()])
    return Index(store, RULES)


QUESTIONS: dict[str, Callable[[Index], Ask]] = {
    "top": lambda index: index.top,
    "top of a domain": lambda index: partial(index.top, "b.com"),
    "domains by pages": lambda index: partial(index.domains, "pages"),
    "domains by references": lambda index: partial(index.domains, "references"),
    "links in": lambda index: partial(index.links, "b.com"),
    "links out": lambda index: partial(index.links, "a.com", out=True),
} | {
    f"changes of {of}, since {since}, {kind}": partial(
        lambda of, since, kind, index: partial(index.changes, of, since=since, kind=kind), of, since, kind
    )
    for of in (None, "b.com", "https://b.com/")
    for since in (None, 2 * SECOND)
    for kind in (None, "links", "pages")
}


def walked(ask: Ask, limit: int) -> None:
    """The law."""
    everything = ask(limit=10_000)
    assert (everything.next, everything.prev) == (None, None)
    answer = ask(limit=limit)
    assert answer.prev is None
    forward, steps = list(answer.items), 0
    while answer.next is not None:
        answer = ask(limit=limit, cursor=answer.next)
        assert answer.items, "a cursor leads to something"
        forward, steps = forward + answer.items, steps + 1
        assert len(forward) <= len(everything.items), "nothing comes twice"
    assert forward == everything.items
    backward = list(answer.items)
    while answer.prev is not None:
        answer = ask(limit=limit, cursor=answer.prev)
        assert answer.items, "a cursor leads to something"
        backward, steps = answer.items + backward, steps - 1
        assert len(backward) <= len(everything.items), "nothing comes twice"
    assert backward == everything.items
    assert steps == 0, "as many pages back as forward"
    if answer.next is not None:
        assert ask(limit=limit, cursor=ask(limit=limit, cursor=answer.next).prev) == answer


@given(rounds=rounds, limit=st.integers(1, 5))
def test_next_and_prev_walk_the_same_way(rounds: list[list[Load]], limit: int) -> None:
    index = index_of(rounds)
    for name, question in QUESTIONS.items():
        note(name)
        ask = question(index)
        try:
            ask(limit=1)
        except NotKnown:  # a page that is gone has no links
            continue
        walked(ask, limit)


@pytest.mark.parametrize("limit", [1, 3, 7, 30])
@pytest.mark.parametrize("options", [{}, {"per_domain": 1}, {"per_domain": 0}, {"fold": False}], ids=str)
def test_search_walks_the_same_way(tmp_path: Path, options: dict[str, Any], limit: int) -> None:
    world = SearchWorld(tmp_path / "row")
    texts = ["common " + ("one " * 40 if n % 5 == 0 else f"word{n} other{n} third{n} ") for n in range(60)]
    world.load(
        *(
            load_page(RULES, RULES.identify(f"https://s{n % 7}.com/{n}"), 1, [], Doc(text=text, title=f"{n}"))
            for n, text in enumerate(texts)
        )
    )
    world.indexer.finish()
    shards = LocalShards.open(world.path, STORE, 1)

    def ask(*, limit: int, cursor: str | None = None) -> Listing:
        return search_listing(View(world.store), shards, "common", SearchOptions(limit=limit, cursor=cursor, **options))

    pages, answer = [ask(limit=limit)], ask(limit=limit)
    while answer.next is not None:
        answer = ask(limit=limit, cursor=answer.next)
        pages.append(answer)
    uris = [item.uri for one in pages for item in one.items]
    assert len(uris) == len(set(uris)) > limit
    back = [answer]
    while answer.prev is not None:
        answer = ask(limit=limit, cursor=answer.prev)
        back.insert(0, answer)
        assert len(back) <= len(pages), "nothing comes twice"
    assert [one.items for one in back] == [one.items for one in pages]
    world.close()

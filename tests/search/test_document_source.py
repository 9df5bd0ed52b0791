"""Of the many links to a page, no site can take away what the others say, whatever its name and however many pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.random_webs import RULES
from support.search_world import SearchWorld
from weft.linkindex.keys import inlink
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.records import Doc, UriInfo
from weft.model.url import Uri, domain_of
from weft.search.document import ANCHORS, make_document
from weft.search.document_source import INLINKS_READ, inlinks_of
from weft.store.api import Batch, Cell
from weft.store.memory import MemoryStore
from weft.store.tables import Table

BANK = b"example.bank"
HONEST = "Riverside Savings Bank"


class CountingStore(MemoryStore):
    """Counts what is read of links to a page."""

    def __init__(self) -> None:
        super().__init__()
        self.scans = self.cells = 0

    def scan(self, table: Table, *where: Any, **how: Any) -> Iterator[Cell]:
        self.scans += 1
        for cell in super().scan(table, *where, **how):
            self.cells += 1
            yield cell


def store_of(said: dict[str, str], target: bytes = BANK) -> CountingStore:
    """A page that these sources (uris) reference with these words."""
    store = CountingStore()
    store.write(Batch({inlink(target, source.encode()): words.encode() for source, words in said.items()}), 1)
    return store


def anchors_of(said: dict[str, str], target: bytes = BANK) -> list[str]:
    found = inlinks_of(store_of(said, target), target, len(said))
    document = make_document(target.decode(), UriInfo(len(said), 0, 0), None, 0, is_gone=False, anchors=found)
    assert document is not None
    return document.anchors


def letters(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in (2, 1, 0))


@pytest.mark.parametrize("pages", [215, 1_000])
@pytest.mark.parametrize("spammer", ["aa.spam", "com.aaa", "zz.spam"])
@pytest.mark.parametrize("shape", ["{}/p{}", "{}.s{:04}", "{}:{}/"])
def test_the_pages_of_one_site_take_no_words_away_from_others(spammer: str, shape: str, pages: int) -> None:
    honest = {f"example.news{number}": HONEST for number in range(40)}
    spam = {shape.format(spammer, 1 + number): f"fraud scam {number}" for number in range(pages)}
    found = anchors_of(honest | spam)
    assert HONEST in found
    assert len(found) <= ANCHORS


def test_each_of_many_sites_has_its_say_before_one_of_them_has_two() -> None:
    honest = {f"example.news{number}": f"word{number}" for number in range(30)}
    loud = {f"aa.loud/{number}": f"loud {number % 60}" for number in range(200)}
    found = anchors_of(honest | loud)
    assert set(honest.values()) <= set(found)
    assert len(found) == ANCHORS


def test_domains_whose_names_sort_first_cannot_own_what_is_read() -> None:
    spam = {f"com.aaa{number:05}": f"fraud {number}" for number in range(5_000)}
    honest = {f"com.{letters(number * 37)}{number}/": HONEST for number in range(400)}
    for name in range(5):
        assert HONEST in anchors_of(spam | honest, b"example.bank%d" % name)


def test_domains_on_both_sides_of_all_others_and_in_every_ending_cannot_own_what_is_read() -> None:
    spam = {f"{ending}.{side}{number:04}": f"fraud {number}" for ending in ("aa", "com", "cn", "co", "zz", "org")
            for side in ("aaa", "zzz") for number in range(200)}  # fmt: skip
    honest = {f"com.{letters(number * 37)}{number}/": HONEST for number in range(400)}
    for name in range(5):
        assert HONEST in anchors_of(spam | honest, b"example.bank%d" % name)


@pytest.mark.parametrize("count", [1, INLINKS_READ, INLINKS_READ + 1, 3_000])
def test_what_is_read_for_a_document_is_bounded(count: int) -> None:
    store = store_of({f"com.{letters(number * 7)}{number}/x": f"{number}" for number in range(count)})
    found = inlinks_of(store, BANK, count)
    assert store.scans <= 25
    assert store.cells <= 400
    assert found == sorted(set(found))
    assert len(found) == count if count <= INLINKS_READ else len(found) > 120


def test_a_domain_is_left_behind_without_losing_those_between_its_pages() -> None:
    sources = ["com.a", "com.a-b/x", "com.ab/x", "com.a0/x", "org.z", "net.1", "com"]
    many = [f"com.a{begin}{number}" for begin in (".www/", "/", ":81/", ".w") for number in range(100)]
    found = inlinks_of(store_of(dict.fromkeys([*sources, *many], "w")), BANK, len(sources) + len(many))
    told = {source.decode() for source, _ in found}
    assert set(sources) <= told
    assert {domain_of(Uri(source)) for source in told} == {domain_of(Uri(source)) for source in [*sources, *many]}


def test_the_document_follows_from_the_state_alone(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path / "row")

    def referring(host: str, words: str) -> Any:
        return load_page(RULES, RULES.identify(f"https://{host}/"), 1, [RawLink("https://bank.example/", words)], Doc())

    world.load(*(referring(f"{letters(number * 37)}.com", f"words {number % 70}") for number in range(700)))
    world.indexer.finish()
    assert world.held() == world.expected()
    world.load(*(referring(f"{letters(number)}.org", f"others {number}") for number in range(100)))
    world.indexer.finish()
    assert world.held() == world.expected()
    world.close()

"""Inputs as chunks bring them, and the round that applies some of them: real pages, records of links, markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

import msgspec

from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.dispatcher.link_records import NEW, LinkPhase, LinkRecord, uri_of_new
from weft.dispatcher.link_round import LinkRound
from weft.index.chunk_markers import ALL_IN, mark, read_markers
from weft.linkindex.cells import Cells
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.near_duplicates import near_cells
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.mgmt.values import ChunkId
from weft.model.url import UrlRules
from weft.store.api import Reader, Store
from weft.store.tables import Table

NOW: Final = 1_700_000_000_000
_RULES: Final = UrlRules()
_NAMES: Final = ("a.com/", "a.com/1", "www.a.com/2", "b.com/", "b.com/x?y=1", "c.co.uk/", "d.org:8080/", "a.com/3")
_LOW_WATER: Final = 2


@dataclass(frozen=True, slots=True)
class Input:
    """What one chunk brings: fetched pages, and domains of which a link is handed over."""

    id: ChunkId
    pages: tuple[LoadedPage, ...]
    given: tuple[bytes, ...]


def inputs_of(random: Random) -> list[Input]:
    return [_input(random, ChunkId(number)) for number in range(1, random.randrange(5, 13))]


def _input(random: Random, number: ChunkId) -> Input:
    pages = tuple(_page(random, number) for _ in range(random.randrange(1, 4)))
    given = tuple(page.domain for page in pages if random.random() < 0.3)
    return Input(number, pages, given)


def _page(random: Random, number: int) -> LoadedPage:
    name = random.choice(_NAMES)
    at = number if random.random() < 0.8 else random.randrange(1, 10)
    kind = random.random()
    if kind < 0.2:
        return _gone(name, at)
    targets = random.sample(_NAMES, random.randrange(0, len(_NAMES)))
    return _loaded(name, at, tuple((target, random.choice(("", "one", "two"))) for target in targets))


@cache
def _gone(name: str, at: int) -> LoadedPage:
    return load_gone(_RULES.identify(f"https://{name}"), at)


def _loaded(name: str, at: int, targets: tuple[tuple[str, str], ...]) -> LoadedPage:
    links = [RawLink(f"https://{target}", anchor) for target, anchor in targets]
    return load_page(_RULES, _RULES.identify(f"https://{name}"), at, links, Doc(title=f"{name} {at}"))


def new_index(store: Store) -> LinkIndex:
    return LinkIndex(store, IndexSettings(), ManualClock(NOW))


def missing(reader: Reader, inputs: Sequence[Input]) -> list[Input]:
    """Those that are not applied yet."""
    markers = read_markers(reader, [each.id for each in inputs])
    return [each for each, marker in zip(inputs, markers, strict=True) if marker is None]


def apply_inputs(index: LinkIndex, store: Store, inputs: Sequence[Input]) -> None:
    """One round, whose batch also marks the inputs as applied."""
    links = LinkRound(store, _LOW_WATER)
    for each in inputs:
        for page in each.pages:
            _note_fetch(links, page)
        for domain in each.given:
            _hand_over(links, store, domain)
    near: Cells = {}
    for link in links.changed():
        near |= near_cells(link.uri, link.before.simhash if link.before else 0, link.after.simhash)
    marks = {key: value for each in inputs for key, value in mark(each.id, ALL_IN).items()}
    index.apply([page for each in inputs for page in each.pages], {**links.cells(), **near, **marks})


def _note_fetch(links: LinkRound, page: LoadedPage) -> None:
    """As the builder does: the fetched link is due again, and links of the page become known."""
    found = list(zip(page.outlinks.domains, page.outlinks.targets, strict=True))
    records = links.read([(page.domain, page.uri), *found])
    known = records[0] or LinkRecord(url=_url(page.uri), discovered=page.version.fetched)
    fetched = max(known.fetched, page.version.fetched)
    simhash = 0 if page.is_gone else int.from_bytes(page.version.content[:2], "big") << 48 | fetched
    after = msgspec.structs.replace(known, phase=LinkPhase.DUE, due=fetched + 5, fetched=fetched, simhash=simhash)
    links.put(page.domain, page.uri, after)
    for place, record in zip(found, records[1:], strict=True):
        if record is None and place != (page.domain, page.uri):
            links.put(*place, LinkRecord(url=_url(place[1]), discovered=page.version.fetched, depth=1))


def _hand_over(links: LinkRound, store: Store, domain: bytes) -> None:
    """The first new link of the domain, as the store has it before this round."""
    for cell in store.scan(Table.LINKS, b"l:" + domain, NEW, limit=1):
        place = (domain, uri_of_new(cell.qualifier))
        record = links.read([place])[0]
        if record is not None and record.phase is LinkPhase.NEW:
            links.put(*place, msgspec.structs.replace(record, phase=LinkPhase.GIVEN))


def _url(uri: bytes) -> str:
    return f"https://{uri.decode()}"

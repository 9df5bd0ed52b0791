"""What an export gives, as plain rows; and an index in memory to export from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from weft.config.sections import IndexSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.export.columns import FIELDS
from weft.export.plan import plan
from weft.export.request import ExportRequest
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.domain import reversed_domain
from weft.model.url import UrlRules
from weft.store.api import Batch, Reader
from weft.store.memory import MemoryStore

RULES = UrlRules()
DAY = 86_400_000

Row = dict[str, Any]


def page(url: str, links: Iterable[tuple[str, ...]] = (), at: int = DAY, **doc: Any) -> LoadedPage:
    """A page with links, each a URL and perhaps its anchor and rel."""
    return load_page(RULES, RULES.identify(url), at, [RawLink(*link) for link in links], Doc(**doc))


def index_of(rounds: Iterable[Iterable[LoadedPage]], count: str = "all") -> MemoryStore:
    store = MemoryStore()
    index = LinkIndex(store, IndexSettings(count=count))
    for pages in rounds:
        index.apply(pages)
    return store


def fail_link(store: MemoryStore, url: str, **about: Any) -> None:
    """Have a crawl know a link that fails: since day 7, and to be tried again on day 9."""
    page_url, round_ = RULES.identify(url), LinkRound(store, 1)
    place = reversed_domain(page_url.domain).encode(), page_url.uri.encode()
    known = LinkRecord(url=url, phase=LinkPhase.DUE, due=9 * DAY, depth=2, fetched=8 * DAY, failing_since=7 * DAY)
    round_.read([place])
    round_.put(*place, msgspec.structs.replace(known, failures=2, **about))
    store.write(Batch(round_.cells()), store.last_seq + 1)


def rows_of(reader: Reader, request: ExportRequest, directory: Path) -> list[Row]:
    names = [field.name for field in FIELDS[request.subject]]
    return [
        dict(zip(names, values, strict=True))
        for block in plan(reader, request, directory).blocks
        for values in zip(*block.columns, strict=True)
    ]


@contextmanager
def small_blocks(rows: int, remembered: int = 2) -> Iterator[None]:
    """Blocks of few rows, so that a small index fills many."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("links", "pages", "plan"):
            patch.setattr(f"weft.export.{module}.BLOCK_ROWS", rows)
        patch.setattr("weft.export.urls.REMEMBERED", remembered)
        yield

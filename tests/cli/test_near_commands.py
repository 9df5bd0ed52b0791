"""`weft page` and `weft top --fold` of pages that say nearly the same."""

from __future__ import annotations

import json
from collections import ChainMap
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.config.sections import IndexSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.near_duplicates import near_cells
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.rocksdb import RocksStore

RULES = UrlRules()
SIMHASHES = {"https://a.com/1": 0b1111, "https://a.com/2": 0b1000, "https://a.com/3": 0b11111111 << 40}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    assert weft("init", cwd=tmp_path).returncode == 0
    with RocksStore(tmp_path / "weft-data/store") as store:
        links = LinkRound(store, 1)
        links.read([(b"com.a", RULES.identify(url).uri.encode()) for url in SIMHASHES])
        for url, simhash in SIMHASHES.items():
            record = LinkRecord(url=url, phase=LinkPhase.DUE, fetched=1, due=2, simhash=simhash)
            links.put(b"com.a", RULES.identify(url).uri.encode(), record)
        pages = [load_page(RULES, RULES.identify(url), 1, [RawLink("/1", "")], Doc()) for url in SIMHASHES]
        near = [near_cells(RULES.identify(url).uri.encode(), 0, simhash) for url, simhash in SIMHASHES.items()]
        LinkIndex(store, IndexSettings()).apply(pages, {**links.cells(), **dict(ChainMap(*near))})
    return tmp_path


def test_a_page_is_told_with_its_near_duplicates(place: Path) -> None:
    assert "near-duplicates: https://a.com/2 (distance 3)\n" in weft("page", "https://a.com/1", cwd=place).stdout
    assert "near" not in weft("page", "https://a.com/3", cwd=place).stdout
    told = json.loads(weft("page", "https://a.com/2", "--json", cwd=place).stdout)
    assert told["near"] == [{"uri": "com.a/1", "url": "https://a.com/1", "distance": 3}]


def test_a_listing_is_folded_on_request(place: Path) -> None:
    assert weft("top", cwd=place).stdout.count("https://") == 3
    told = weft("top", "--fold", cwd=place).stdout
    assert told.count("https://") == 2
    assert "https://a.com/1 (and 1 near-duplicates)" in told
    items = json.loads(weft("top", "--domain", "a.com", "--fold", "--json", cwd=place).stdout)["items"]
    assert [(item["url"], item["near"]) for item in items] == [
        ("https://a.com/1", ["https://a.com/2"]),
        ("https://a.com/3", []),
    ]

"""A home whose pages all get another version in each round; run as a program, a writer that goes on and on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from weft.config.sections import IndexSettings, StoreSettings
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.rocksdb import RocksStore

RULES = UrlRules()
URLS = [f"https://s{number % 40}.com/{number}" for number in range(600)]
REFERENCES = 60_000
SMALL = StoreSettings(write_buffer_bytes=1 << 20, wal_bytes=2 << 20)


def pages_of(version: int, urls: Sequence[str] = URLS) -> list[LoadedPage]:
    """Every anchor tells the version, and every version has other targets."""
    targets = [RawLink(f"https://t{version}.com/{number}", f"version {version}") for number in range(100)]
    return [load_page(RULES, RULES.identify(url), version, targets, Doc()) for url in urls]


def store_of(home: Path, version: int, urls: Sequence[str] = URLS) -> RocksStore:
    """Make a home, or write the next version of all its pages in one round; gives back the open store.

    Version n is written with seq n.
    """
    home.mkdir(exist_ok=True)
    (home / "weft.toml").touch()
    store = RocksStore(home / "store", SMALL)
    LinkIndex(store, IndexSettings(history=False)).apply(pages_of(version, urls))
    return store


def main() -> None:
    with RocksStore(Path(sys.argv[1]) / "store", SMALL) as store:
        index = LinkIndex(store, IndexSettings(history=False))
        while True:
            print(index.apply(pages_of(store.last_seq + 1)).seq, flush=True)


if __name__ == "__main__":
    main()

"""Rebuild and verify a million links with 16 MiB to sort in; print links, cells and the bytes that this took."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from random import Random

from support.small_webs import page, put_pages
from weft.config.sections import StoreSettings
from weft.linkindex.rebuild import rebuild
from weft.linkindex.verify import verify
from weft.store.rocksdb import RocksReader, RocksStore

MEMORY = 16 << 20
SMALL = StoreSettings(cache_bytes=8 << 20, write_buffer_bytes=4 << 20, wal_bytes=8 << 20)


def resident_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    place, random, links = Path(sys.argv[1]), Random(1), 0
    with RocksStore(place / "store", SMALL) as store:
        for seq in range(1, 43):
            pages = []
            for number in range(500):
                targets = {f"http://site{random.randrange(3000)}.com/{random.randrange(60)}.html" for _ in range(50)}
                links += len(targets)
                pages.append(page(f"http://site{number}.com/{seq}.html", *sorted(targets)))
            put_pages(store, pages, seq)
        before = resident_peak()
        rebuild(store, "all", place, memory=MEMORY, batch_bytes=1 << 20)
    with RocksReader(place / "store", SMALL) as reader:
        found = verify(reader, "all", place, memory=MEMORY)
    assert found.differences == 0, found.examples
    print(links, found.cells, resident_peak() - before)


if __name__ == "__main__":
    main()

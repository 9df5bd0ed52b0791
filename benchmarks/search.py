"""Full-text search: what a page costs, field by field, how soon it is found, how fast answers are, how much memory.

Run by `weft bench search`; `benchmarks/search.py PART…` runs some parts alone. Every contestant has a process of its
own. Pages are made up, except for `fields`: that takes the sets which `weft bench searchquality` keeps, if they are
there. `--quick` only shows that it works; `--few` asks 10,000 documents alone; `--long` builds and asks a million short
documents, where others are 100,000 of 5 KB, and crawls 50,000 pages, where others are 10,000.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from search_fields import fields_table, known_sets, measure_fields
from search_freshness import freshness_table, make_plan, meanwhile_table, measure_freshness, searches_meanwhile
from search_indexing import feed_table, indexing_table, measure_feed, measure_indexing
from search_memory import build_apart, memory_table
from search_queries import measure_queries, queries_table
from search_texts import LONG_TEXT, SHORT_TEXT, TextPlan

_LINKS = 10


def indexing(size: str, directory: Path) -> Iterator[str]:
    pages = 1000 if size == "quick" else 10_000
    yield from indexing_table(measure_indexing(TextPlan(pages), directory))
    yield from feed_table(measure_feed(TextPlan(min(pages, 5000)), directory, 1 if size == "quick" else 3))


def fields(size: str, directory: Path) -> Iterator[str]:
    cache = Path(os.environ.get("WEFT_BENCH_CACHE") or Path.home() / ".cache" / "weft-bench") / "searchquality"
    sets = known_sets(cache / ("quick" if size == "quick" else "full"), 20 if size == "quick" else 150)
    if not sets:
        yield "Left out: there are no pages of `weft bench searchquality`; run that first."
        return
    yield from fields_table(sets, measure_fields(sets))


def freshness(size: str, directory: Path) -> Iterator[str]:
    hosts, pages = {"quick": (20, 50), "long": (250, 200)}.get(size, (100, 100))
    for name in ("first", "second"):
        (directory / name).mkdir()
    yield from freshness_table(measure_freshness(make_plan(hosts, pages), directory / "first"))
    small = make_plan(20 if size == "quick" else 40, 50)
    yield from meanwhile_table(small, searches_meanwhile(small, directory / "second"))


def queries(size: str, directory: Path) -> Iterator[str]:
    few = TextPlan(1000 if size == "quick" else 10_000, LONG_TEXT, _LINKS)
    many = TextPlan(1_000_000, SHORT_TEXT, _LINKS // 2) if size == "long" else TextPlan(100_000, LONG_TEXT, _LINKS)
    for plan in (few,) if size in ("quick", "few") else (few, many):
        place = directory / str(plan.pages)
        place.mkdir()
        built = build_apart(plan, place)
        yield from memory_table(built)
        yield from queries_table(measure_queries(built, {"quick": 5, "long": 8}.get(size, 25)))
        shutil.rmtree(place)


PARTS: dict[str, Callable[[str, Path], Iterator[str]]] = {
    "indexing": indexing,
    "fields": fields,
    "freshness": freshness,
    "queries": queries,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all of them otherwise")
    options = parser.parse_args()
    size = next((name for name in ("quick", "few", "long") if getattr(options, name)), "")
    for name in options.parts or PARTS:
        if name not in PARTS:
            parser.error(f"no part is called {name}; expected any of {', '.join(PARTS)}")
        directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
        try:
            print(f"\n**{name}**\n", flush=True)
            for line in PARTS[name](size, directory):
                print(line, flush=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

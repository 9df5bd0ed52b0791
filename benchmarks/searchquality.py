"""How good are the answers? Known-item queries over real documentation, weft beside plain rankings.

Two sets of sites are made from packages that the usual clients fetch: `javadoc` (Guava, Lucene, HttpClient, Commons
Lang; by Maven) and `manuals` (Rust, Apache httpd, SQLite, Git; Debian packages. Debian's nginx-doc has no pages). Each
set is served on loopback and crawled into a home of its own. Queries are made from the pages automatically, as
`searchquality_queries` says; what is right is known, so nobody judges. Labels, and the texts that the other
contestants get, are read by weft's own HTML reader.

Half of the queries, chosen by a hash of their words, are `unseen`: look at the others while tuning, with `--tuning`,
which also keeps the rest off the screen; `--misses` lists queries without a right answer in first place, of the
tuning half only. 10 pages in 100 are left out of the index, and some queries are made of what those say.

Pages and homes are kept in WEFT_BENCH_CACHE, else ~/.cache/weft-bench, so that only the first run fetches and crawls;
`--fresh` makes them anew, as is necessary when weft's index has changed. `--quick` takes at most 60 pages of a site.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from searchquality_contestants import WEFT, Contestant, contestants, documents
from searchquality_crawl import crawl
from searchquality_packages import NotToBeHad
from searchquality_pages import read_pages
from searchquality_queries import Query, make_queries
from searchquality_scores import Outcome, Score, by_kind, rank_of, table, verdict
from searchquality_sites import SETS, PageSet, place_of, write_set

WANTED = 0.85
"""MRR@10 over all kinds that weft is to reach on the unseen half."""
OF_A_KIND = 150
_HALVES = {"tuning": False, "unseen": True}

Outcomes = dict[str, list[Outcome]]
"""By the name of the contestant."""


class SetHome(NamedTuple):
    """Where a set is kept: its pages, the home that they were crawled into, and the port in their URLs."""

    pages: Path
    home: Path
    port: Path


def prepared(wanted: PageSet, cache: Path, size: str, most_of_a_site: int, fresh: bool) -> SetHome:
    directory = cache / size / wanted.name
    made = SetHome(directory / "pages", directory / "home", directory / "port")
    if fresh:
        shutil.rmtree(directory, ignore_errors=True)
    if not made.pages.exists():
        write_set(wanted, cache / "packages", made.pages, most_of_a_site)
    if not made.port.exists():
        print(f"crawling {wanted.name}", file=sys.stderr)
        crawl(place_of(made.pages).served, made.home, made.port)
    return made


def asked(made: SetHome, of_a_kind: int) -> tuple[str, Outcomes]:
    """What the set is, in a sentence, and how every contestant did."""
    port, place = int(made.port.read_text()), place_of(made.pages)
    indexed, left_out = read_pages(place.served, port), read_pages(place.left_out, port)
    known = documents(made.home)
    missing = {page.uri for page in indexed} - {document.uri for document in known}
    queries = [one for one in make_queries(indexed, left_out, of_a_kind) if not one.right & missing]
    told = f"{len(indexed):,} pages served, {len(known):,} documents in the home, {len(left_out):,} pages left out"
    found = {one.name: _outcomes(one, queries) for one in contestants(made.home, known)}
    return told, found


def _outcomes(contestant: Contestant, queries: Sequence[Query]) -> list[Outcome]:
    return [Outcome(query, rank_of(contestant.ask(query.text), query.right)) for query in queries]


def _half(found: Outcomes, is_unseen: bool) -> dict[str, dict[str, Score]]:
    return {
        name: by_kind(one for one in outcomes if one.query.is_unseen == is_unseen) for name, outcomes in found.items()
    }


def _together(sets: dict[str, Outcomes]) -> Outcomes:
    names = next(iter(sets.values()))
    return {name: [one for found in sets.values() for one in found[name]] for name in names}


def _print_misses(found: Outcomes) -> None:
    best = WEFT if WEFT in found else next(iter(found))
    print(f"\nqueries of the tuning half without a right answer in first place, asked of {best}\n")
    for query, rank in found[best]:
        if rank != 1 and not query.is_unseen:
            print(f"{query.kind}, rank {rank or '-'}: {query.text} -> {' '.join(sorted(query.right))}")


def _save(sets: dict[str, Outcomes], halves: Sequence[str], file: Path) -> None:
    groups = {**sets, "both sets": _together(sets)}
    told = {
        half: {
            group: {
                name: {kind: one._asdict() for kind, one in scores.items()}
                for name, scores in _half(found, _HALVES[half]).items()
            }
            for group, found in groups.items()
        }
        for half in halves
    }
    file.write_text(json.dumps(told, indent=1) + "\n")


def _print(sets: dict[str, Outcomes], halves: Sequence[str]) -> None:
    for half in halves:
        for name, found in {**sets, "both sets": _together(sets)}.items():
            print(f"\n{name}, {half} half\n\n{table(_half(found, _HALVES[half]))}")
    if WEFT not in _together(sets):
        print("\nweft's own search is not there yet.")
    elif "unseen" in halves:
        faults = verdict(_half(_together(sets), is_unseen=True), WEFT, WANTED)
        print(
            "\n" + ("\n".join(faults) or f"weft is ahead of each for every kind and reaches MRR@10 {WANTED} over all.")
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few pages, to see that it works")
    parser.add_argument("--fresh", action="store_true", help="make pages and homes anew")
    parser.add_argument("--tuning", action="store_true", help="only the half that may be looked at")
    parser.add_argument("--misses", action="store_true", help="list misses of the tuning half")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write all scores as JSON")
    options = parser.parse_args()
    kept = Path(os.environ.get("WEFT_BENCH_CACHE") or Path.home() / ".cache" / "weft-bench") / "searchquality"
    size, most_of_a_site, of_a_kind = ("quick", 60, 20) if options.quick else ("full", 1_000_000, OF_A_KIND)
    sets: dict[str, Outcomes] = {}
    for wanted in SETS:
        try:
            made = prepared(wanted, kept, size, most_of_a_site, options.fresh)
        except NotToBeHad as error:
            print(error, file=sys.stderr)
            raise SystemExit(2) from None
        told, sets[wanted.name] = asked(made, of_a_kind)
        print(f"{wanted.name}: {told}")
    halves = ["tuning"] if options.tuning else list(_HALVES)
    _print(sets, halves)
    if options.misses:
        _print_misses(_together(sets))
    if options.save:
        _save(sets, halves, options.save)


if __name__ == "__main__":
    main()

"""`weft bench rules`: duplicates that the learned parameter rules avoid, and pages that they hide wrongly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rules_crawled import crawl
from rules_fingerprints import print_fingerprints
from rules_measuring import Measured
from rules_pairwise import Pairwise
from rules_simulation import SETTINGS, simulate
from weft.demo.web.patterns.catalogue import PATTERNS
from weft.demo.web.patterns.pattern import Pattern, Server

CRAWLED_SEED = 1
SEEDS = (1, 2, 3)
QUICK = ("print view", "session required", "pagination, page=1 default", "facets")


def crawl_all(server: Server) -> Measured:
    return simulate(server, replace(SETTINGS, learn_parameters=False))


def crawl_pairwise(server: Server) -> Measured:
    return Pairwise(server).run()


CRAWLS: dict[str, Callable[[Server], Measured]] = {
    "learned": simulate,
    "no filter": crawl_all,
    "pairwise": crawl_pairwise,
}


def main() -> None:
    is_quick = "--quick" in sys.argv
    patterns = [each for each in PATTERNS if not is_quick or each.name in QUICK]
    seeds = SEEDS[:1] if is_quick else SEEDS
    with TemporaryDirectory() as directory:
        crawled = crawl(patterns, CRAWLED_SEED, Path(directory))
    print(f"{len(patterns)} site patterns; fetches, least share of duplicates avoided, most pages lost")
    print(f"crawled: served and crawled by real processes, seed {CRAWLED_SEED}; the others in one process, {seeds=}")
    print("pairwise: one pair of equal texts and the parameter is left out on the whole domain\n")
    names = ["crawled", *CRAWLS]
    print(f"{'pattern':31}" + "".join(f"  {name:>23}" for name in names))
    print(f"{'':31}" + f"  {'fetches avoided   lost':>23}" * len(names))
    for pattern in patterns:
        results = [[crawled[pattern.host]]]
        results += [[run(pattern.server(seed)) for seed in seeds] for run in CRAWLS.values()]
        mark = "*" if pattern.exempt else ""
        print(f"{pattern.name + mark:31}" + "".join(_cell(pattern, found) for found in results), flush=True)
    print("\n* no bound on what is avoided:")
    for pattern in patterns:
        if pattern.exempt:
            print(f"  {pattern.name}: {pattern.exempt}")
    print_fingerprints(is_quick=is_quick)


def _cell(pattern: Pattern, results: list[Measured]) -> str:
    avoided = min(result.avoided for result in results)
    shown = f"{avoided:7.1%}" if pattern.has_duplicates else f"{'-':>7}"
    lost = max(result.wrong for result in results)
    return f"  {sum(result.fetched for result in results):8} {shown} {lost:6.1%}"


if __name__ == "__main__":
    main()

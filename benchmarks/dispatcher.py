"""The dispatcher: links accepted per second, and what a segment costs. Run by `weft bench dispatcher`.

*known*: as on a crawl that has been going on, where pages name mostly links that are known, a part of them seen lately.
*new*: every link is one that was never seen. Both with the batch written durably, as the index process does it, in
rounds of 2,000 pages' worth of links at most. The limit is the same number of cells, ready made, written by the store
alone. One process.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Stopwatch, disk_used
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.segment import choose
from weft.model.site import Site
from weft.store.api import Batch
from weft.store.rocksdb import RocksStore

ROUND = 20_000
"""Links that are offered together."""
DOMAINS = 200
NOW = 1_770_000_000_000
SETTINGS = DispatcherSettings()
SCOPE = Scope([Site(name="*", scope="any")], SETTINGS)


def found(number: int, random: random.Random) -> DiscoveredLink:
    """Link `number` of a web in which each domain has many."""
    site = number % DOMAINS
    path = f"/section{number % 31}/page-{number}.html"
    return DiscoveredLink(
        b"com.site%d" % site,
        f"com.site{site}{path}".encode(),
        f"https://site{site}.com{path}",
        random.randrange(1, 6),
        f"com.site{random.randrange(DOMAINS)}/",
    )


class Contest:
    """A store that links are offered to, round by round."""

    def __init__(self, place: Path) -> None:
        self.store = RocksStore(place / "store")
        self._discovery = Discovery(SETTINGS)
        self._random = random.Random(5)
        self._next = 0
        self.cells: list[dict[bytes, bytes | None]] = []

    def offer(self, links: list[DiscoveredLink]) -> None:
        round_ = LinkRound(self.store, SETTINGS.segment_size // 2)
        self._discovery.offer(round_, SCOPE, links, NOW)
        cells = round_.cells()
        self.cells = [*self.cells[-9:], cells]
        if cells:
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def new(self, rounds: int) -> Iterator[list[DiscoveredLink]]:
        for _ in range(rounds):
            self._next += ROUND
            yield [found(number, self._random) for number in range(self._next - ROUND, self._next)]

    def known(self, rounds: int) -> Iterator[list[DiscoveredLink]]:
        """Of 20 links one is new, six were found long ago, the others are those that every page of a site names."""
        for _ in range(rounds):
            begin, self._next = self._next, self._next + ROUND // 20
            fresh = range(begin, self._next)
            long_ago = [self._random.randrange(begin) for _ in range(6 * ROUND // 20)]
            lately = [begin - 1 - int(self._random.expovariate(1 / 5000)) % begin for _ in range(13 * ROUND // 20)]
            yield [found(number, self._random) for number in (*fresh, *long_ago, *lately)]

    def rates(self, rounds: Iterator[list[DiscoveredLink]]) -> tuple[float, float]:
        """Links per second, of the clock and of this process's CPU."""
        made = list(rounds)
        watch = Stopwatch()
        for links in made:
            self.offer(links)
        watch.stop()
        count = sum(map(len, made))
        return count / watch.wall, count / watch.cpu


def written_alone(cells: list[dict[bytes, bytes | None]], place: Path) -> float:
    """Seconds for cells that are ready."""
    with RocksStore(place / "alone") as store:
        watch = Stopwatch()
        for each in cells:
            store.write(Batch(dict(each)), store.last_seq + 1)
        return watch.elapsed


def segment_time(store: RocksStore) -> float:
    """Milliseconds to choose a segment."""
    times = []
    for domain in range(20):
        began = time.perf_counter()
        choose(store, LinkRound(store, 250), b"com.site%d" % domain, SETTINGS, NOW)
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    options = parser.parse_args()
    rounds = 3 if options.quick else 15
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        place = Path(directory)
        contest = Contest(place)
        contest.rates(contest.new(rounds))
        small = segment_time(contest.store)
        profile = cProfile.Profile()
        if options.profile:
            profile.enable()
        new = contest.rates(contest.new(rounds))
        cells = contest.cells
        known = contest.rates(contest.known(rounds))
        profile.disable()
        large = segment_time(contest.store)
        alone = written_alone(cells, place)
        print(f"{'links':<8} {'accepted/s':>12} {'a CPU second':>12}")
        for name, (wall, cpu) in (("known", known), ("new", new)):
            print(f"{name:<8} {wall:>12,.0f} {cpu:>12,.0f}")
        print(f"cells of new links alone: {len(cells) * ROUND / alone:,.0f} links/s")
        print(f"a segment of {SETTINGS.segment_size}: {small:.1f} ms, of domains twice as large: {large:.1f} ms")
        print(f"disk: {disk_used(place / 'store') / (2 * rounds * ROUND):,.0f} bytes a link")
        contest.store.close()
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()

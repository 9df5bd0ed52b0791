"""The pages that benchmarks load: 40 links each, to different targets drawn by Zipf's law, the same for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LINKS_PER_PAGE = 40
PAGES_PER_BATCH = 1000


@dataclass(frozen=True)
class Web:
    """A generated web of `pages` pages over pages / 50 sites; page n links to the same targets in every run."""

    pages: int
    seed: int = 1

    def uri(self, page: int) -> bytes:
        return b"com.site%05d.www/section%02d/page%07d.html" % (page % max(1, self.pages // 50), page % 37, page)

    def batches(self) -> Iterator[list[tuple[bytes, list[bytes]]]]:
        """Batches of (page's uri, its targets' uris)."""
        random = np.random.default_rng(self.seed)
        names = [self.uri(page) for page in range(self.pages)]
        shuffled = random.permutation(self.pages)
        for first in range(0, self.pages, PAGES_PER_BATCH):
            count = min(PAGES_PER_BATCH, self.pages - first)
            ranks = random.zipf(1.3, (count, 4 * LINKS_PER_PAGE)) % self.pages
            yield [
                (names[first + n], [names[target] for target in _distinct(shuffled[ranks[n]].tolist())])
                for n in range(count)
            ]


def _distinct(targets: list[int]) -> list[int]:
    return list(dict.fromkeys(targets))[:LINKS_PER_PAGE]

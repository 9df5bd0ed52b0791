"""Which resources a host has: numbers from 0 up, and what each of them is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import gcd
from typing import Final

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.kinds import SHARE_OF_KIND, PageKind
from weft.demo.web.definition.profile import Profile

BRANCHES: Final = 8
"""Children of a page in the tree that makes every page of a host reachable from its first."""
_CLOSED_SHARE: Final = 0.1
_ORPHAN_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Layout:
    """Numbers: first the `pages` of the tree, then the leaves (every other kind), then orphans.

    Each leaf is linked from one page of the tree at least; orphans stand in the sitemap alone.
    """

    pages: int
    kinds: tuple[PageKind, ...]
    ends: tuple[int, ...]
    orphans: int
    step: int

    @property
    def leaves(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def count(self) -> int:
        return self.pages + self.leaves + self.orphans

    def kind(self, number: int) -> PageKind:
        if number < self.pages:
            return PageKind.PAGE
        leaf = number - self.pages
        if leaf >= self.leaves:
            return PageKind.ORPHAN
        return self.kinds[bisect_right(self.ends, leaf)]

    def children(self, number: int) -> range:
        """Pages that the page `number` stands above."""
        return range(min(number * BRANCHES + 1, self.pages), min(number * BRANCHES + BRANCHES + 1, self.pages))

    def leaves_of(self, number: int) -> Iterator[int]:
        """The leaves that the page `number` links to for certain."""
        first, last = (-(-at * self.leaves // self.pages) for at in (number, number + 1))
        return (self.leaf(slot) for slot in range(first, last))

    def leaf(self, slot: int) -> int:
        """The leaf at `slot`, so that the kinds are mixed."""
        return self.pages + slot * self.step % self.leaves


def layout_by_seed(pages: int, profile: Profile, dice: Dice, *, has_closed: bool, has_sitemap: bool) -> Layout:
    wanted = {kind: _rounded(getattr(profile, share) * pages, dice) for kind, share in SHARE_OF_KIND.items()}
    if has_closed:
        wanted[PageKind.CLOSED] = max(1, _rounded(_CLOSED_SHARE * pages, dice))
        wanted[PageKind.OPENED] = 1
    present = {kind: number for kind, number in wanted.items() if number}
    leaves = sum(present.values())
    orphans = max(1, _rounded(_ORPHAN_SHARE * pages, dice)) if has_sitemap else 0
    return Layout(pages, tuple(present), tuple(accumulate(present.values())), orphans, _step(leaves))


def _rounded(number: float, dice: Dice) -> int:
    """Up or down by chance, so that small hosts get rare things too, now and then."""
    return int(number + dice.unit()) if number else 0


def _step(count: int) -> int:
    """A stride that visits every one of `count` slots."""
    step = int(count * 0.618) | 1
    while count and gcd(step, count) > 1:
        step += 1
    return step

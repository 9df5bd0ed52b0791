"""Rules with a star, found by a few bytes that their URLs must contain, so that only likely ones are tried."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from weft.robots.match_steps import MatchSteps, TooManySteps
from weft.robots.packed_bytes import PackedBytes
from weft.robots.pattern import END, STAR, least_length, matches

_SIZE: Final = (0, 1, 2, 2, 4, 4, 4, 4, 8)
"""How many bytes of a piece are taken, by its length."""
_SIZES: Final = frozenset(_SIZE) - {0}
_LARGEST: Final = 8
_ENDING: Final = 6
"""Bytes with an END fit at one place of a target alone: they are as good as 64 times rarer ones."""
_MOST_PIECES: Final = 16
"""Pieces of a rule, first and last ones, that are looked at when its bytes are chosen."""
_FEW: Final = 16
"""So many rules are all tried: looking for their bytes takes longer."""


class RankedPattern(NamedTuple):
    rank: int
    """0 is the strongest."""
    pattern: bytes


class WildcardRules:
    """Patterns, strongest first, with a hash table over their rarest bytes.

    Of each pattern the end or beginning of a piece is chosen that the fewest others have: a URL that lacks these bytes
    cannot match. Python's hash of bytes is salted, so nobody can write a file whose bytes share one place.
    """

    __slots__ = ("_hashes", "_least", "_mask", "_next", "_patterns", "_places", "_ranks", "_sizes")

    def __init__(self, ranked: Sequence[RankedPattern]) -> None:
        patterns = [each.pattern for each in ranked]
        self._patterns = PackedBytes(patterns)
        self._ranks = array("I", (each.rank for each in ranked))
        self._least = array("I", map(least_length, patterns))
        self._mask = (1 << (2 * len(patterns)).bit_length()) - 1
        # Patterns are numbered from 1 here; 0 ends the chain of those that share a place.
        self._places, self._next, self._hashes = array("I"), array("I", [0]), array("I", [0])
        self._sizes: tuple[int, ...] = ()
        if len(patterns) > _FEW:
            self._index(patterns)

    @property
    def size(self) -> int:
        """Bytes of memory."""
        arrays = (self._ranks, self._least, self._places, self._next, self._hashes)
        return self._patterns.size + sum(len(each) * each.itemsize for each in arrays)

    def strongest(self, target: bytes, weaker_than: int, steps: MatchSteps) -> int:
        """The rank of the strongest rule that matches a target, with its END, if it is below `weaker_than`.

        Else `weaker_than` itself. Raises TooManySteps.
        """
        length = len(target)
        for number in self._likely(target, steps):
            if self._ranks[number] >= weaker_than:
                break
            if self._least[number] <= length and matches(self._patterns[number], target, steps):
                return self._ranks[number]
        return weaker_than

    def _likely(self, target: bytes, steps: MatchSteps) -> Sequence[int]:
        """The patterns that a target may match, strongest first."""
        if not self._sizes:
            return range(len(self._ranks))
        found = list[int]()
        for size in self._sizes:
            for hashed in {_hash(target[at : at + size]) for at in range(len(target) - size + 1)}:
                number = self._places[hashed & self._mask]
                while number:
                    if self._hashes[number] == hashed:
                        found.append(number - 1)
                        if len(found) > steps.left:
                            raise TooManySteps
                    number = self._next[number]
        steps.spend(len(found))
        return sorted(found)

    def _index(self, patterns: list[bytes]) -> None:
        choices = list(map(_bytes_of, patterns))
        commonness = _commonness(Counter(chain.from_iterable(choices)))
        self._places = array("I", bytes(4 * (self._mask + 1)))
        sizes = set[int]()
        for number, choice in enumerate(choices, 1):
            rarest = min(choice, key=commonness.__getitem__)
            sizes.add(len(rarest))
            hashed = _hash(rarest)
            self._hashes.append(hashed)
            self._next.append(self._places[hashed & self._mask])
            self._places[hashed & self._mask] = number
        self._sizes = tuple(sizes)


def _hash(some: bytes) -> int:
    return hash(some) & 0xFFFF_FFFF


def _bytes_of(pattern: bytes) -> list[bytes]:
    """What a target must contain: the beginnings and ends of the pattern's pieces, in the sizes that are looked for."""
    pieces = pattern.split(STAR)
    if len(pieces) > _MOST_PIECES:
        pieces = pieces[: _MOST_PIECES // 2] + pieces[-_MOST_PIECES // 2 :]
    found = list[bytes]()
    for piece in pieces:
        length = len(piece)
        if length in _SIZES:
            found.append(piece)
        elif length:
            size = _SIZE[length] if length < _LARGEST else _LARGEST
            found += (piece[:size], piece[-size:])
    return found


def _commonness(counts: Counter[bytes]) -> dict[bytes, int]:
    """Orders bytes: the fewer patterns have them the lower, and of two equal ones the longer is lower."""
    return {some: ((count >> _ENDING if END in some else count) << 4) - len(some) for some, count in counts.items()}

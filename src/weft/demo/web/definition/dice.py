"""Numbers that a key decides: the same key gives the same numbers, in any order of asking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import shake_128
from itertools import chain, count, islice
from struct import Struct
from typing import Final, TypeVar

from xxhash import xxh3_64_intdigest

Item = TypeVar("Item")

_PACKED: Final = Struct("<qqq")
_NUMBERS: Final = Struct("<256I")
_UNIT: Final = 2.0**-32


def mixed(seed: int, first: int, second: int, salt: int = 0) -> int:
    """64 bits for one question; where a question needs many numbers, take Dice."""
    return xxh3_64_intdigest(_PACKED.pack(first, second, salt), seed)


def share_of(bits: int) -> float:
    """The low 32 of `bits` as a number from 0 up to 1."""
    return (bits & 0xFFFFFFFF) * _UNIT


class Dice:
    """An endless stream of numbers for one key."""

    __slots__ = ("_numbers",)

    def __init__(self, *key: int | str) -> None:
        self._numbers = _stream(repr(key).encode())

    def bits(self) -> int:
        """32 random bits."""
        return next(self._numbers)

    def unit(self) -> float:
        return next(self._numbers) * _UNIT

    def below(self, limit: int) -> int:
        return next(self._numbers) * limit >> 32

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + (next(self._numbers) * (high - low + 1) >> 32)

    def chance(self, share: float) -> bool:
        return next(self._numbers) * _UNIT < share

    def pick(self, items: Sequence[Item]) -> Item:
        return items[next(self._numbers) * len(items) >> 32]

    def picks(self, items: Sequence[Item], count: int) -> list[Item]:
        length = len(items)
        return [items[number * length >> 32] for number in islice(self._numbers, count)]

    def zipf(self, limit: int) -> int:
        """A rank below `limit`; rank r comes about as often as 1 / (r + 1)."""
        return int((limit + 1) ** (next(self._numbers) * _UNIT)) - 1


def _stream(key: bytes) -> Iterator[int]:
    # Without a generator: the next number then costs no Python frame.
    return chain.from_iterable(map(partial(_block, key), count()))


def _block(key: bytes, turn: int) -> tuple[int, ...]:
    return _NUMBERS.unpack(shake_128(b"%s %d" % (key, turn)).digest(_NUMBERS.size))

"""What a key allows, as a test and in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from weft.config.text import quoted

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB
DAY = 86_400


class Allowed(Protocol):
    def holds(self, value: Any) -> bool:
        """Tell whether one value (one item of a list, one pair of a table) is allowed."""

    def words(self, unit: str) -> str:
        """What is expected: of a number the range and unit, of a text everything."""


class Between(NamedTuple):
    low: float
    high: float

    def holds(self, value: float) -> bool:
        # NaN compares false with everything, so it is refused here as well.
        return self.low <= value <= self.high

    def words(self, unit: str) -> str:
        if unit == "bytes":
            return f"{_size(self.low)} to {_size(self.high)}, in bytes"
        return f"{self.low} to {self.high} {unit}".rstrip()


class OneOf(NamedTuple):
    choices: tuple[str, ...]

    def holds(self, value: str) -> bool:
        return value in self.choices

    def words(self, unit: str) -> str:
        return "one of " + ", ".join(quoted(choice) for choice in self.choices)


class Matching(NamedTuple):
    """`fits` judges one text, one item of a list, or one (name, value) pair of a table."""

    expected: str
    fits: Callable[[Any], bool]

    def holds(self, value: object) -> bool:
        return self.fits(value)

    def words(self, unit: str) -> str:
        return self.expected


def _size(count: float) -> str:
    for name, size in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if count >= size and count % size == 0:
            return f"{int(count // size)} {name}"
    return str(count)

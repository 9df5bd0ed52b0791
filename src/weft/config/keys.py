"""Declaring a setting: its type, its default, what it allows, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from weft.config.text import quoted

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB
DAY = 86_400

FACTS = "facts"


class TextTable(Mapping[str, str]):
    """An immutable mapping that keeps its order.

    It can be hashed and pickled, so that Settings can be sent to another process.
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._pairs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs.items()))

    def __repr__(self) -> str:
        return f"TextTable({self._pairs!r})"


Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | TextTable
T = TypeVar("T", bound=Value)


class Kind(Enum):
    """The type of a setting; the value is the annotation that declares it."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    TEXT = "str"
    INTS = "tuple[int, ...]"
    TEXTS = "tuple[str, ...]"
    TABLE = "TextTable"


_KIND_WORDS = {
    Kind.BOOL: "true or false",
    Kind.INT: "an integer",
    Kind.FLOAT: "a number",
    Kind.TEXT: "text",
    Kind.INTS: "a list of integers",
    Kind.TEXTS: "a list of texts",
    Kind.TABLE: "a table of texts",
}
_NUMBERS = {Kind.INT, Kind.FLOAT, Kind.INTS}


class Allowed(Protocol):
    def holds(self, value: Any) -> bool:
        """Tell whether one value (one item of a list, one pair of a table) is allowed."""

    def words(self, unit: str) -> str:
        """What is expected: the range and unit of a number, the whole description of a text."""


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
    """`fits` checks one text, one item of a list, or one (name, value) pair of a table."""

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


@dataclass(frozen=True, slots=True)
class Facts:
    meaning: str
    allowed: Allowed | None = None
    unit: str = ""
    mask: Callable[[str], str] | None = None
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting, `section.field`, with the facts declared for it."""

    section: str
    field: str
    kind: Kind
    default: Value
    facts: Facts

    @property
    def name(self) -> str:
        return f"{self.section}.{self.field}"

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return f"WEFT_{self.section}_{self.field}".upper()

    @property
    def expected(self) -> str:
        """What a value must be, with its unit; the words that follow "expected" in a sentence."""
        if self.facts.allowed is None:
            return _KIND_WORDS[self.kind]
        words = self.facts.allowed.words(self.facts.unit)
        return f"{_KIND_WORDS[self.kind]} from {words}" if self.kind in _NUMBERS else words


def key(
    default: T,
    meaning: str,
    allowed: Allowed | None = None,
    unit: str = "",
    *,
    mask: Callable[[str], str] | None = None,
    reader: str = "",
) -> T:
    """Declare a setting in a section's dataclass. `reader` is for a key that others read than the section names."""
    facts = Facts(meaning, allowed, unit, mask, reader)
    # A value that is masked when shown must not slip out through repr() either.
    return field(default=default, repr=mask is None, metadata={FACTS: facts})

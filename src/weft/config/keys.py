"""What is known about one setting, and how a section declares it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from weft.config.allowed import Allowed
from weft.config.text_table import TextTable

Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | TextTable
T = TypeVar("T", bound=Value)

FACTS = "facts"


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


@dataclass(frozen=True, slots=True)
class Facts:
    meaning: str
    allowed: Allowed | None = None
    unit: str = ""
    mask: Callable[[str], str] | None = None
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: `section.field`, its type and default, and the facts declared with it."""

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
        """What a value must be, with its unit, as the object of "expected"."""
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
    """Declare a setting in a section's dataclass; without a `reader` the section's own reads it."""
    facts = Facts(meaning, allowed, unit, mask, reader)
    # A value that is masked when shown must not slip out through repr() either.
    return field(default=default, repr=mask is None, metadata={FACTS: facts})

"""Positions in a source: where a line or record begins, and where reading broke off."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from weft.errors import WeftError


class SourceUnit(StrEnum):
    """What a source is made of."""

    LINE = "line"
    RECORD = "record"


class SourcePosition(NamedTuple):
    """The beginning of a line or record, as its reader counts: reading can resume there.

    Of a line, `offset` is its byte in what the file unpacks to. Of a record, `offset` is the byte of the file as it is
    stored at which a gzip member or zstd frame begins, and `within` counts the unpacked bytes from there on.
    """

    number: int
    """From 1."""
    offset: int
    within: int = 0

    def in_words(self, unit: SourceUnit) -> str:
        """The place in words."""
        if unit is SourceUnit.LINE:
            return f"line {self.number} (byte {self.offset:,} unpacked)"
        return f"record {self.number} (byte {self.offset:,}{f' + {self.within:,} unpacked' if self.within else ''})"


BEGINNING: Final = SourcePosition(1, 0)


class SourceDamaged(WeftError):  # noqa: N818 - the file's state, not a fault of ours
    """A source that cannot be read to its end; every whole line or record before the break was given out."""

    def __init__(self, source: str, unit: SourceUnit, reached: SourcePosition, problem: str) -> None:
        super().__init__(f"{source}: {problem}; read up to {reached.in_words(unit)}")
        self.source, self.reached, self.problem = source, reached, problem


def problem_of(error: Exception) -> str:
    """Why a file could not be read or unpacked."""
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or error}"
    return str(error) if isinstance(error, EOFError) else f"it is damaged: {error}"

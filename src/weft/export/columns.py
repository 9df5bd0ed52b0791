"""Rows in columns: which ones each subject has, and some rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.export.request import Subject


class ColumnKind(Enum):
    """What the values of a column are; None where there is none."""

    TEXT = auto()
    COUNT = auto()
    TRUTH = auto()
    MOMENT = auto()
    """Milliseconds since 1970, UTC."""


class Field(NamedTuple):
    name: str
    kind: ColumnKind = ColumnKind.TEXT


FIELDS: Final = {
    Subject.LINKS: (
        Field("source_uri"),
        Field("source_url"),
        Field("target_uri"),
        Field("target_url"),
        Field("anchor"),
        Field("rel"),
        Field("since", ColumnKind.MOMENT),
        Field("source_domain"),
        Field("target_domain"),
    ),
    Subject.PAGES: (
        Field("uri"),
        Field("url"),
        Field("domain"),
        Field("references", ColumnKind.COUNT),
        Field("score", ColumnKind.COUNT),
        Field("crawled", ColumnKind.TRUTH),
        Field("state"),
        Field("reason"),
        Field("failing_since", ColumnKind.MOMENT),
        Field("fetched", ColumnKind.MOMENT),
        Field("next_due", ColumnKind.MOMENT),
        Field("status", ColumnKind.COUNT),
        Field("type"),
        Field("bytes", ColumnKind.COUNT),
        Field("depth", ColumnKind.COUNT),
        Field("redirect"),
        Field("canonical"),
        Field("robots"),
        Field("title"),
        Field("h1"),
        Field("language"),
        Field("description"),
        Field("outlinkcount", ColumnKind.COUNT),
        Field("left_out", ColumnKind.COUNT),
    ),
    Subject.DOMAINS: (
        Field("domain"),
        Field("pagecount", ColumnKind.COUNT),
        Field("references", ColumnKind.COUNT),
    ),
}


class Coded:
    """A column in which values repeat: each of them once, and for every row which one it is."""

    __slots__ = ("codes", "values")

    def __init__(self, values: Sequence[str], codes: NDArray[np.intp]) -> None:
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Coded:
        return Coded(self.values, self.codes[rows])

    def __iter__(self) -> Iterator[str]:
        return map(self.values.__getitem__, self.codes.tolist())


Column: TypeAlias = Sequence[Any] | Coded


class Block(NamedTuple):
    """Some rows, spread over columns in the order of FIELDS."""

    columns: Sequence[Column]
    done: int
    """Rows that were looked at to make these, also those that were left out."""

    @property
    def rows(self) -> int:
        return len(self.columns[0])

    def first(self, rows: int) -> Block:
        return Block([column[:rows] for column in self.columns], self.done)

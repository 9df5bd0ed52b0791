"""Every statement of the cluster, prepared here and nowhere else.

A write without a timestamp takes the clock's, which is above every seq: it would hide a cell for good. So all writes
are made here, `USING TIMESTAMP` the seq of their batch. Puts are UPDATEs, which leave no marker of the row behind, so
that a delete of the row takes all of it.
"""

# ruff: noqa: S608 - texts of our own; values are bound

from __future__ import annotations

import re
from enum import Enum
from typing import Final

_CELL: Final = "WHERE base = ? AND shard = ? AND row = ? AND column = ?"
_ROW: Final = "WHERE base = ? AND shard = ? AND row = ?"
_PART: Final = "WHERE base = ? AND shard = ?"
_FOUND: Final = "SELECT row, column, value, WRITETIME(value) FROM"
_RANKED: Final = "SELECT band, name, count, value, WRITETIME(count) FROM ranking"
_RANKING: Final = "WHERE base = ? AND shard = ? AND list = ? AND domain = ?"
_BACKWARDS: Final = "ORDER BY row DESC, column DESC"
_RANKS_BACKWARDS: Final = "ORDER BY list DESC, domain DESC, band ASC, name DESC"
_TABLE: Final = re.compile(r"\b(UPDATE|FROM) (\w+)")


class Statement(Enum):
    """By name; the text is prepared when it is first used."""

    # Writes. The driver fills in the question marks in their order.
    PUT_CELL = f"UPDATE cells USING TIMESTAMP ? SET value = ? {_CELL}"
    DELETE_CELL = f"DELETE FROM cells USING TIMESTAMP ? {_CELL}"
    PUT_HISTORY = f"UPDATE history USING TIMESTAMP ? AND TTL ? SET value = ? {_CELL}"
    DELETE_HISTORY = f"DELETE FROM history USING TIMESTAMP ? {_CELL}"
    PUT_RANK = f"UPDATE ranking USING TIMESTAMP ? SET count = ?, value = ? {_RANKING} AND band = ? AND name = ?"
    DELETE_RANK = f"DELETE FROM ranking USING TIMESTAMP ? {_RANKING} AND band = ? AND name = ?"

    # Reads. Everywhere the upper end of a range is not part of it.
    GET_CELLS = f"{_FOUND} cells {_PART} AND (row, column) IN ?"
    GET_HISTORY = f"{_FOUND} history {_PART} AND (row, column) IN ?"
    SCAN_CELLS = f"{_FOUND} cells {_ROW} AND column >= ? AND column < ?"
    SCAN_CELLS_BACKWARDS = f"{_FOUND} cells {_ROW} AND column >= ? AND column < ? {_BACKWARDS}"
    SCAN_HISTORY = f"{_FOUND} history {_ROW} AND column >= ? AND column < ?"
    SCAN_HISTORY_BACKWARDS = f"{_FOUND} history {_ROW} AND column >= ? AND column < ? {_BACKWARDS}"
    WALK_CELLS = f"{_FOUND} cells {_PART} AND row >= ? AND row < ?"
    WALK_CELLS_BACKWARDS = f"{_FOUND} cells {_PART} AND row >= ? AND row < ? {_BACKWARDS}"
    WALK_HISTORY = f"{_FOUND} history {_PART} AND row >= ? AND row < ?"
    WALK_HISTORY_BACKWARDS = f"{_FOUND} history {_PART} AND row >= ? AND row < ? {_BACKWARDS}"
    # A whole table, a piece of the ring after the other.
    WALK_RANKS = (
        "SELECT domain, name, count, value, WRITETIME(count) FROM ranking "
        "WHERE token(base, shard) > ? AND token(base, shard) <= ?"
    )
    ANY_CELL = "SELECT base FROM cells LIMIT 1"
    ANY_HISTORY = "SELECT base FROM history LIMIT 1"
    ANY_RANK = "SELECT base FROM ranking LIMIT 1"
    ROWS_OF_CELLS = f"SELECT row FROM cells {_PART} AND row >= ? AND row < ? GROUP BY row"
    ROWS_OF_HISTORY = f"SELECT row FROM history {_PART} AND row >= ? AND row < ? GROUP BY row"
    # Bands fall: what is further on in a ranking has a smaller count.
    SCAN_RANKS = f"{_RANKED} {_RANKING}"
    SCAN_RANKS_FROM = f"{_RANKED} {_RANKING} AND band <= ?"
    SCAN_RANKS_BACKWARDS = f"{_RANKED} {_RANKING} {_RANKS_BACKWARDS}"
    SCAN_RANKS_BACKWARDS_FROM = f"{_RANKED} {_RANKING} AND band >= ? {_RANKS_BACKWARDS}"
    SCAN_BAND_FROM = f"{_RANKED} {_RANKING} AND band = ? AND name >= ?"
    SCAN_BAND_BACKWARDS_FROM = f"{_RANKED} {_RANKING} AND band = ? AND name <= ? {_RANKS_BACKWARDS}"
    RANKED_DOMAINS = "SELECT domain FROM ranking GROUP BY base, shard, list, domain"


WRITES: Final = tuple(each for each in Statement if not each.value.startswith("SELECT"))

ANY_ROW: Final = (Statement.ANY_CELL, Statement.ANY_HISTORY, Statement.ANY_RANK)
"""Find something in a store that is not empty."""


def text_of(statement: Statement, keyspace: str) -> str:
    """With the keyspace before its table: the cluster warns of statements that leave it to the connection."""
    return _TABLE.sub(rf"\1 {keyspace}.\2", statement.value)

"""Relation `clock`: the newest moment that a call was made at, by which a clock that was set back is noticed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from weft.mgmt.rules.clock_jumps import has_gone_back, is_to_be_noted, told_jump
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import ClockJump

log = logging.getLogger(__name__)

T = TypeVar("T")

MENDING: Final = 4

_CLOCK: Final = "SELECT newest, back_by, back_at FROM clock"
_NOTE: Final = "UPDATE clock SET newest = :now WHERE newest < :now"
_JUMPED: Final = "UPDATE clock SET newest = :now, back_by = :by, back_at = :now"

_CUT: Final = (
    """UPDATE pending_host SET ready_at = :now + ready_at - set_at, set_at = :now,
        asked_until = CASE WHEN asked_until > set_at THEN :now + asked_until - set_at ELSE 0 END WHERE set_at > :now""",
    "UPDATE wanted SET asked = :now WHERE asked > :now",
    "UPDATE address SET expires = :now + expires - set_at, set_at = :now WHERE set_at > :now",
    "UPDATE robots SET expires = :now + expires - fetched, fetched = :now WHERE fetched > :now",
    "UPDATE host SET seen = :now WHERE seen > :now",
)
"""Every wait that is stored here; a lease is one, counted from the last heartbeat."""


class ClockWentBack(Exception):  # noqa: N818 - the waits are cut and the call is repeated; nobody outside sees it
    """This call would be the first one after the clock was set back."""


def in_time(tx: Transaction, work: Callable[[Transaction], T]) -> T:
    """Do `work` unless the clock was set back; then nothing is done and ClockWentBack is raised."""
    newest, _, _ = tx.rows(_CLOCK)[0]
    if has_gone_back(newest, tx.now):
        raise ClockWentBack
    answer = work(tx)
    if is_to_be_noted(newest, tx.now):
        # Last: whoever has this row locked waits for nobody.
        tx.run(_NOTE, now=tx.now)
    return answer


def cut_waits(tx: Transaction) -> int:
    """Cut all waits that were set in what is the future now; returns how far the clock went back, 0: it did not."""
    tx.serialise(MENDING)
    newest, _, _ = tx.rows(_CLOCK)[0]
    if not has_gone_back(newest, tx.now):
        return 0
    for sql in _CUT:
        tx.run(sql, now=tx.now)
    tx.run(_JUMPED, now=tx.now, by=newest - tx.now)
    return int(newest - tx.now)


def jump(tx: Transaction) -> ClockJump | None:
    newest, by, at = tx.rows(_CLOCK)[0]
    return told_jump(newest, ClockJump(by=by, at=at or None), tx.now)

"""What happened in histories, so that a test can say that enough of it did."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class Happening(StrEnum):
    HISTORY = "histories"
    STEP = "steps"
    ROUND = "rounds"
    TAKEOVER = "takeovers"
    KILL = "kills"
    KILL_IN_BATCH = "kills while a batch was sent"
    STOP = "processes stopped for longer than their lease"
    STOP_IN_BATCH = "of these, while they sent a batch"
    STOP_FOR_LONG = "of these, for longer than deletes are kept"
    CUT_OFF = "owners whose heartbeats were lost while they ran"
    ZOMBIE_WRITE = "requests of owners that were replaced"
    REPLACED = "registrations refused to them"
    TIMEOUT = "writes without an answer"
    LATE_WRITE = "late writes"
    LATE_AFTER_TAKEOVER = "of these, after the next takeover"
    LOST_WRITE = "writes that a replica never got"
    READ_REPAIR = "rows repaired by reads"
    PURGE = "purged deletes"
    UNKNOWN_COMMIT = "unknown commits"
    LATE_COMMIT = "of these, committed later"
    AWAY = "times that the control plane was away"
    GIVEN_UP = "batches given up in part"
    WENT_ON = "owners that went on after an error"
    HOLD = "holds that held still"
    HOLD_COMPLETED = "of these, with a batch that the holder completed"
    HOLD_LOST = "holds that ended too early"


Tally = Counter[Happening]

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
    ZOMBIE = "zombies"
    ZOMBIE_IN_BATCH = "zombies stopped while they sent a batch"
    ZOMBIE_WRITE = "requests written by owners that were replaced"
    REPLACED = "registrations refused"
    TIMEOUT = "writes without an answer"
    LATE_WRITE = "late writes"
    LATE_AFTER_TAKEOVER = "late writes of an earlier owner"
    LOST_WRITE = "writes that a replica never got"
    READ_REPAIR = "rows repaired by reads"
    PURGE = "purged deletes"
    UNKNOWN_COMMIT = "unknown commits"
    LATE_COMMIT = "commits that happened later"
    AWAY = "times that the control plane was away"
    GIVEN_UP = "batches given up in part"
    TAKEN_ANEW = "takeovers by a process that went on"


Tally = Counter[Happening]

"""Why a line or record of a source is skipped."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from weft.errors import WeftError


class SkipReason(StrEnum):
    """Why a line or record was skipped, in a word or two; what is counted."""

    HEAD = "bad head"
    LENGTH = "wrong length"
    SEGMENT = "segment"
    DAMAGED = "damaged"
    TOO_LARGE = "too large"
    JSON = "not JSON"
    FIELD = "bad field"
    URL = "bad URL"
    TIME = "bad time"
    RESPONSE = "not HTTP"
    ENCODING = "bad encoding"
    BOMB = "bomb"
    SLOW = "too slow"
    MEMORY = "too much memory"
    CRASH = "crash"


class Refused(NamedTuple):
    reason: SkipReason
    why: str
    """One clause: what is wrong, and what was expected."""


class PageRefused(WeftError):  # noqa: N818 - an answer about the line or record, not a fault
    """A line or record that gives no page; the sentence is one clause: what is wrong, and what was expected."""

    def __init__(self, reason: SkipReason, why: str) -> None:
        super().__init__(why)
        self.reason, self.why = reason, why

"""A record on its way from the archive to a page, and why it may give none."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from weft.errors import WeftError


class ArchiveRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A whole record of a kind that may describe a page."""

    kind: str
    uri: str
    date: str
    media: str
    """Content type of the block."""
    is_cut: bool
    """Whether whoever wrote it left out a part of the content."""
    body: bytes


class Reason(StrEnum):
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
    LINKS = "too many links"
    RESPONSE = "not HTTP"
    ENCODING = "bad encoding"
    BOMB = "bomb"
    SLOW = "too slow"
    MEMORY = "too much memory"
    CRASH = "crash"


class Refused(NamedTuple):
    reason: Reason
    why: str
    """One clause: what is wrong, and what was expected."""


class PageRefused(WeftError):  # noqa: N818 - an answer about the line or record, not a fault
    """A line or record that gives no page; the sentence is one clause: what is wrong, and what was expected."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(why)
        self.reason, self.why = reason, why

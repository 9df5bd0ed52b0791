"""Following the history: every change once, oldest first, from a mark on."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from weft.answers.history import BatchReader, Entry, change_item, entries_after, place, with_urls
from weft.answers.objects import ChangeItem
from weft.answers.view import View
from weft.errors import UsageError
from weft.linkindex.changes import newest_first, seq_of

_FORM: Final = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,9}))?", re.ASCII)


class ChangesAfter(msgspec.Struct, frozen=True, kw_only=True):
    """What changed after a mark, oldest first."""

    seq: int
    items: list[ChangeItem]
    marks: list[str]
    """The mark behind each item, for those who may be interrupted between two items."""
    mark: str
    """The mark behind all of them."""
    more: bool
    """Whether there is more by now: ask again at once."""


class _Mark(NamedTuple):
    """Everything up to here was seen. Within a batch, changes are numbered from the newest one, which has 0."""

    seq: int
    number: int = 0

    @classmethod
    def read(cls, text: str) -> _Mark:
        found = _FORM.fullmatch(text)
        if found is None:
            raise UsageError(f"{text!r} is not a mark; use the `mark` of an earlier answer")
        return cls(int(found[1]), int(found[2] or 0))

    @classmethod
    def behind(cls, entry: Entry) -> _Mark:
        return cls(seq_of(entry.key[:-4]), int.from_bytes(entry.key[-4:], "big"))

    @property
    def text(self) -> str:
        return f"{self.seq}.{self.number}" if self.number else str(self.seq)

    @property
    def key(self) -> bytes:
        return place(newest_first(self.seq), self.number)


def changes_after(view: View, batches: BatchReader, text: str | None, limit: int) -> ChangesAfter:
    """Behind the mark `text`, or from now on. `batches` should be the same each time: a large batch is told in many
    answers."""
    seq = view.seq
    mark = _Mark(seq) if text is None else _Mark.read(text)
    # Nothing is read while nothing is written: those who follow ask every moment. A mark may also be ahead of this
    # view, if it comes from one that was refreshed later.
    if mark.seq > seq or mark == _Mark(seq):
        return ChangesAfter(seq=seq, items=[], marks=[], mark=mark.text, more=False)
    found = list(islice(entries_after(view.reader, mark.key, batches), limit + 1))
    told = found[:limit]
    marks = [_Mark.behind(entry) for entry in told]
    has_more = len(found) > limit
    # A view that is refreshed meanwhile, by another thread, may have told of a later batch than `seq`.
    ends_at_item = has_more or (marks and marks[-1].seq > seq)
    return ChangesAfter(
        seq=seq,
        items=with_urls(view, [change_item(entry.change) for entry in told]),
        marks=[each.text for each in marks],
        mark=(marks[-1] if ends_at_item else _Mark(seq)).text,
        more=has_more,
    )

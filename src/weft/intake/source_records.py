"""The records of a WARC or ARC file, each with its position; reading continues after a damaged one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, NoReturn

from weft.intake.damage_recovery import next_member
from weft.intake.import_source import ImportSource
from weft.intake.record_heads import BEGINS, BEGINS_LATER, ENDS, ArchiveRecord, HeadRefused, RecordHead, head_of
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.source_format import SourceFormat
from weft.intake.source_position import BEGINNING, SourceDamaged, SourcePosition, SourceUnit, problem_of
from weft.intake.unpack.blocks import pieces
from weft.intake.unpack.compression import Compression
from weft.intake.unpack.packed_file import PackedFile
from weft.intake.window import BytePlace, Window

_BLANK: Final = re.compile(rb"[\r\n]*")
_SEPARATOR: Final = re.compile(rb"\r\n\r\n")
_CUT_ARC_LINE: Final = re.compile(rb"[a-z][a-z0-9+.-]*+(?::|$)", re.IGNORECASE)
_NO_HEAD: Final = "no record begins here"
_NO_END: Final = "the head of a record has no end"
_CUT: Final = "it ends inside a record"
_FIRST_LOOK: Final = 4 << 10
_LONGEST_HEAD: Final = {SourceFormat.WARC: 64 << 10, SourceFormat.ARC: 8 << 10}
_LONGEST_BEGINNING: Final = {SourceFormat.WARC: 64, SourceFormat.ARC: 8 << 10}
"""Bytes by which a record is recognised."""
_MOST_RETURNS: Final = 100
"""Records of a wrong length that are too long to be kept, and so are read a second time."""


class RecordEntry(NamedTuple):
    """A record, or why there is none; reading can continue at `after`."""

    position: SourcePosition
    after: SourcePosition
    record: ArchiveRecord | None = None
    passed: str = ""
    """What it is, if it has nothing to say about a page."""
    refused: Refused | None = None


class SourceRecords:
    """The records of `source` from `start` on; none of more than `limit` bytes is held.

    Iterating raises SourceDamaged where no further record can be found.
    """

    def __init__(self, source: ImportSource, limit: int, start: SourcePosition = BEGINNING) -> None:
        self._source, self._limit, self._here = source, limit, start
        self._form = source.format or SourceFormat.WARC
        self._compression = source.compression or Compression.NONE
        self._begins = BEGINS[self._form]
        self._slack = _LONGEST_BEGINNING[self._form]
        self._returns = 0
        self._file: BinaryIO
        self._packed: PackedFile
        self._window: Window

    @property
    def bytes_read(self) -> int:
        """How much of the file, as it is stored, was read: comparable to the source's size."""
        return self._packed.bytes_read if hasattr(self, "_packed") else 0

    def __iter__(self) -> Iterator[RecordEntry]:
        try:
            with self._source.open() as self._file:
                self._open(BytePlace(self._here.offset, self._here.within))
                while (entry := self._next()) is not None:
                    self._here = entry.after
                    yield entry
        except OSError as error:
            self._break(problem_of(error), error)

    def _open(self, place: BytePlace) -> None:
        if self._source.path is not None:
            self._file.seek(0)
        self._packed = PackedFile(self._file, self._source.ahead)
        unpacked = pieces(self._packed, self._compression, place.offset, place.within)
        self._window = Window(unpacked, place, is_plain=self._compression is Compression.NONE)

    def _next(self) -> RecordEntry | None:
        window = self._window
        while window.reach(1) and (blank := window.search(_BLANK, 0, _FIRST_LOOK)) and blank[1]:
            window.advance(blank[1])
        if not window.reach(1):
            return None if window.damage is None else self._recover(window.damage)
        found = self._head()
        if isinstance(found, str):
            return self._resync(1, Refused(SkipReason.HEAD, found))
        head, begin = found
        if head.length > self._limit:
            return self._large(head, begin)
        return self._whole(head, begin)

    def _head(self) -> tuple[RecordHead, int] | str:
        """The head that stands here and where the content begins, or what is wrong."""
        window, ends = self._window, ENDS[self._form]
        for longest in (_FIRST_LOOK, _LONGEST_HEAD[self._form]):
            end = window.search(ends, 0, min(window.reach(longest), longest))
            if end is not None:
                break
        if not window.match(self._begins):
            return _NO_HEAD
        if end is None:
            return _NO_END if window.reach(longest) > longest else _CUT
        try:
            return head_of(self._form, window.cut(0, end[1])), end[1]
        except HeadRefused as refused:
            return str(refused)

    def _whole(self, head: RecordHead, begin: int) -> RecordEntry | None:
        window, end = self._window, begin + head.length
        if window.reach(end + self._slack) < end:
            return self._ends_inside(head, begin)
        if self._is_in_damage(end):
            window.advance(window.reach(end))
            return self._next()
        following = self._following(end)
        if following is None:
            return self._resync(begin, _wrong_length(head))
        entry = self._entry(head, window.cut(begin, end) if head.is_wanted else b"", window.place(following))
        window.advance(following)
        return entry

    def _following(self, end: int) -> int | None:
        """Where the next record may begin after content that ends at `end`; None if that cannot be its end."""
        window = self._window
        blank = window.search(_BLANK, end, window.reach(end))
        following = blank[1] if blank else end
        is_last = following == window.reach(following)
        is_end = is_last or window.match(_SEPARATOR, end) or window.match(self._begins, following)
        return following if is_end or (following > end and self._is_cut_line(following)) else None

    def _is_cut_line(self, start: int) -> bool:
        """Whether the file ends inside the line of an ARC record that begins at `start`: the one before it is whole."""
        if self._form is not SourceFormat.ARC:
            return False
        there, longest = self._window.reach(start + self._slack), self._slack
        rest = self._window.cut(start, there)
        return len(rest) < longest and b"\n" not in rest and _CUT_ARC_LINE.match(rest) is not None

    def _entry(self, head: RecordHead, body: bytes, following: BytePlace) -> RecordEntry:
        after = SourcePosition(self._here.number + 1, *following)
        if not head.is_wanted:
            return RecordEntry(self._here, after, passed=head.kind or "unknown")
        if head.is_segment:
            why = "it is a segment of a record; expected a whole one"
            return RecordEntry(self._here, after, refused=Refused(SkipReason.SEGMENT, why))
        about = (head.kind, head.uri, head.date, head.media, head.is_cut)
        record = ArchiveRecord(*about, body, head.not_a_page, head.refers_to, head.refers_to_date)
        return RecordEntry(self._here, after, record)

    def _large(self, head: RecordHead, begin: int) -> RecordEntry | None:
        """Pass a record that is too large to be held."""
        place = self._window.place()
        if self._window.skip(begin + head.length):
            self._window.reach(self._slack)
            following = self._following(0)
            if following is not None:
                why = f"it has {head.length:,} bytes; expected at most {self._limit:,}"
                after = SourcePosition(self._here.number + 1, *self._window.place(following))
                self._window.advance(following)
                if head.is_wanted:
                    return RecordEntry(self._here, after, refused=Refused(SkipReason.TOO_LARGE, why))
                return RecordEntry(self._here, after, passed=head.kind or "unknown")
        elif self._window.damage is not None:
            return self._next()
        self._return_to(place)
        return self._resync(begin, _wrong_length(head))

    def _return_to(self, place: BytePlace) -> None:
        self._returns += 1
        if self._source.path is None or self._returns > _MOST_RETURNS:
            self._break("a record is not as long as it says, and too long to look inside")
        self._open(place)

    def _ends_inside(self, head: RecordHead, begin: int) -> RecordEntry | None:
        """The bytes end inside a record: another one may begin inside it, or there is damage, or the file was cut."""
        window = self._window
        if window.search(BEGINS_LATER[self._form], begin, window.reach(begin)):
            return self._resync(begin, _wrong_length(head))
        if window.damage is None:
            self._break(_CUT)
        window.advance(window.reach(begin))
        return self._next()

    def _is_in_damage(self, end: int) -> bool:
        """Whether a record that ends there is part of what cannot be trusted; what was only cut off can be."""
        damage = self._window.damage
        if damage is None or isinstance(damage, EOFError):
            return False
        return self._window.place(end - 1).offset == self._packed.member

    def _resync(self, start: int, refused: Refused) -> RecordEntry:
        """Go to the next beginning of a record, at least `start` bytes from here."""
        window, pattern = self._window, BEGINS_LATER[self._form]
        longest = _LONGEST_HEAD[self._form]
        # The pattern looks at the byte before it.
        while (found := window.search(pattern, start, window.reach(start + 2 * longest))) is None:
            done = window.reach(0) - longest
            if done <= 0 or window.reach(done + 2 * longest) <= done + longest:
                if window.damage is None:
                    self._break(refused.why)
                return self._recover(window.damage)
            window.advance(done)
            start = 1
        window.advance(found[0])
        return RecordEntry(self._here, SourcePosition(self._here.number + 1, *window.place()), refused=refused)

    def _recover(self, damage: Exception) -> RecordEntry:
        """Go to the next member after a damaged one."""
        problem = problem_of(damage)
        if self._source.path is None or isinstance(damage, OSError):
            self._break(problem, damage)
        dictionary = self._packed.dictionary
        member = next_member(self._file, self._compression, self._packed.member + 1, self._form, dictionary)
        if member is None:
            self._break(problem, damage)
        damaged = max(self._here, SourcePosition(self._here.number, self._packed.member))
        self._open(BytePlace(member, 0))
        return RecordEntry(
            damaged, SourcePosition(self._here.number + 1, member), refused=Refused(SkipReason.DAMAGED, problem)
        )

    def _break(self, problem: str, cause: Exception | None = None) -> NoReturn:
        raise SourceDamaged(self._source.name, SourceUnit.RECORD, self._here, problem) from cause


def _wrong_length(head: RecordHead) -> Refused:
    return Refused(SkipReason.LENGTH, f"it says that it has {head.length:,} bytes, and no record follows them")

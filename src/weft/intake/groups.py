"""Lines or records of a source, a handful at a time: what one task of a parse worker is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from weft.intake.archives import Archive, Entry
from weft.intake.lines import Line, Lines
from weft.intake.parsing import Task
from weft.intake.position import Position, SourceDamaged
from weft.intake.records import ArchiveRecord, Refused

GROUP: Final = 32
"""Lines or records of a group, at most."""
_GROUP_BYTES: Final = 1 << 20
_GROUP_BESIDE: Final = 1_000
"""Records that need no parsing: there may be nothing else for a long time."""


class Skipped(NamedTuple):
    """A line or record that gave no page though it should."""

    position: Position
    refused: Refused


@dataclass(slots=True)
class Group:
    """Lines or records that are parsed together, and what was found between them; reading can go on at `after`."""

    after: Position
    bytes_read: int = 0
    lines: list[bytes | None] = field(default_factory=list)
    records: list[ArchiveRecord] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    """Where each line or record begins."""
    skipped: list[Skipped] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    size: int = 0

    def add(self, found: Line | Entry) -> None:
        self.after = found.after
        if isinstance(found, Line):
            self.lines.append(found.data)
            self._count(found.position, len(found.data or b""))
        elif found.record is not None:
            self.records.append(found.record)
            self._count(found.position, len(found.record.body))
        elif found.refused is not None:
            self.skipped.append(Skipped(found.position, found.refused))
        else:
            self.passed[found.passed] += 1

    def _count(self, position: Position, size: int) -> None:
        self.positions.append(position)
        self.size += size

    def is_full(self, most: int) -> bool:
        beside = len(self.skipped) + self.passed.total()
        return len(self.positions) >= most or self.size >= _GROUP_BYTES or beside >= _GROUP_BESIDE

    def task(self, now_ms: int) -> Task:
        return Task(now_ms, self.lines, self.records)


def groups(reader: Lines | Archive, start: Position, most: int = GROUP) -> Iterator[Group]:
    """All that `reader` gives from `start` on; raises SourceDamaged behind the last group."""
    group = Group(start)
    damage: SourceDamaged | None = None
    try:
        for found in reader:
            group.add(found)
            if group.is_full(most):
                group.bytes_read = reader.bytes_read
                yield group
                group = Group(group.after)
    except SourceDamaged as error:
        damage = error
    group.bytes_read = reader.bytes_read
    yield group
    if damage is not None:
        raise damage

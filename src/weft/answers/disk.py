"""How much room is left for what is fetched; below the setting, spiders begin nothing."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FULL: Final = 1 << 20
"""With fewer bytes than this, somebody's next write fails."""


@dataclass(frozen=True, slots=True)
class Disk:
    free: int
    least: int
    """`spider.min_free`"""

    @property
    def is_full(self) -> bool:
        """Whether nothing can be written, whatever the setting says."""
        return self.free < _FULL

    @property
    def is_low(self) -> bool:
        return self.is_full or self.free < self.least

    def __str__(self) -> str:
        if self.is_full:
            return f"{size(self.free)} free, nothing can be fetched or indexed until there is room"
        if self.is_low:
            return f"{size(self.free)} free, fetching waits until there are {size(self.least)} (spider.min_free)"
        return f"{size(self.free)} free"


def look_at_disk(archive: Path, least: int) -> Disk:
    """The disk that the archive is on, or will be."""
    place = archive
    while not place.exists():
        place = place.parent
    return Disk(shutil.disk_usage(place).free, least)


def size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count / 1000:.0f} kB"

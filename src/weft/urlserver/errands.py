"""What the loop must ask others to do, gathered until it has time: decisions themselves touch nobody."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

from weft.mgmt.values import DocId, Result


class RobotsAnswer(NamedTuple):
    """How fetching a robots.txt ended."""

    status: int
    """0: no answer."""
    retry_after: int
    failures: int = 0
    """How many fetches in a row before this one could not be used."""


@dataclass(slots=True)
class Errands:
    resolve: list[str] = field(default_factory=list)
    """Web hosts whose address is wanted."""
    read_robots: list[str] = field(default_factory=list)
    """Origins whose robots.txt may be known to the control plane."""
    open_robots: dict[str, str] = field(default_factory=dict)
    """Origin -> URL of a robots.txt that must be fetched."""
    settle_robots: dict[str, RobotsAnswer] = field(default_factory=dict)
    """By origin."""
    refuse: list[Result] = field(default_factory=list)
    release: list[DocId] = field(default_factory=list)
    lose: list[tuple[DocId, int]] = field(default_factory=list)
    """(doc_id, claim) of links that were DONE without a result."""
    defer: dict[str, int] = field(default_factory=dict)
    """Web host -> moment before which it must not be asked."""

    def take(self) -> Errands:
        """All errands so far; none are left here."""
        taken = Errands()
        for each in fields(self):
            empty = getattr(taken, each.name)
            setattr(taken, each.name, getattr(self, each.name))
            setattr(self, each.name, empty)
        return taken

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

"""How often a chunk is offered to builders, and how many links a chunk of finished links has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

SEALED_MOST: Final = 100
"""Links in one chunk that is made of finished links: few, so that a builder does not hold many while others wait."""
ALONE_AFTER: Final = 3
"""A chunk whose builders lost their leases this often is given out alone: it may be what kills them."""
MOST_LOST_LEASES: Final = 6
MOST_BUILD_ERRORS: Final = 3
CROWDING: Final = "crowding"
"""The figure in which builders name the domains of which they have so much that no more should be fetched now."""
HEAVY_FOR: Final = "heavy_for"
"""The figure in which builders tell since how many milliseconds they load what takes long; 0: they are not."""
_HEAVY_MOST: Final = 60_000
_KEEPS_UP: Final = 2000
"""Milliseconds that chunks wait for builders that are not busy: these look for some now and then."""
LONGEST_RECORDS_WAIT: Final = 10 * 60_000
"""Milliseconds that a chunk waits for records that cannot be reached, until it is tried again."""


def crowding_of(figures: Iterable[Mapping[str, Any]]) -> list[str]:
    """The domains that any of the builders with these figures names."""
    return sorted({str(domain) for told in figures for domain in told.get(CROWDING) or ()})


def waited_for_builders(since: int, now: int, told: Iterable[tuple[int, Mapping[str, Any]]]) -> int:
    """Milliseconds that a chunk has waited whose last fetch ended `since`, by the heartbeats of the builders: when each
    was sent, and its figures.

    What it waits while they load something that takes long is not counted, for a minute: it would wait for that
    however little else is fetched. If it had hardly waited before, builders keep up.
    """
    until = now
    for seen, figures in told:
        if heavy_for := int(figures.get(HEAVY_FOR) or 0):
            until = min(until, max(seen - heavy_for, now - _HEAVY_MOST))
    waited = max(0, until - since)
    return 0 if until < now and waited <= _KEEPS_UP else waited


def has_waited(until: int, now: int) -> bool:
    """Whether a chunk that waits for records is to be tried again.

    A moment that is too far ahead was set before the clock was set back.
    """
    return until <= now or until > now + LONGEST_RECORDS_WAIT


def goes_alone(lost_leases: int) -> bool:
    return lost_leases >= ALONE_AFTER


def may_be_offered(lost_leases: int, errors: int) -> bool:
    """False: the chunk is left in error until somebody retries it."""
    return lost_leases < MOST_LOST_LEASES and errors < MOST_BUILD_ERRORS

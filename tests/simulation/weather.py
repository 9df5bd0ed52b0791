"""How rough a history is: what may go wrong, how often, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

ASK_AGAIN: Final = 60
"""Steps after which an owner asks whether it still is the owner."""
UNDER_WAY: Final = 30
"""Steps after which a request that has not arrived is lost."""


@dataclass(frozen=True, slots=True)
class Weather:
    """Chances are for each request; durations are steps."""

    late: float = 0.0
    """A replica gets a write late; a lost one never does."""
    lost: float = 0.0
    give_up: float = 0.0
    """The session ends with StoreError instead of repeating what was not answered."""
    unknown: float = 0.0
    """A COMMIT is not answered: it happened, or did not, or happens later."""
    away: float = 0.0
    """PostgreSQL goes away for a while."""
    fault: float = 0.0
    """A process is killed, stopped, or replaced while it runs."""
    faults: int = 0
    """How many of those at most."""
    lateness: int = 150
    """The longest that anything is late."""
    longest_stop: int = 400
    """How long a process is stopped for at most; some are for longer than deletes are kept."""
    gc_grace: int | None = None
    """None: deletes are kept for good."""


CALM = Weather()


def weather_of(random: Random) -> Weather:
    """Histories differ in what goes wrong, so that single kinds of faults are tried as well as all together."""
    rough = random.choice((0.05, 0.15, 0.35))
    lateness = random.choice((20, 150))
    return Weather(
        late=rough * random.choice((0, 1, 1)),
        lost=rough * random.choice((0, 0.3, 1)),
        give_up=random.choice((0, 0.05, 0.3)),
        unknown=random.choice((0, 0.1, 0.3)),
        away=random.choice((0, 0, 0.02)),
        fault=random.choice((0.01, 0.03, 0.1)),
        faults=random.randrange(1, 7),
        lateness=lateness,
        longest_stop=random.choice((100, 400, 2_000)),
        # A put is sent at most so long after its owner was known to be the owner, and arrives so late.
        gc_grace=ASK_AGAIN + UNDER_WAY + lateness + 1 if random.random() < 0.5 else None,
    )

"""How rough a history is: what may go wrong, how often, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


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
    owner_limit: int = 400
    """How long a process that was replaced may go on before it must have ended."""
    gc_grace: int | None = None
    """None: deletes are kept for good."""


CALM = Weather()


def weather_of(random: Random) -> Weather:
    """Histories differ in what goes wrong, so that single kinds of faults are tried as well as all together."""
    rough = random.choice((0.05, 0.15, 0.35))
    lateness, owner_limit = random.choice((20, 150)), random.choice((100, 400))
    return Weather(
        late=rough * random.choice((0, 1, 1)),
        lost=rough * random.choice((0, 0.3, 1)),
        give_up=random.choice((0, 0.05, 0.3)),
        unknown=random.choice((0, 0.1, 0.3)),
        away=random.choice((0, 0, 0.02)),
        fault=random.choice((0.01, 0.03, 0.1)),
        faults=random.randrange(1, 7),
        lateness=lateness,
        owner_limit=owner_limit,
        gc_grace=lateness + owner_limit + 1 if random.random() < 0.5 else None,
    )

"""Many histories, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from simulation.history import History, Parts, Verdict
from simulation.tally import Happening, Tally


def play_all(seeds: Iterable[int], tally: Tally) -> list[Verdict]:
    """The histories that ended wrong."""
    return [verdict for seed in seeds if (verdict := History(seed, tally).play()).problems]


def first_noticed(parts: Parts, seeds: Iterable[int]) -> Verdict | None:
    """The first history in which an answer is wrong, not only the seq that is noted with it."""
    for seed in seeds:
        verdict = History(seed, Tally(), parts).play()
        if any(not problem.startswith("seq of") for problem in verdict.problems):
            return verdict
    return None


def told(tally: Tally) -> str:
    return "\n".join(f"{tally[each]:>12,}  {each}" for each in Happening)

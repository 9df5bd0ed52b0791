"""A rule's path as something to match: literal pieces in order, found from left to right, never backwards.

A target is matched with END put behind it, which it cannot contain itself. So a `$` at the end of a pattern is a letter
like any other, and `/a$` matches what begins with it.
"""

from __future__ import annotations

import re
from typing import Final

from weft.robots.match_steps import MatchSteps

STAR: Final = b"*"
END: Final = b"$"
_STARS: Final = re.compile(rb"\*{2,}")


def shortest_pattern(canonical: bytes) -> bytes:
    """The same pattern with no star too many: those next to each other are one, and one at the end says nothing."""
    return _STARS.sub(STAR, canonical).removesuffix(STAR + END).removesuffix(STAR)


def least_length(pattern: bytes) -> int:
    """Bytes of the shortest target, with its END, that a pattern can match."""
    return len(pattern) - pattern.count(STAR)


def matches(pattern: bytes, target: bytes, steps: MatchSteps) -> bool:
    """Tell whether a target, with its END, is what a shortest pattern says; raises TooManySteps.

    Taking the first place where a piece occurs leaves the most for the rest, so nothing is ever tried again.
    """
    steps.split(pattern)
    head, *pieces = pattern.split(STAR)
    if not target.startswith(head):
        return False
    position = len(head)
    for piece in pieces:
        steps.find(piece, target)
        position = target.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    return True

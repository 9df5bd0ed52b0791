"""A rule's path as something to match: literal pieces in order, found from left to right, never backwards."""

from __future__ import annotations

from typing import NamedTuple


class PathPattern(NamedTuple):
    head: bytes
    """What the target begins with."""
    pieces: tuple[bytes, ...]
    """What must follow, in this order, with anything in between."""
    ending: bytes | None
    """What the target ends with; None: anything may follow."""
    has_star: bool

    def follows(self, target: bytes) -> bool:
        """Tell whether a target that begins with the head goes on as the pattern says.

        Taking the first place where a piece occurs leaves the most for the rest, so nothing is ever tried again.
        """
        position = len(self.head)
        for piece in self.pieces:
            position = target.find(piece, position)
            if position < 0:
                return False
            position += len(piece)
        return self.ending is None or self._ends(target, position)

    def _ends(self, target: bytes, position: int) -> bool:
        ending = self.ending or b""
        start = len(target) - len(ending)
        return (start == position or (self.has_star and start > position)) and target.endswith(ending)


def pattern_of(canonical: bytes) -> PathPattern:
    """Read `*` as anything and `$` at the end as the end; everything else is literal."""
    is_anchored = canonical.endswith(b"$")
    head, *rest = (canonical[:-1] if is_anchored else canonical).split(b"*")
    ending = None
    if is_anchored:
        ending = rest.pop() if rest else b""
    return PathPattern(head, tuple(filter(None, rest)), ending, has_star=b"*" in canonical)

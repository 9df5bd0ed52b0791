"""How many links may be under way so that what was fetched is in the answers soon.

Fetching can be faster than building. Then fetched links would wait longer and longer for the index process. So the URL
server asks the control plane how many wait, and for how long the first of them have waited, and sends fewer URLs while
that is too long.
"""

from __future__ import annotations

from typing import Final

from weft.mgmt.values import BuildQueue

LOOK_EVERY: Final = 0.25
"""Seconds."""
LONGEST: Final = 400
"""Milliseconds that crawled chunks may wait for a builder."""
LEAST: Final = 100


class BuildPace:
    """Links between being sent and being taken by a builder: fewer when those wait long, more when they do not."""

    def __init__(self) -> None:
        self.links = LEAST

    def room(self, queue: BuildQueue, in_flight: int) -> int:
        """How many links may be sent until the next look."""
        if queue.waited > LONGEST:
            # As many as builders take in that time, judged by how long these took.
            self.links = max(LEAST, queue.links * LONGEST // queue.waited)
        else:
            # Little beyond what is made use of: when builders fall behind, or the machine is busy with something else,
            # everything that may still be sent waits for them.
            in_use = queue.links + in_flight
            self.links = max(LEAST, min(self.links * 5 // 4 + 1, in_use * 5 // 4 + LEAST))
        return max(0, self.links - queue.links - in_flight)

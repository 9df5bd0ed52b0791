"""The system's clock, as if somebody set it."""

from __future__ import annotations

from weft.clock import SystemClock


class JumpingClock(SystemClock):
    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> int:
        return super().now() + self._ahead

    def jump(self, seconds: float) -> None:
        self._ahead += round(seconds * 1000)

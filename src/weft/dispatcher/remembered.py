"""Uris that were seen lately, and how often: pages of a site name the same links again and again."""

from __future__ import annotations

from collections.abc import Iterable


class Remembered:
    """At most about `most` uris. When they are too many, the half that was not seen for longest goes at once."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def see(self, uri: bytes) -> int:
        """How often it was seen, now included; 0 if it is not remembered."""
        times = self._young.get(uri) or self._old.get(uri)
        if times is None:
            return 0
        self._young[uri] = times + 1
        return times + 1

    def add(self, uris: Iterable[bytes]) -> None:
        self._young.update(dict.fromkeys(uris, 1))
        if len(self._young) > self._half:
            self._old, self._young = self._young, {}

    def forget(self) -> None:
        self._young, self._old = {}, {}

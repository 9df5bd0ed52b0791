"""How many requests were answered and how soon, since the process started."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from weft.roles.histogram import ANSWERING, Histogram

_CLASSES: Final = ("2xx", "3xx", "4xx", "5xx")
_REFUSALS: Final = ("401", "403", "421", "429", "503")
"""Told from the beginning, as 0: the others are rare."""


class RequestTally:
    """Not for several threads."""

    def __init__(self) -> None:
        self._answers = dict.fromkeys(_CLASSES, 0)
        self._refused = dict.fromkeys(_REFUSALS, 0)
        self._seconds = Histogram(ANSWERING)

    def answered(self, status: int, seconds: float) -> None:
        """`seconds` from the request to the first byte of its answer."""
        self._count(status)
        self._seconds.add(seconds)

    def refused(self, status: int, *, is_answered: bool = False) -> None:
        """`is_answered`: it was counted among the answers."""
        self._refused[str(status)] = self._refused.get(str(status), 0) + 1
        if not is_answered:
            self._count(status)

    def facts(self) -> dict[str, Any]:
        return {
            "answers": dict(self._answers),
            "refused": dict(self._refused),
            "answer_seconds": msgspec.to_builtins(self._seconds.facts()),
        }

    def _count(self, status: int) -> None:
        name = f"{status // 100}xx"
        self._answers[name] = self._answers.get(name, 0) + 1

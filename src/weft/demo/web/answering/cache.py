"""Answers that are remembered, the latest used of them, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from weft.demo.web.answering.responses import DemoResponse

_OVERHEAD: Final = 600
"""Bytes that an answer takes beside its own: objects, key, place."""


class AnswerCache:
    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, 0
        self._answers: OrderedDict[Hashable, DemoResponse] = OrderedDict()

    def get(self, key: Hashable, now: float) -> DemoResponse | None:
        """The answer to `key` unless it was only true until now."""
        answer = self._answers.get(key)
        if answer is None or answer.until <= now:
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, key: Hashable, answer: DemoResponse) -> None:
        """Remember the answer, if it may be, in the place of an older one."""
        self._drop(self._answers.pop(key, None))
        size = len(answer.rest) + _OVERHEAD
        if answer.until <= 0 or answer.pieces is not None or size > self._limit // 16:
            return
        self._answers[key] = answer
        self._held += size
        while self._held > self._limit:
            self._drop(self._answers.popitem(last=False)[1])

    def _drop(self, answer: DemoResponse | None) -> None:
        if answer is not None:
            self._held -= len(answer.rest) + _OVERHEAD

    def clear(self) -> None:
        self._answers.clear()
        self._held = 0

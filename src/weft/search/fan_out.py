"""One question to many shards: each is asked of one source, and of another when that one fails or is slow."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, NamedTuple

import msgspec

from weft.errors import WeftError
from weft.search.server_connection import Call
from weft.search.server_messages import Asked
from weft.search.shard_sources import Source

log = logging.getLogger(__name__)

DEADLINE: Final = 5.0
"""Seconds that a question may take in all."""
RETRY_SECONDS: Final = 1.5
"""Seconds within which sources that failed are asked again: a server may be starting."""
_RETRY_PAUSE: Final = 0.1


@dataclass(eq=False, slots=True)
class _Attempt:
    source: Source
    shards: list[int]
    began: float
    call: Call = field(default_factory=Call)
    hedge_at: float = math.inf
    is_hedged: bool = False
    """Whether it was so slow that others were asked, too."""


class _Ended(NamedTuple):
    attempt: _Attempt
    answers: Sequence[object]
    """None for each shard that did not answer."""
    problem: WeftError | None = None


class FanOut:
    """`sources` gives those that may know a shard, the best first; it is asked again when all of them have failed."""

    def __init__(self, asked: Asked, sources: Callable[[int], Sequence[Source]], deadline: float = DEADLINE) -> None:
        self._asked, self._sources = asked, sources
        self._began = time.monotonic()
        self._end = self._began + deadline
        self._answers: dict[int, object] = {}
        self._tried: defaultdict[int, list[Source]] = defaultdict(list)
        self._open: list[_Attempt] = []
        self._ended: SimpleQueue[_Ended] = SimpleQueue()

    def run(self, look_again: Callable[[], bool]) -> dict[int, object]:
        """The answers by shard; those that nobody answered for are missing.

        `look_again` finds out who there is now, and whether it is of use to ask them again.
        """
        self._start(self._asked.shards)
        pause = _RETRY_PAUSE
        while self._missing() and time.monotonic() < self._end:
            if not self._open:
                if time.monotonic() - self._began > RETRY_SECONDS:
                    break
                time.sleep(pause)
                pause *= 2
                if not look_again():
                    break
                self._tried.clear()
                self._start(self._missing())
            else:
                self._wait()
        for attempt in self._open:
            attempt.call.abort()
            if attempt.is_hedged:
                attempt.source.lost()
        return self._answers

    def _missing(self) -> list[int]:
        return [number for number in self._asked.shards if number not in self._answers]

    def _start(self, numbers: Iterable[int], waited: float = math.inf) -> bool:
        """Ask the next source of each of these shards that may be asked after so long a wait; whether there is any."""
        groups: dict[Source, list[int]] = {}
        for number in numbers:
            left = [one for one in self._sources(number) if one not in self._tried[number]]
            source = next((one for one in left if one.begins_after <= waited), None)
            if source is not None:
                self._tried[number].append(source)
                groups.setdefault(source, []).append(number)
        for source, shards in groups.items():
            self._begin(source, shards)
        return bool(groups)

    def _begin(self, source: Source, shards: list[int]) -> None:
        now = time.monotonic()
        attempt = _Attempt(source, shards, now, hedge_at=now + source.hedge_after)
        self._open.append(attempt)
        # A thread that nobody waits for at the end of the process, unlike an executor's.
        Thread(target=self._ask, args=(attempt,), name="weft-ask", daemon=True).start()

    def _ask(self, attempt: _Attempt) -> None:
        nothing = [None] * len(attempt.shards)
        asked = msgspec.structs.replace(self._asked, shards=attempt.shards)
        try:
            found = attempt.source.ask(asked, self._end - time.monotonic(), attempt.call)
            self._ended.put(_Ended(attempt, found))
        except WeftError as error:
            self._ended.put(_Ended(attempt, nothing, error))
        except Exception as error:
            log.exception("index server could not be asked")
            self._ended.put(_Ended(attempt, nothing, WeftError(str(error))))

    def _wait(self) -> None:
        until = min([self._end, *(attempt.hedge_at for attempt in self._open)])
        try:
            ended = self._ended.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            self._hedge()
            return
        self._open.remove(ended.attempt)
        self._take(ended)

    def _take(self, ended: _Ended) -> None:
        if ended.problem is not None:
            log.info("asking another source reason=%s", ended.problem)
            ended.attempt.source.failed()
        for number, answer in zip(ended.attempt.shards, ended.answers, strict=True):
            if answer is not None:
                self._answers.setdefault(number, answer)
        being_asked = {number for attempt in self._open for number in attempt.shards}
        self._start([n for n in ended.attempt.shards if n not in self._answers and n not in being_asked])

    def _hedge(self) -> None:
        """Ask others, too, for what those who are slow were asked."""
        now = time.monotonic()
        for attempt in [attempt for attempt in self._open if attempt.hedge_at <= now]:
            waited = now - attempt.began
            left = [number for number in attempt.shards if number not in self._answers]
            attempt.is_hedged |= self._start(left, waited)
            attempt.hedge_at = self._next_hedge(attempt, waited)

    def _next_hedge(self, attempt: _Attempt, waited: float) -> float:
        """When a source that is spared for now may be asked; each of the others was asked, and hedges for itself."""
        spared = [
            one.begins_after
            for number in attempt.shards
            for one in self._sources(number)
            if one not in self._tried[number] and one.begins_after > waited
        ]
        return attempt.began + min(spared, default=math.inf)

"""The endpoint of an index server: POST /shards/ask, /shards/correct, /shards/explain and GET /healthz."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial
from threading import Event
from typing import Any, Final, NamedTuple

import msgspec

from weft.errors import SearchDamaged, SearchError
from weft.roles.calls import CallThread
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.http_protocol import HttpAnswer, HttpProtocol, HttpRequest
from weft.search.served_shards import ServedShards
from weft.search.server_figures import QuestionTally
from weft.search.server_messages import LONGEST_QUESTION, PATHS, Asked, problem_of, question_of
from weft.search.shard_reader import ShardReader

log = logging.getLogger(__name__)

THREADS: Final = 4
"""Shards that are searched at a time: tantivy lets other threads work meanwhile."""
MOST_WAITING: Final = 64
"""Requests that are answered or wait for that."""
SECONDS: Final = 5.0
"""How long a request may take; whoever asks has another server to ask, or gives up."""
_JSON: Final = "application/json"

_QUESTIONS: Final = {path: kind for kind, path in PATHS.items()}


class _Answered(NamedTuple):
    answer: object
    problem: str = ""


class ShardsDesk:
    """Answers what is asked of the shards, a bounded number of requests at a time."""

    def __init__(self, served: ServedShards, wanted: Callable[[], Collection[int]], count: int) -> None:
        """`wanted` are the shards that this server should answer for."""
        self._served, self._wanted, self._count = served, wanted, count
        self._threads = CallThread("weft-ask", THREADS)
        self._waiting = 0
        self._tally = QuestionTally()

    def facts(self) -> dict[str, Any]:
        """What was asked since the server started."""
        return self._tally.facts()

    def health(self) -> HttpAnswer:
        missing = sorted(set(self._wanted()) - self._served.ready)
        if missing:
            return _told(503, f"not ready yet: shard {', '.join(map(str, missing))}")
        return _told(200, "ok")

    async def answer(self, asked: Asked) -> HttpAnswer:
        if problem := problem_of(asked, self._count):
            return _told(400, problem)
        if self._waiting >= MOST_WAITING:
            self._tally.add("refused")
            return _told(503, f"{self._waiting} requests are being answered; ask again, or another server")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        began = loop.time()
        ask, is_late = question_of(asked), Event()
        found = asyncio.gather(
            *(self._threads.do(partial(self._of_shard, number, ask, is_late)) for number in asked.shards)
        )
        # Not earlier: a thread cannot be stopped, and whoever waits for one must be counted.
        found.add_done_callback(self._answered)
        try:
            async with asyncio.timeout(SECONDS):
                answers: list[_Answered] = await asyncio.shield(found)
        except TimeoutError:
            is_late.set()
            self._tally.add("late")
            return _told(503, f"no answer within {SECONDS:g} s")
        is_whole = not any(one.problem for one in answers)
        self._tally.add("answered" if is_whole else "failed", loop.time() - began)
        return HttpAnswer(200, _encoded(asked, answers), _JSON, shows_trust=True)

    def close(self) -> None:
        self._threads.stop()

    def _answered(self, found: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not found.cancelled():
            found.exception()  # looked at, so that nobody complains that it was not

    def _of_shard(self, number: int, ask: Callable[[ShardReader], object], is_late: Event) -> _Answered:
        if is_late.is_set():
            return _Answered(None, "it was not asked in time")
        try:
            return _Answered(ask(self._served.reader(number)))
        except SearchDamaged as error:
            self._served.suspect(number)
            return _Answered(None, error.problem)
        except SearchError as error:
            return _Answered(None, error.problem)


class ShardsProtocol(HttpProtocol):
    most_body = LONGEST_QUESTION
    token_of = "index server"  # noqa: S105 - whose, not which

    def __init__(self, token: str, limit: ConnectionLimit, desk: ShardsDesk) -> None:
        super().__init__(token, limit)
        self._desk = desk

    def is_open_to_all(self, method: str, target: str) -> bool:
        return (method, target) == ("GET", "/healthz")

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        if request.target == "/healthz":
            return self._desk.health() if request.method == "GET" else _told(405, "expected GET /healthz")
        kind = _QUESTIONS.get(request.target)
        if kind is None:
            return _told(404, f"expected {', '.join(_QUESTIONS)} or /healthz")
        if request.method != "POST":
            return _told(405, f"expected POST {request.target}")
        try:
            asked = msgspec.json.decode(request.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return _told(400, f"not a question: {error}")
        try:
            return await self._desk.answer(asked)
        except Exception:
            log.exception("question not answered target=%s", request.target)
            return _told(500, "the question could not be answered; the log of this server tells more")


def _encoded(asked: Asked, answers: list[_Answered]) -> bytes:
    problems = {number: one.problem for number, one in zip(asked.shards, answers, strict=True) if one.problem}
    told: dict[str, object] = {"answers": [one.answer for one in answers]}
    return msgspec.json.encode({**told, "problems": problems} if problems else told)


def _told(status: int, sentence: str) -> HttpAnswer:
    return HttpAnswer(status, f"{sentence}\n".encode())

"""A few worker processes that answer questions, each replaced when it dies.

A question whose worker died is asked again in its smallest parts: what dies again, alone, is to blame and is refused;
what died with it, or was killed from outside, is not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec

from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.worker_process import WorkerCommand, WorkerLost, WorkerProcess, start_worker

PATIENCE: Final = 30.0
"""Seconds that a worker may be silent beyond the processor time of its pages: it may have to wait for a processor."""

_ROOM: Final = 64 << 20
"""Bytes of answers that may wait to be taken before only the oldest question is worked on."""


class Parts(Protocol):
    """A question about one or several things."""

    def __len__(self) -> int: ...

    def singly(self) -> Iterator[Self]:
        """The same as questions about one thing each."""
        ...


Question = TypeVar("Question", bound=Parts)
Answer = TypeVar("Answer")


class WorkerMessages(NamedTuple, Generic[Question, Answer]):
    """How questions and answers are put into bytes; an answer has one entry for each thing that was asked about."""

    encode: Callable[[Question], bytes]
    decode: Callable[[bytearray], list[Answer]]
    """Raises msgspec.DecodeError."""
    refuse: Callable[[Refused], Answer]
    """The entry for a thing that cannot be read."""


class AnswerRoom:
    """While the answers that wait are `most` bytes or more, only the question that is taken next is worked on."""

    def __init__(self, most: int) -> None:
        self._most, self._next, self._is_open = most, 0, False
        self._held: dict[int, int] = {}
        self._changed = threading.Condition()

    def wait(self, turn: int) -> None:
        """Until there is room, or question number `turn` is the next one to be taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or turn == self._next or sum(self._held.values()) < self._most)

    def hold(self, turn: int, size: int) -> None:
        with self._changed:
            self._held[turn] = size

    def taken(self) -> None:
        """The next answer left, or will never come."""
        with self._changed:
            self._held.pop(self._next, None)
            self._next += 1
            self._changed.notify_all()

    def open(self) -> None:
        """Hold up nobody any more."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()


class PendingAnswer(Generic[Answer]):
    """A question that was given to the workers. Each is taken or dropped, in the order in which they were given."""

    def __init__(self, future: Future[list[Answer]], room: AnswerRoom) -> None:
        self._future, self._room = future, room

    def take(self) -> list[Answer]:
        """Wait for the answer."""
        try:
            return self._future.result()
        finally:
            self._room.taken()

    def drop(self) -> None:
        """Go without the answer."""
        if not self._future.cancel():
            wait([self._future])
        self._room.taken()


class WorkerPool(Generic[Question, Answer]):
    """Up to `count` processes, started when there is something to do and ended with this object."""

    def __init__(
        self, count: int, command: WorkerCommand, messages: WorkerMessages[Question, Answer], patience: float = PATIENCE
    ) -> None:
        self._command, self._messages, self._patience = command, messages, patience
        self._room = AnswerRoom(_ROOM)
        self._given = 0
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")
        self._own = threading.local()
        self._children: set[WorkerProcess] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._is_closed = True
            for child in self._children:
                child.kill()
        self._room.open()
        self._threads.shutdown(cancel_futures=True)
        for child in self._children:
            child.end()

    def give(self, question: Question) -> PendingAnswer[Answer]:
        turn, self._given = self._given, self._given + 1
        return PendingAnswer(self._threads.submit(self._answer, turn, question), self._room)

    def _answer(self, turn: int, question: Question) -> list[Answer]:
        self._room.wait(turn)
        try:
            size, answer = self._ask(question)
        except WorkerLost:
            size, answer = self._ask_singly(question)
        self._room.hold(turn, size)
        return answer

    def _ask_singly(self, question: Question) -> tuple[int, list[Answer]]:
        total, answers = 0, []
        for single in question.singly():
            size, answer = self._ask_alone(single)
            total += size
            answers += answer
        return total, answers

    def _ask_alone(self, single: Question) -> tuple[int, list[Answer]]:
        """Ask until it is clear that it is the question: what is too slow once is so always, a kill may be chance."""
        try:
            return self._ask(single)
        except WorkerLost as lost:
            if lost.refused.reason is not SkipReason.CRASH:
                return 0, [self._messages.refuse(lost.refused)]
        try:
            return self._ask(single)
        except WorkerLost as lost:
            return 0, [self._messages.refuse(lost.refused)]

    def _ask(self, question: Question) -> tuple[int, list[Answer]]:
        """Ask this thread's own worker; also returns the size of the answer."""
        child = self._child()
        try:
            patience = self._patience + self._command.seconds * len(question)
            (data,) = child.ask(self._messages.encode(question), patience)
        except WorkerLost:
            self._forget(child)
            raise
        try:
            answer = self._messages.decode(data)
        except msgspec.DecodeError as error:
            answer, problem = [], str(error)
        else:
            problem = f"{len(answer)} of {len(question)} parts"
        if len(answer) != len(question):
            child.end()
            self._forget(child)
            raise WorkerLost(Refused(SkipReason.CRASH, f"the process that read it answered nonsense: {problem}"))
        return len(data), answer

    def _child(self) -> WorkerProcess:
        child: WorkerProcess | None = getattr(self._own, "child", None)
        if child is None:
            child = self._own.child = start_worker(self._command, lambda: self._is_closed)
            with self._lock:
                self._children.add(child)
                if self._is_closed:
                    child.kill()
        return child

    def _forget(self, child: WorkerProcess) -> None:
        self._own.child = None
        with self._lock:
            self._children.discard(child)
            if self._is_closed:
                raise CancelledError


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""A worker process seen from inside: answers questions until its limits, or the end of its parent, end it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from weft.intake.workers.frames import OUT_OF_MEMORY, READY, receive, send

_DIE_WITH_PARENT: Final = 1
"""PR_SET_PDEATHSIG of Linux."""


class WorkerLimits(NamedTuple):
    """What a worker may take."""

    memory: int
    """Bytes beyond what it takes when it starts."""
    parent: int
    """The process to die with."""


Answering = Callable[[bytearray], Iterable[bytes]]
"""What answers a question, in one frame or several."""


def serve(begin: Callable[[bytearray], tuple[WorkerLimits, Answering]]) -> None:
    """Answer until the other side is gone; the first argument of the process is the descriptor of a socket.

    `begin` gets the first frame, the settings, and gives what answers all others.
    """
    # Ctrl-C reaches the whole group of processes; the parent process stops its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as peer:
        settings = receive(peer)
        if settings is None:
            return
        bounds, answer = begin(settings)
        _bind_to(bounds.parent)
        _limit_memory(bounds.memory)
        send(peer, READY)
        try:
            while (question := receive(peer)) is not None:
                for frame in answer(question):
                    send(peer, frame)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def set_alarm(seconds: float) -> None:
    """Have the kernel end this process after so much processor time, even inside a library that never returns.

    0 says never. Not time on the wall, so that a page has the same fate on a busy machine.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = size + _address_space()
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def _address_space() -> int:
    statistics = Path("/proc/self/statm")
    return int(statistics.read_text().split()[0]) * resource.getpagesize() if statistics.exists() else 0


def _bind_to(parent: int) -> None:
    """Die with the parent, even if that is killed and a page is being parsed; elsewhere the closed socket ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)

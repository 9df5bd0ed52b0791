"""One worker process seen from outside: how it is started, asked, and how it ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Final, NamedTuple

from weft.errors import WeftError
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.frames import OUT_OF_MEMORY, READY, receive, send

_START_SECONDS: Final = 60.0
_STARTS: Final = 3
# One thread each: as many workers are started as processors shall be busy.
_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class WorkersUnusable(WeftError):  # noqa: N818 - the machine's state
    """Workers cannot be started, so that nothing can be parsed."""


class WorkerLost(Exception):  # noqa: N818 - never leaves this package
    """A worker ended without an answer."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.why)
        self.refused = refused


class WorkerCommand(NamedTuple):
    """What a worker is started with."""

    module: str
    """A module that serves when it is run."""
    settings: bytes
    """What that module is sent first."""
    seconds: float
    """Processor time for one question, by which the module ends itself."""


class WorkerProcess:
    """A running worker; raises WorkersUnusable if it does not get so far."""

    def __init__(self, command: WorkerCommand) -> None:
        self._seconds = command.seconds
        self._socket, other = socket.socketpair()
        with other:
            self._process = _start(command.module, other.fileno())
        self._socket.settimeout(_START_SECONDS)
        try:
            send(self._socket, command.settings)
            is_ready = bytes(receive(self._socket) or b"") == READY
        except OSError:
            is_ready = False
        if not is_ready:
            self.end()
            raise WorkersUnusable(
                f"a parse worker did not start ({_status(self._process.returncode)}); WEFT_DEBUG=1 shows what it says"
            )

    def ask(self, question: bytes, patience: float, frames: int = 1) -> Iterator[bytearray]:
        """Its answer, frame by frame.

        Raises WorkerLost when it ends, or is silent for `patience` seconds before a frame; then it is gone.
        """
        self._socket.settimeout(patience)
        for number in range(frames):
            answer, is_silent = None, False
            try:
                if number == 0:
                    send(self._socket, question)
                answer = receive(self._socket)
            except TimeoutError:
                is_silent = True
            except OSError:
                pass
            if answer is None:
                self.end()
                why = f"reading it gave no answer in {patience:g} s"
                raise WorkerLost(Refused(SkipReason.SLOW, why) if is_silent else self._why())
            yield answer

    def kill(self) -> None:
        """End the process; whoever waits for its answer gets WorkerLost."""
        self._process.kill()

    def end(self) -> None:
        # A process that ends by itself closes its socket a moment before it can be waited for.
        self._socket.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _why(self) -> Refused:
        status = self._process.returncode
        if status == -signal.SIGPROF:
            return Refused(SkipReason.SLOW, f"reading it takes more than {self._seconds:g} s of processor time")
        if status == OUT_OF_MEMORY:
            return Refused(SkipReason.MEMORY, "reading it takes more memory than allowed")
        return Refused(SkipReason.CRASH, f"the process that read it ended ({_status(status)})")


def start_worker(command: WorkerCommand, is_over: Callable[[], bool] = lambda: False) -> WorkerProcess:
    """A new worker; one that is killed while it starts, as on a machine without memory, is no reason to give up.

    Raises CancelledError if nobody wants it any more.
    """
    for _ in range(_STARTS - 1):
        try:
            return WorkerProcess(command)
        except WorkersUnusable:
            if is_over():
                raise CancelledError from None
    return WorkerProcess(command)


def _start(module: str, descriptor: int) -> subprocess.Popen[bytes]:
    # -P: a file in the current directory must not take the place of a module.
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", module, str(descriptor)],
        pass_fds=[descriptor],
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("WEFT_DEBUG") else subprocess.DEVNULL,
    )


def _status(returncode: int) -> str:
    if returncode >= 0:
        return f"status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"

"""A file that one process locks, with a note about who that is. The operating system frees it when the process ends."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

_NOTE_BYTES: Final = 4096
_TRIES: Final = 5
_PAUSE: Final = 0.02
"""Somebody who only looks holds the lock for a moment; a try that meets them is repeated."""
_WITH_VALUE: Final = ("--home", "--set")


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who locked a file; pid 0: nobody knows."""

    pid: int = 0
    born: int = 0
    """When the process was started, as the operating system counts it: a pid alone may belong to another one by now."""
    command: str = ""
    """Without arguments, because they may hold secrets."""
    since: float = 0.0
    is_stopping: bool = False

    @property
    def is_alive(self) -> bool:
        return bool(self.pid) and birth_of(self.pid) == self.born

    def __str__(self) -> str:
        if not self.pid:
            return "another weft"
        age = in_words(time.time() - self.since)
        return f"another weft (pid {self.pid}, `{self.command}`, running for {age})"


class LockHeld(Exception):  # noqa: N818 - an answer; callers say what it means to them
    """Somebody else holds the lock."""

    def __init__(self, holder: LockHolder) -> None:
        super().__init__(f"{holder} holds the lock")
        self.holder = holder


@dataclass(slots=True)
class ProcessLock:
    """Held from its making to release(), or to the end of the process and of those that inherit `descriptor`."""

    path: Path
    descriptor: int

    @classmethod
    def take(cls, path: Path) -> ProcessLock:
        """Raises LockHeld, or OSError where the file cannot be made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    holder = _read(descriptor)
                    os.close(descriptor)
                    raise LockHeld(holder) from None
                time.sleep(_PAUSE)
        lock = cls(path, descriptor)
        lock._write(_myself())
        return lock

    def tell_stopping(self) -> None:
        """Let others know that the lock will be free soon."""
        self._write(msgspec.structs.replace(_read(self.descriptor), is_stopping=True))

    def _write(self, holder: LockHolder) -> None:
        # Only for messages and `weft stop`; on a full disk the lock itself still holds. Filled up with spaces, a note
        # replaces the one before it at once: nobody reads a file that was just emptied.
        with suppress(OSError):
            os.pwrite(self.descriptor, msgspec.json.encode(holder).ljust(_NOTE_BYTES), 0)

    def release(self) -> None:
        """Let the next one in; calling it twice is harmless."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def holder_of(path: Path) -> LockHolder | None:
    """Who holds the lock now; None: nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _holder(descriptor)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> LockHolder | None:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _read(descriptor)
        else:
            return None
        if found.pid:
            return found
        time.sleep(_PAUSE)  # it was taken a moment ago, and says so soon
    return LockHolder()


def birth_of(pid: int) -> int:
    """When a process was started, in ticks since the machine was; 0: there is none, or nobody can tell."""
    try:
        # The name, in parentheses, may itself hold spaces and parentheses.
        facts = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    is_dead = facts[0] in ("Z", "X")
    return 0 if is_dead else int(facts[19])


def command_name(arguments: Sequence[str]) -> str:
    """The program and its command, without options and arguments: these may hold secrets."""
    program = Path(arguments[0]).name
    if program not in ("weft", "__main__.py"):
        return program
    rest, words = iter(arguments[1:]), list[str]()
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            words.append(word)
    return " ".join(["weft", *words[: 2 if words[:1] == ["run"] else 1]])


def _myself() -> LockHolder:
    pid = os.getpid()
    return LockHolder(pid=pid, born=birth_of(pid), command=command_name(sys.argv), since=time.time())


def _read(descriptor: int) -> LockHolder:
    try:
        return msgspec.json.decode(os.pread(descriptor, _NOTE_BYTES, 0), type=LockHolder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return LockHolder()


def in_words(seconds: float) -> str:
    """A duration."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"

"""The log: one line of JSON per request, written while the web is served and read by the judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import World, make_world
from weft.errors import WeftError, why_unwritable

FLUSH_BYTES: Final = 64 << 10


class LogError(WeftError):
    """The log cannot be written or read."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"log {path}: {problem}")


class WebLine(msgspec.Struct, frozen=True, tag="web"):
    """The first line of a log: which web was served, and since when."""

    plan: WebPlan
    at: float
    start: float


class RequestLine(msgspec.Struct, frozen=True, tag="request", omit_defaults=True, kw_only=True, gc=False):
    """One request. What stands at its default is left out of the line.

    `start` is when the whole head of the request had come, `end` just before the last bytes of the answer were handed
    to the network, or when the connection was lost; both on the machine's monotonic clock, in seconds. `at` is the wall
    clock at `start`. `status` 0: nothing was answered. `is_complete` false: the connection was lost, or cut on purpose.
    """

    connection: int
    client: str
    address: str
    port: int
    host: str
    method: str
    target: str
    status: int
    sent: int
    at: float
    start: float
    end: float
    agent: str = ""
    kind: str = "page"
    page: int = -1
    version: int = 0
    is_conditional: bool = False
    has_cookie: bool = False
    is_complete: bool = True
    retry_after: float | None = None


Line = WebLine | RequestLine | Change

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Line).decode


class LogWriter:
    """Collects lines and writes them in blocks; `on_first` is told when the first line of a block waits."""

    def __init__(self, path: Path, on_first: Callable[[], object] = lambda: None) -> None:
        self._path, self._on_first = path, on_first
        self._lines: list[bytes] = []
        self._waiting = 0
        self.count = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise LogError(path, f"it cannot be written: {why_unwritable(error)}") from error
        if os.fstat(self._file).st_size:
            os.close(self._file)
            raise LogError(path, "there is something in it; expected a new or an empty file")

    def add(self, line: Line) -> None:
        if not self._lines:
            self._on_first()
        encoded = _encode(line)
        self._lines.append(encoded)
        self._waiting += len(encoded) + 1
        self.count += 1
        if self._waiting > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if not self._lines:
            return
        block = memoryview(b"\n".join([*self._lines, b""]))
        self._lines, self._waiting = [], 0
        try:
            while block:
                block = block[os.write(self._file, block) :]
        except OSError as error:
            raise LogError(self._path, f"it cannot be written: {why_unwritable(error)}") from error

    def close(self) -> None:
        self.flush()
        os.close(self._file)


def read_log(path: Path) -> Iterator[Line]:
    """The lines of a log; one that was cut off at the very end is left out."""
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                if text.endswith(b"\n"):
                    yield _decoded(path, number, text)
    except OSError as error:
        raise LogError(path, f"it cannot be read: {error.strerror}") from error


def _decoded(path: Path, number: int, text: bytes) -> Line:
    try:
        line: Line = _decode(text)
    except (msgspec.DecodeError, WeftError) as error:
        raise LogError(path, f"line {number} is no line of a synthetic web's log: {error}") from error
    return line


def plan_of(path: Path) -> WebPlan:
    """The web that a log tells of."""
    for line in read_log(path):
        if isinstance(line, WebLine):
            return line.plan
        break
    raise LogError(path, "it does not begin with the web that was served; expected a log of `weft demo serve`")


def world_of(path: Path) -> World:
    """The web that a log tells of, as its control calls left it."""
    world = make_world(plan_of(path))
    for line in read_log(path):
        if isinstance(line, Change):
            world.apply(line)
    return world

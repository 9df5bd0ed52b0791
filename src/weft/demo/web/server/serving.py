"""A synthetic web in a process of its own, for tests and demonstrations."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from weft.demo.web.answering.web import CACHE_BYTES
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.world import World, make_world
from weft.demo.web.server.child import Failed, Order, Ready
from weft.demo.web.settings_text import settings_text
from weft.errors import UsageError, WeftError

_STOP_SECONDS: Final = 10.0


class ServerDied(WeftError):  # noqa: N818 - what became of a process
    """The process of a synthetic web ended by itself."""


@dataclass(frozen=True, slots=True)
class Served:
    """A web that is being served: what it is, and the control calls.

    `world` is a copy on this side: it knows the seed's web, not what control calls changed since.
    """

    world: World
    log: Path | None
    control_port: int
    ca_file: Path | None
    process_id: int

    @property
    def plan(self) -> WebPlan:
        return self.world.plan

    def url(self, host: int, number: int = 0) -> str:
        return self.world.url(host, number)

    def settings_text(self) -> str:
        """The part of a weft.toml that lets weft crawl this web."""
        return settings_text(self.world, self.ca_file)

    def change(self, url: str) -> None:
        """Give the page a new version."""
        self.call(do="change", url=url)

    def vanish(self, url: str, status: int = 404) -> None:
        self.call(do="vanish", url=url, status=status)

    def bring_back(self, url: str) -> None:
        self.call(do="return", url=url)

    def switch(self, host: str, **traits: Any) -> None:
        """Change the behaviour of a host by its traits: `robots="failing"`, `overloaded=3.0`, `latency=0.5`…"""
        self.call(do="switch", host=host, traits=traits)

    def advance(self, seconds: float) -> None:
        """Move the web's clock, by which pages change and vanish."""
        self.call(do="advance", seconds=seconds)

    def flush(self) -> None:
        """Have every request that was answered so far in the log."""
        self.call(do="flush")

    def count(self) -> int:
        """Requests answered so far."""
        return int(self.call(do="count")["requests"])

    def call(self, **call: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=30)
        try:
            connection.request("POST", "/", msgspec.json.encode(call))
            said: dict[str, Any] = msgspec.json.decode(connection.getresponse().read())
        except OSError as error:
            raise ServerDied(f"the synthetic web does not answer control calls: {error}") from error
        finally:
            connection.close()
        if not said.pop("ok"):
            raise UsageError(said["error"])
        return said


@contextmanager
def serving(plan: WebPlan, log: Path | None = None, cache_bytes: int = CACHE_BYTES) -> Iterator[Served]:
    """Serve `plan` in a process that ends with this block, and with this process however it ends."""
    command = [sys.executable, "-m", "weft.demo.web.server.child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - ourselves
        try:
            yield _started(process, Order(plan, str(log.absolute()) if log else None, cache_bytes), log)
        finally:
            _stop(process)


def _started(process: subprocess.Popen[bytes], order: Order, log: Path | None) -> Served:
    assert process.stdin  # noqa: S101 - pipes were asked for
    assert process.stdout  # noqa: S101
    process.stdin.write(msgspec.json.encode(order) + b"\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise ServerDied("the process of the synthetic web ended before it was ready; see its messages above")
    told: Ready | Failed = msgspec.json.decode(line, type=Ready | Failed)
    if isinstance(told, Failed):
        raise UsageError(told.sentence)
    ca_file = Path(told.ca_file) if told.ca_file else None
    return Served(make_world(told.plan), log, told.control_port, ca_file, process.pid)


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin  # noqa: S101 - a pipe was asked for
    process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()

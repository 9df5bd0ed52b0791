"""The process that `serving` starts: an order on standard input, a line when ready, the end with its parent."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.server.running import serve
from weft.demo.web.server.server import WebServer
from weft.errors import WeftError


class Order(msgspec.Struct, frozen=True):
    plan: WebPlan
    log: str | None
    cache_bytes: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    plan: WebPlan
    control_port: int
    ca_file: str | None


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    sentence: str


def main() -> None:
    order = msgspec.json.decode(_first_line(), type=Order)
    try:
        log = Path(order.log) if order.log else None
        serve(order.plan, log, _tell_ready, cache_bytes=order.cache_bytes, with_parent=True)
    except WeftError as error:
        _tell(Failed(str(error)))
        sys.exit(error.exit_code)


def _first_line() -> bytes:
    """Byte by byte: what stands behind the line must stay unread, the loop waits for its end."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            sys.exit(2)
        line += byte
    return line


def _tell_ready(server: WebServer) -> None:
    _tell(Ready(server.plan, server.control_port, str(server.ca_file) if server.ca_file else None))


def _tell(message: Ready | Failed) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(message) + b"\n")


if __name__ == "__main__":
    main()

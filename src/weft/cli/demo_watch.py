"""The web app of the tour: there from the beginning, and for as long as somebody looks."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFERRED: Final = 8765
_PATIENCE: Final = 30.0


@contextmanager
def web_app_of(home: Path) -> Iterator[str]:
    """`weft run web` of this home; gives its address, or nothing if it does not start."""
    from weft.config import load
    from weft.home import Home
    from weft.store.open import open_store

    open_store(Home(home).store, load(home, {}, []).settings).close()  # there must be one to read
    port = _free_port()
    words = ["run", "web", "--home", str(home), "--set", f'web.listen="127.0.0.1:{port}"']
    with _running(words, home / "web-app.out") as process:
        yield f"http://127.0.0.1:{port}/" if _answers(port, process) else ""


def stay(home: Path, address: str, seconds: float | None, environment: Mapping[str, str]) -> None:
    """Keep crawling, with the web app beside it, until Ctrl-C or for so many seconds."""
    from weft.actions.web_login import new_login_code
    from weft.home import Home

    with _running(["up", "--no-web", "--home", str(home)], home / "up.out", environment):
        say(f"Web app: {address}", bold=True)
        say(f"Log in:  {address}login?code={new_login_code(Home(home))} (works once; then you may add pages and pause)")
        say("It keeps crawling. Press Ctrl-C to end." if seconds is None else f"It ends in {seconds:g} s.")
        with suppress(KeyboardInterrupt):
            time.sleep(seconds if seconds is not None else 10**8)


@contextmanager
def _running(
    words: list[str], output: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as printed:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "weft", *words],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the tour, which ends it in order
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_PATIENCE)
        process.kill()


def _free_port() -> int:
    """The usual one if it is free, so that a bookmark works."""
    for port in (_PREFERRED, 0):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as probe:
            return int(probe.getsockname()[1])
    return _PREFERRED


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
            return True
        time.sleep(0.1)
    return False

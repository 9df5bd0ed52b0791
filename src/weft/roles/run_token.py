"""The token of one run: made by the supervisor, read by its roles, hidden from other users of the machine.

The roles of a run talk over loopback alone, where nobody can listen and a certificate for the names of this machine
would not fit. So they use no TLS among themselves, and whoever reads the token of the run learns that as well.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from weft.config import Settings
from weft.errors import HomeError, why_unwritable
from weft.home import write_private

TOKEN_FILE: Final = Path("run", "token")
"""In the home. A file, because everybody can read the arguments of a process."""
_BYTES: Final = 32
_TOKEN: Final = re.compile(r"[!-~]+")


@contextmanager
def run_token(home: Path) -> Iterator[None]:
    """A new token for as long as this lasts; raises HomeError if it cannot be written."""
    try:
        _write(home / TOKEN_FILE)
    except OSError as error:
        raise HomeError(
            f"{home / TOKEN_FILE}: the token of this run cannot be written: {why_unwritable(error)}"
        ) from error
    try:
        yield
    finally:
        (home / TOKEN_FILE).unlink(missing_ok=True)


def with_run_token(settings: Settings, home: Path) -> Settings:
    """The settings with the token of the run in this home, if there is one; `spider.token` wins where it is set.

    Raises HomeError.
    """
    path = home / TOKEN_FILE
    if settings.spider.token:
        return _without_loopback_tls(settings) if path.exists() else settings
    try:
        token = path.read_bytes().strip().decode("ascii", "replace")
    except FileNotFoundError:
        return settings
    except OSError as error:
        raise HomeError(f"{path}: the token of this run cannot be read: {error.strerror}") from error
    if not _TOKEN.fullmatch(token):
        # Never without one: whoever wrote the file wanted the ports closed to others.
        raise HomeError(f"{path}: this is no token; remove the file if no crawl is running")
    return _without_loopback_tls(replace(settings, spider=replace(settings.spider, token=token)))


def _without_loopback_tls(settings: Settings) -> Settings:
    return replace(settings, tls=replace(settings.tls, loopback=False))


def _write(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, secrets.token_urlsafe(_BYTES) + "\n")

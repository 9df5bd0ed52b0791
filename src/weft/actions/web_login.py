"""Logging in to the web app without a password: a code that works once, for whoever can read the home.

The home holds a hash of the code alone. The file is emptied, not removed, while it is locked: so of two processes that
are shown the code only one takes it, and a newer code, which is another file, is not touched.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import msgspec

from weft.clock import Clock, SystemClock
from weft.config import host_and_port
from weft.config.sections import WebSettings
from weft.errors import HomeError, UsageError, why_unwritable
from weft.home import Home, write_private

LOGIN_FILE: Final = "web-login.json"
LOGIN_SECONDS: Final = 3600
"""How long a code works: `weft up` prints one when it starts, and people watch the first pages come in before they
follow it. It cannot be guessed in any time."""
_BYTES: Final = 32
_LONGEST: Final = 200
"""Characters of a code that are looked at."""
_NOTE_BYTES: Final = 4096
_CLOCK_STEP: Final = 60
"""Seconds that the clock may be set back before a code counts as not ours."""


class _Login(msgspec.Struct, frozen=True):
    digest: str
    expires: int
    """Milliseconds since 1970."""


def new_login_code(home: Home, clock: Clock | None = None) -> str:
    """A code that logs in one browser within LOGIN_SECONDS; codes from before work no more. Raises HomeError."""
    code = secrets.token_urlsafe(_BYTES)
    expires = (clock or SystemClock()).now() + LOGIN_SECONDS * 1000
    path = home.path / LOGIN_FILE
    try:
        write_private(path, msgspec.json.encode(_Login(_digest(code), expires)).decode())
    except OSError as error:
        raise HomeError(f"{path}: the login code cannot be written: {why_unwritable(error)}") from error
    return code


def take_login_code(home: Home, code: str, clock: Clock | None = None) -> bool:
    """Whether this is the code of this home; true only once, whoever asks. Raises HomeError if it cannot be used up."""
    path = home.path / LOGIN_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HomeError(f"{path}: the login code cannot be read: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not _is_code(descriptor, code, (clock or SystemClock()).now()):
            return False
        _use_up(descriptor, path)
    finally:
        os.close(descriptor)
    return True


def login_url(settings: WebSettings, code: str, port: int | None = None) -> str:
    """Where a browser on this machine logs in; `port` is the one in use where the settings leave it open.

    Raises UsageError if nobody knows the port.
    """
    host, configured = host_and_port(settings.listen)
    port = port or configured
    if not port:
        raise UsageError(f"web.listen: {settings.listen} takes any free port; expected one with a port to log in at")
    return f"http://{_reached(host)}:{port}/login?code={code}"


def _reached(host: str) -> str:
    """A name for the address listened at; one that stands for all addresses is reached by loopback."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return host if address.version == 4 else f"[{host}]"


def _is_code(descriptor: int, code: str, now: int) -> bool:
    try:
        login = msgspec.json.decode(os.pread(descriptor, _NOTE_BYTES, 0), type=_Login)
    except msgspec.MsgspecError:
        return False  # used up, or damaged: a new code helps
    # A clock that was set back far must not revive a code.
    left = (login.expires - now) / 1000
    is_same = hmac.compare_digest(login.digest.encode(), _digest(code).encode())
    return is_same and 0 < left <= LOGIN_SECONDS + _CLOCK_STEP


def _use_up(descriptor: int, path: Path) -> None:
    try:
        os.truncate(descriptor, 0)
        os.fsync(descriptor)
    except OSError as error:
        raise HomeError(f"{path}: the login code cannot be used up: {why_unwritable(error)}") from error


def _digest(code: str) -> str:
    return hashlib.sha256(code[:_LONGEST].encode("utf-8", "surrogatepass")).hexdigest()

"""Who has logged in with a browser: sessions in memory, so that a restart ends them."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

MOST_SESSIONS: Final = 1000
"""The oldest one ends when there are more."""
_BYTES: Final = 32


@dataclass(slots=True, eq=False)
class Session:
    csrf: str
    """What a form of this session must send along: other sites cannot know it."""
    until: float
    """By the monotonic clock."""
    token: str = ""
    """The id of the token that it began with, if it was one: a session ends with its token."""
    notice: str = ""
    """What came of the last change; shown once."""
    is_bad: bool = False
    """Whether the change was refused."""

    def tell(self, notice: str, *, is_bad: bool = False) -> None:
        self.notice, self.is_bad = notice, is_bad

    def take_notice(self) -> str:
        notice, self.notice = self.notice, ""
        return notice


class Sessions:
    """A cookie holds a random id; only its hash is kept, so that looking it up tells nothing by the time it takes."""

    def __init__(self, seconds: float = 12 * 3600.0) -> None:
        self._seconds = seconds
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        self._lock = Lock()

    @property
    def seconds(self) -> float:
        """How long a session lasts."""
        return self._seconds

    def begin(self, token: str = "") -> str:
        """A new session; returns what its cookie holds."""
        cookie = secrets.token_urlsafe(_BYTES)
        with self._lock:
            until = time.monotonic() + self._seconds
            self._sessions[_hash(cookie)] = Session(secrets.token_urlsafe(_BYTES), until, token)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Session | None:
        with self._lock:
            session = self._sessions.get(_hash(cookie))
        return session if session is not None and time.monotonic() < session.until else None

    def end(self, cookie: str) -> None:
        with self._lock:
            self._sessions.pop(_hash(cookie), None)


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).digest()

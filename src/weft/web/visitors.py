"""Who asks, and what they may do: read, or change something too."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from threading import Lock
from typing import Final

from starlette.datastructures import Headers

from weft.actions.web_tokens import NOTED_EVERY, find_token, list_tokens
from weft.clock import SystemClock
from weft.config.sections import WebSettings
from weft.errors import MgmtError
from weft.mgmt.values import WebToken
from weft.roles.listener import host_named, is_loopback, is_unspecified
from weft.web.control_desk import ControlDesk
from weft.web.problems import RequestRefused
from weft.web.sessions import Session, Sessions

TOKEN_SECONDS: Final = 5.0
"""How long a token that was found is taken for good without a look: so long a revoked one may work on."""
_TOKENS_KNOWN: Final = 256
_LONGEST_COOKIE: Final = 100


@dataclass(frozen=True, slots=True)
class Visitor:
    may_read: bool
    may_change: bool = False
    session: Session | None = None
    """Of a browser that has logged in."""
    cookie: str = ""

    @property
    def csrf(self) -> str:
        return self.session.csrf if self.session else ""


class Doorkeeper:
    """Decides by address, token and cookie. Where the app listens on loopback alone, everybody who asks may read."""

    def __init__(
        self, settings: WebSettings, listens_at: tuple[str, int], control: ControlDesk, sessions: Sessions
    ) -> None:
        self._host, self._port = listens_at
        self._is_open = is_loopback(self._host) or settings.public
        self._names = {name.lower().rstrip(".") for name in settings.hosts}
        self._control, self._sessions = control, sessions
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._lock, self._clock = Lock(), SystemClock()
        # Cookies are shared by all ports of a host: another weft must not take ours for its own.
        self.cookie_name = f"weft_{self._port}"

    def check_host(self, host: str) -> None:
        """Refuse names that are not ours: a page elsewhere could have its name lead to this address (DNS rebinding)."""
        name = host_named(host).rstrip(".")
        if name in self._names or is_loopback(name) or (name == self._host.lower() and not is_unspecified(name)):
            return
        # An address cannot be rebound. On loopback nobody has a reason to name another one.
        if not is_loopback(self._host) and _is_address(name):
            return
        raise RequestRefused(
            421, f"Host {host[:100]!r} is no name of this web app; expected its address, or a name of web.hosts"
        )

    def visitor(self, headers: Headers) -> Visitor:
        """Raises RequestRefused for a token that is none. Asks the control plane, so call it in a thread."""
        if (sent := headers.get("authorization")) is not None:
            kind, _, token = sent.partition(" ")
            if kind.lower() != "bearer" or not self._is_token(token.strip()):
                raise RequestRefused(
                    401,
                    "this token is not valid; `weft token create` makes one",
                    {"WWW-Authenticate": 'Bearer realm="weft"'},
                )
            return Visitor(may_read=True, may_change=True)
        cookie = cookie_in(headers.get("cookie", ""), self.cookie_name)
        session = self._sessions.find(cookie) if cookie else None
        if session is None or (session.token and not self._still_works(session.token)):
            return Visitor(may_read=self._is_open)
        return Visitor(may_read=True, may_change=True, session=session, cookie=cookie)

    def check_change(self, visitor: Visitor, headers: Headers, csrf: str) -> None:
        """A change by a browser must come from our own page: it names our origin and shows the session's secret."""
        if not visitor.may_change:
            raise RequestRefused(
                401,
                "changes need a login or a token; `weft token login` prints a link to log in with",
                {"WWW-Authenticate": 'Bearer realm="weft"'},
            )
        if visitor.session is None:
            return
        check_origin(headers)
        if not hmac.compare_digest(csrf.encode("utf-8", "replace"), visitor.session.csrf.encode()):
            raise RequestRefused(403, "this form is not of this session; load the page again")

    def token(self, text: str) -> WebToken | None:
        """The token with this text, if it works. Its use is noted. Asks the control plane."""
        found = self._control.read(lambda mgmt: find_token(mgmt, text))
        now = self._clock.now()
        if found is not None and now >= found.used + NOTED_EVERY:
            with suppress(MgmtError):  # it works also where nothing can be written
                self._control.change(lambda mgmt: find_token(mgmt, text, now))
        return found

    def _is_token(self, text: str) -> bool:
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
        return self._is_known(digest, lambda: self.token(text) is not None)

    def _still_works(self, token_id: str) -> bool:
        return self._is_known(
            token_id.encode(), lambda: any(each.id == token_id for each in self._control.read(list_tokens))
        )

    def _is_known(self, key: bytes, look: Callable[[], bool]) -> bool:
        now = time.monotonic()
        with self._lock:
            if now < self._known.get(key, 0.0):
                return True
        if not look():
            return False
        with self._lock:
            self._known[key] = now + TOKEN_SECONDS
            while len(self._known) > _TOKENS_KNOWN:
                self._known.popitem(last=False)
        return True


def check_origin(headers: Headers) -> None:
    """Raises RequestRefused unless the request comes from a page of this app."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None:
        # Browsers send Origin with every form that is posted; some programs that look like them do not.
        if headers.get("sec-fetch-site") == "same-origin":
            return
        raise RequestRefused(403, "the request does not say where it comes from; expected an Origin of this web app")
    scheme, _, place = origin.lower().partition("://")
    if not host or scheme not in ("http", "https") or place != host.lower():
        raise RequestRefused(403, f"requests from {origin[:100]!r} may not change anything here")


def cookie_in(header: str, name: str) -> str:
    """The value of a cookie of ours, which is never quoted; empty if there is none.

    Python's own parser takes a time that grows with the square of what others have put into the header.
    """
    values = (
        value.strip() for key, _, value in (pair.partition("=") for pair in header.split(";")) if key.strip() == name
    )
    return next((value for value in values if len(value) <= _LONGEST_COOKIE), "")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True

"""What the user said about reaching one site: headers, a password, a proxy, certificates."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from weft.errors import WeftError

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
# libcurl takes a header without a value for one to leave out.
_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,8190}[!-~])?")
_PROXY: Final = re.compile(r"(?:https?|socks5h?)://[!-~]+")
# What decides where a request ends, whom it is for, who asks, and what we can decode.
_OURS: Final = frozenset(
    {"host", "user-agent", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade"}
)


class SiteRefused(WeftError):  # noqa: N818 - an answer about the settings, not a fault
    """A site's settings cannot be used for fetching."""


@dataclass(frozen=True, slots=True)
class SiteAccess:
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request; they may hold secrets."""
    proxy: str = ""
    ca: str = ""
    """File of certificates to trust instead of the usual ones."""
    verify: bool = True

    @property
    def is_plain(self) -> bool:
        """Connections may be shared with other sites: nothing is special about them."""
        return not self.proxy and not self.ca and self.verify


PLAIN: Final = SiteAccess()


def access_of(site: Mapping[str, object]) -> SiteAccess:
    """Read the fetch settings of a site; raises SiteRefused."""
    if not site:
        return PLAIN
    headers = [*_headers(site.get("headers", {})), *_authorization(site.get("auth", ""))]
    verify = site.get("verify", True)
    if not isinstance(verify, bool):
        raise SiteRefused(f"verify: expected true or false, found {verify!r}")
    return SiteAccess(tuple(headers), _proxy(site.get("proxy", "")), _text(site, "ca"), verify)


def _headers(given: object) -> list[tuple[str, str]]:
    if not isinstance(given, Mapping):
        raise SiteRefused("headers: expected a table of names and values")
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise SiteRefused(f"headers: {name!r} cannot be set for a site")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise SiteRefused(f"headers: the value of {name} is not a line of printable ASCII")
    return [(str(name), str(value)) for name, value in given.items()]


def _authorization(auth: object) -> list[tuple[str, str]]:
    if not auth:
        return []
    if not isinstance(auth, str) or ":" not in auth:
        raise SiteRefused('auth: expected "user:password"')
    return [("Authorization", f"Basic {b64encode(auth.encode()).decode()}")]


def _proxy(proxy: object) -> str:
    if proxy and not (isinstance(proxy, str) and _PROXY.fullmatch(proxy)):
        raise SiteRefused("proxy: expected a URL with the scheme http, https, socks5 or socks5h")
    return str(proxy)


def _text(site: Mapping[str, object], name: str) -> str:
    value = site.get(name, "")
    if not isinstance(value, str):
        raise SiteRefused(f"{name}: expected text, found {value!r}")
    return value

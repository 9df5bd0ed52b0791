"""What is sent to a web server, and what of it is archived."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weft.mgmt.values import Details, LinkKind
from weft.spider.site import SiteAccess, access_of

_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ENCODINGS: Final = "gzip, br, zstd"
# A validator came from a server: it must not become two header lines.
_VALIDATOR: Final = re.compile(r"[ -~]{1,1024}")


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    ip: str
    lines: tuple[str, ...]
    """Header lines in the order in which they are sent, after Host."""
    public: int
    """How many of them are nobody's secret."""
    access: SiteAccess
    most: int
    """Bytes of the body that are taken."""
    cuts: bool = False
    """A longer body is no error: its beginning is what is wanted."""

    def head(self, with_secrets: bool) -> bytes:
        """The request as it goes over the wire."""
        authority, slash, path = self.url.partition("://")[2].partition("/")
        lines = self.lines if with_secrets else self.lines[: self.public]
        first = (f"GET {slash}{path} HTTP/1.1", f"Host: {authority}")
        return "\r\n".join((*first, *lines, "", "")).encode("ascii")


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests: who we are, and how much we take."""

    user_agent: str
    max_body: int
    robots_bytes: int

    def make(self, ip: str, details: Details) -> Request:
        """The request for a link; raises SiteRefused."""
        access = access_of(details.site)
        own = {name.lower() for name, _ in access.headers}
        public = [
            f"User-Agent: {self.user_agent}",
            *(() if "accept" in own else (f"Accept: {_ACCEPT}",)),
            f"Accept-Encoding: {_ENCODINGS}",
            *_conditions(details),
        ]
        is_robots = details.kind is LinkKind.ROBOTS
        lines = (*public, *_site_lines(access))
        most = self.robots_bytes if is_robots else self.max_body
        return Request(details.url, ip, lines, len(public), access, most, cuts=is_robots)


def _conditions(details: Details) -> Sequence[str]:
    named = (("If-None-Match", details.etag), ("If-Modified-Since", details.last_modified))
    return [f"{name}: {value}" for name, value in named if _VALIDATOR.fullmatch(value)]


def _site_lines(access: SiteAccess) -> Sequence[str]:
    return [f"{name}: {value}" for name, value in access.headers]

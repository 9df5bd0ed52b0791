"""The request for a link: who we are, what the link's validators ask, what the site's settings add."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weft.errors import WeftError
from weft.mgmt.values import Details, LinkKind
from weft.model.fetch_error import FetchError
from weft.model.site import NO_SETTINGS, Affects, SiteSettings
from weft.spider.fetching import PLAIN, Request, SiteAccess

_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ENCODINGS: Final = "gzip, br, zstd"
# A validator came from a server: it must not become two header lines.
_VALIDATOR: Final = re.compile(r"[ -~]{1,1024}")


class RequestRefused(WeftError):  # noqa: N818 - an answer about the link, not a fault
    """The link must not be fetched as it was asked for; `error` is the class that its result gets."""

    def __init__(self, error: FetchError, reason: str) -> None:
        super().__init__(reason)
        self.error = error


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    user_agent: str
    max_body: int
    robots_bytes: int

    def build(self, ip: str, details: Details) -> Request:
        """The request for a link; raises RequestRefused."""
        access = access_of(details.site)
        _keep_secrets(ip, details, access)
        own = {name.lower() for name, _ in access.headers}
        public = [
            f"User-Agent: {self.user_agent}",
            *(() if "accept" in own else (f"Accept: {_ACCEPT}",)),
            f"Accept-Encoding: {_ENCODINGS}",
            *_conditions(details),
        ]
        is_robots = details.kind is LinkKind.ROBOTS
        lines = (*public, *_site_lines(access))
        # One byte more than counts, so that a line which the limit cuts is known to be cut.
        most = self.robots_bytes + 1 if is_robots else min(self.max_body, details.site.max_bytes or self.max_body)
        types = None if is_robots else details.site.types
        # A kept connection may have broken, and another one may break too: a new one tells whose fault it is.
        is_second = details.losses > 0
        return Request(
            details.url, ip, lines, len(public), access, most, cuts=is_robots, types=types, must_connect=is_second
        )


def _conditions(details: Details) -> Sequence[str]:
    named = (("If-None-Match", details.etag), ("If-Modified-Since", details.last_modified))
    return [f"{name}: {value}" for name, value in named if _VALIDATOR.fullmatch(value)]


def _site_lines(access: SiteAccess) -> Sequence[str]:
    return [f"{name}: {value}" for name, value in access.headers]


def access_of(site: SiteSettings) -> SiteAccess:
    """Raises RequestRefused for settings that were stored without a check."""
    if site == NO_SETTINGS:
        return PLAIN
    if problem := site.problem(Affects.FETCH):
        raise RequestRefused(FetchError.BAD_SITE, problem)
    headers = [*(site.headers or {}).items(), *_authorization(site.auth)]
    return SiteAccess(tuple(headers), site.proxy or "", site.ca or "", site.verify is not False, bool(site.local))


def _keep_secrets(ip: str, details: Details, access: SiteAccess) -> None:
    """Whoever sent the order does not decide who learns a password: the address must be the one that was looked up."""
    # Through a proxy the address is not used: the proxy looks the name up.
    if details.site.has_credentials and not access.proxy and ip != details.address:
        known = details.address or "no address"
        raise RequestRefused(FetchError.WRONG_ADDRESS, f"credentials are not sent to {ip}; its host is at {known}")


def _authorization(auth: str | None) -> list[tuple[str, str]]:
    return [("Authorization", f"Basic {b64encode(auth.encode()).decode()}")] if auth else []

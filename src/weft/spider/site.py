"""How a site is reached: what its settings add to a request and its connection."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Final

from weft.errors import WeftError
from weft.model.site import Affects, SiteSettings


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
_NOTHING_SET: Final = SiteSettings()


def access_of(site: SiteSettings) -> SiteAccess:
    """Raises SiteRefused for settings that were stored without a check."""
    if site == _NOTHING_SET:
        return PLAIN
    if problem := site.problem(Affects.FETCH):
        raise SiteRefused(problem)
    headers = [*(site.headers or {}).items(), *_authorization(site.auth)]
    return SiteAccess(tuple(headers), site.proxy or "", site.ca or "", site.verify is not False)


def _authorization(auth: str | None) -> list[tuple[str, str]]:
    return [("Authorization", f"Basic {b64encode(auth.encode()).decode()}")] if auth else []

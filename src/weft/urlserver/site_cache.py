"""The settings of sites as they are now: read again every few seconds, shared by the hosts that they hold for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from weft.clock import Clock
from weft.mgmt.api import UrlServerCalls
from weft.model.host import port_of, site_names, web_host_of
from weft.model.site import NO_SETTINGS, Site, SiteSettings, settings_for

_ASKING_SHARE: Final = 20
"""Reading sites again for hosts that nobody seems to have named takes at most one part in so many of the time."""
SITES_AGE: Final = 5_000
"""Milliseconds before sites are read again: a change is noticed within that time."""


class SiteCache:
    """Every call may block."""

    def __init__(self, mgmt: UrlServerCalls, clock: Clock) -> None:
        self._mgmt, self._clock = mgmt, clock
        self._sites: Sequence[Site] = ()
        self._read_at: int | None = None
        self._took = 0
        """Milliseconds that the last reading took."""
        self._set: dict[str, SiteSettings] = {}
        """By the name of the site, where anything is set."""
        self._merged: dict[tuple[str, ...], SiteSettings] = {}
        """By the sites that were merged: hosts of one site share one object, because there may be millions of them."""
        self._named: frozenset[str] = frozenset()
        """Web hosts that a user named, as sites or in seeds."""
        self._version = 0

    @property
    def version(self) -> int:
        """Grows when any site has changed."""
        self._refresh()
        return self._version

    def sites(self) -> Sequence[Site]:
        self._refresh()
        return self._sites

    def is_named(self, web_host: str, claimed: int) -> bool:
        """Whether a user named this very host, with its port, before its links were claimed at this moment.

        A redirect may have led to a new site just before that, so what was read earlier proves nothing.
        """
        self._refresh()
        if web_host not in self._named and self._read_before(claimed):
            self._read_at = None
            self._refresh()
        return web_host in self._named

    def _read_before(self, moment: int) -> bool:
        """Whether that is so, and reading again does not take too much of the time."""
        rested = self._clock.now() - (self._read_at or 0)
        return (self._read_at or 0) <= moment and rested >= self._took * _ASKING_SHARE

    def settings_for(self, web_host: str) -> SiteSettings:
        self._refresh()
        if not self._set:
            return NO_SETTINGS
        names = tuple(name for name in site_names(web_host) if name in self._set)
        if names not in self._merged:
            self._merged[names] = settings_for(web_host, self._set)
        return self._merged[names]

    def _refresh(self) -> None:
        now = self._clock.now()
        if self._read_at is not None and now - self._read_at < SITES_AGE:
            return
        sites = self._mgmt.sites()
        if not self._version or sites != self._sites:
            self._sites, self._merged = sites, {(): NO_SETTINGS}
            self._set = {site.name: site.settings for site in sites if site.settings != NO_SETTINGS}
            self._named = frozenset(host for site in sites for host in _named_by(site))
            self._version += 1
        self._read_at, self._took = now, self._clock.now() - now


def _named_by(site: Site) -> Iterable[str]:
    """The web hosts that a user named with this site; where redirects led, the port must be the one that was named."""
    if site.led_from and port_of(site.name) != port_of(web_host_of(site.led_from)):
        return ()
    return (site.name, *map(web_host_of, site.seeds))

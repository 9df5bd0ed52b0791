"""Settings that others bound, so that they cannot be obeyed in full: told in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.config.settings import Settings
from weft.model.site import Site

_MOST: Final = 5
"""Sites that are named for each bound."""


def settings_warnings(settings: Settings, sites: Sequence[Site]) -> list[str]:
    return [*_rates(settings, sites), *_sizes(settings, sites)]


def _rates(settings: Settings, sites: Sequence[Site]) -> list[str]:
    """The rate of an address holds for all its hosts together."""
    host, address = settings.urlserver.req_host_per_sec, settings.urlserver.req_ip_per_sec
    holds = f"urlserver.req_ip_per_sec ({address:g}), which holds: a host is asked at most {address:g} times a second"
    told = [f"urlserver.req_host_per_sec ({host:g}) is above {holds}"] if host > address else []
    high = [site for site in sites if (site.settings.rate or 0) > address]
    return told + [f"the rate of {site.name} ({site.settings.rate:g}) is above {holds}" for site in high[:_MOST]]


def _sizes(settings: Settings, sites: Sequence[Site]) -> list[str]:
    most = settings.spider.max_body
    large = [site for site in sites if (site.settings.max_bytes or 0) > most]
    holds = f"spider.max_body ({most}), which holds: larger files are left out"
    return [f"max_bytes of {site.name} ({site.settings.max_bytes}) is above {holds}" for site in large[:_MOST]]

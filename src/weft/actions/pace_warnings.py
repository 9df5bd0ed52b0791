"""Rates that cannot be reached, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weft.config.settings import Settings
from weft.model.site import Site

_MOST: Final = 5
"""Sites that are named."""


def pace_warnings(settings: Settings, sites: Iterable[Site]) -> list[str]:
    """What is asked for above the rate of an address, which holds for all its hosts together."""
    host, address = settings.urlserver.req_host_per_sec, settings.urlserver.req_ip_per_sec
    holds = f"urlserver.req_ip_per_sec ({address:g}), which holds: a host is asked at most {address:g} times a second"
    told = [f"urlserver.req_host_per_sec ({host:g}) is above {holds}"] if host > address else []
    high = [site for site in sites if (site.settings.rate or 0) > address]
    return told + [f"the rate of {site.name} ({site.settings.rate:g}) is above {holds}" for site in high[:_MOST]]

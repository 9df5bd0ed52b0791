"""Web hosts: what they are called in URLs, sites and settings, and which share of all addresses they fall into.

A web host is a host name with `:port` unless the port is the scheme's own: the unit of politeness.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from zlib import crc32

from weft.model.domain import Domain, registrable_domain

ANYWHERE: Final = "*"
"""What the site that covers every domain is called and stored as. `Site.is_anywhere` asks for it; it is no host, and no
URL has a host that is spelt so."""
ADDRESS_SLOTS: Final = 256
"""All addresses are divided into so many slots; each belongs to one URL server at a time."""
NO_SLOT: Final = -1
"""Where web hosts are whose address is not known yet: any URL server may take them."""


def web_host_of(url: str) -> str:
    """The web host of a URL in serialised form, which has neither userinfo nor a default port."""
    return url.split("/", 3)[2]


def name_of(web_host: str) -> str:
    """The host name without its port; an IPv6 address keeps its brackets."""
    name, colon, port = web_host.rpartition(":")
    return name if colon and port.isdecimal() else web_host


def port_of(web_host: str) -> int | None:
    _, colon, port = web_host.rpartition(":")
    return int(port) if colon and port.isdecimal() else None


@lru_cache(maxsize=10_000)
def site_names(web_host: str) -> tuple[str, ...]:
    """The sites that a web host may belong to, by name, the widest first: anywhere, its domain, its name, itself."""
    return tuple(dict.fromkeys((ANYWHERE, domain_of_host(web_host), name_of(web_host), web_host)))


def domain_of_host(web_host: str) -> Domain:
    """The registrable domain of a web host, or of the site that is named after it."""
    return registrable_domain(name_of(web_host))


def slot_of(ip_key: str) -> int:
    """Which slot an address is in, by what politeness counts it by."""
    return crc32(ip_key.encode()) % ADDRESS_SLOTS if ip_key else NO_SLOT

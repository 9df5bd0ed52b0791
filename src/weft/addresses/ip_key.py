"""What politeness counts by: one machine, or as near to it as an address tells."""

from __future__ import annotations

from ipaddress import IPv6Network, ip_address
from typing import Final

from weft.addresses.deny import ipv4_inside

# Behind 6to4 and Teredo addresses, which carry an IPv4 address too, are hosts of their own.
_OTHER_SPELLINGS: Final = (IPv6Network("::/96"), IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


def ip_key(address: str) -> str:
    """An IPv4 address itself; the /64 of an IPv6 one, because a whole /64 is a single customer's.

    An IPv6 spelling of an IPv4 address has that one's key, so that it cannot be asked twice as fast.
    """
    given = ip_address(address)
    if given.version == 4:
        return str(given)
    if any(given in network for network in _OTHER_SPELLINGS):
        return str(ipv4_inside(given)[0])
    return str(IPv6Network((int(given) >> 64 << 64, 64)))

"""How often one client may ask."""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final

_MOST_CLIENTS: Final = 10_000
"""The one that was quiet for longest is forgotten."""
_BURST_SECONDS: Final = 4.0
"""Requests of so many seconds may come at once: a page and its pictures do."""


class RateLimit:
    """A bucket of requests for each client, filled at `rate`; a client of IPv6 is its /64. Not for several threads."""

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(rate * _BURST_SECONDS, 10.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """0: it may ask now. Else the seconds until it may ask again."""
        name = network_of(client)
        left, since = self._buckets.pop(name, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        may_ask = left >= 1.0
        self._buckets[name] = (left - 1.0 if may_ask else left, now)
        while len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if may_ask else (1.0 - left) / self._rate


def network_of(client: str) -> str:
    """What counts as one client."""
    try:
        address = ip_address(client)
    except ValueError:
        return client
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return client

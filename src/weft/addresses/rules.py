"""Which addresses and ports may be crawled, by the settings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Final

from weft.addresses.deny import is_refused

ALWAYS_ALLOWED_PORTS: Final = frozenset((80, 443))


class AddressRules:
    """The deny table with its exceptions; refusals are told with their reason, None means that it may be crawled."""

    def __init__(self, allow_net: Iterable[str] = (), allow_ports: Iterable[int] = ()) -> None:
        networks = tuple(map(ip_network, allow_net))
        self._ports = ALWAYS_ALLOWED_PORTS | frozenset(allow_ports)
        # Connections go to the same few addresses again and again.
        self._judge = lru_cache(maxsize=4096)(lambda address: is_refused(address, networks))

    def is_refused(self, address: str) -> str | None:
        return self._judge(address)

    def is_port_refused(self, port: int) -> str | None:
        if port in self._ports:
            return None
        allowed = ", ".join(map(str, sorted(self._ports)))
        return f"port {port} is not crawled; expected {allowed}, or more in urlserver.allow_ports"

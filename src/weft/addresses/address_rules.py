"""Which addresses and ports may be crawled, and which addresses count as one machine.

The table of denied networks is explicit, since no library's "global" is one. An IPv6 address that stands for an IPv4
one is judged by that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

ALWAYS_ALLOWED_PORTS: Final = frozenset((80, 443))
_LOCAL: Final = tuple(
    map(ip_network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"))
)
"""This machine and private networks: what a user may open for one site. Link-local is not among them, because clouds
hand out their machines' credentials there."""

_DENIED_IPV4: Final = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by customers of a provider",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4 relays",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarks",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/3": "multicast, reserved and broadcast",
}
_DENIED_IPV6: Final = {
    "::1/128": "loopback",
    "64:ff9b:1::/48": "translation to private IPv4",
    "100::/64": "discarded",
    "2001:2::/48": "benchmarks",
    "2001:10::/28": "identifiers, not addresses",
    "2001:20::/28": "identifiers, not addresses",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "5f00::/16": "segment routing",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}


class _Inside(NamedTuple):
    """IPv6 addresses that carry an IPv4 one: their first bits, where it stands in them, and which bits are flipped."""

    prefix: int
    bits: int
    shift: int = 0
    flipped: int = 0


_IPV4_INSIDE: Final = (
    _Inside(0, 96),  # ::a.b.c.d, compatible
    _Inside(0xFFFF, 96),  # ::ffff:a.b.c.d, mapped
    _Inside(0xFFFF << 16, 96),  # ::ffff:0:a.b.c.d, translated
    _Inside(0x64_FF9B << 64, 96),  # 64:ff9b::a.b.c.d, NAT64
    _Inside(0x2002, 16, shift=80),  # 6to4
    _Inside(0x2001_0000, 32, shift=64),  # the server of a Teredo address
    _Inside(0x2001_0000, 32, flipped=0xFFFF_FFFF),  # and its client
)
# Behind 6to4 and Teredo addresses, which carry an IPv4 address too, are hosts of their own.
_OTHER_SPELLINGS: Final = (IPv6Network("::/96"), IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


class _Range(NamedTuple):
    first: int
    last: int
    name: str


def _ranges(table: dict[str, str], kind: type[IPv4Network] | type[IPv6Network]) -> tuple[_Range, ...]:
    networks = ((kind(text), what) for text, what in table.items())
    return tuple(_Range(int(network[0]), int(network[-1]), f"{network} ({what})") for network, what in networks)


_RANGES: Final = {4: _ranges(_DENIED_IPV4, IPv4Network), 6: _ranges(_DENIED_IPV6, IPv6Network)}


class AddressRules:
    """The deny table with the exceptions of the settings. A refusal is its reason; None: it may be crawled."""

    def __init__(self, allow_net: Iterable[str] = (), allow_ports: Iterable[int] = ()) -> None:
        networks = tuple(map(ip_network, allow_net))
        self._ports = ALWAYS_ALLOWED_PORTS | frozenset(allow_ports)
        # Connections go to the same few addresses again and again.
        self._judge = lru_cache(maxsize=4096)(
            lambda address, is_local: is_refused(address, (*networks, *_LOCAL) if is_local else networks)
        )

    def is_refused(self, address: str, *, is_local: bool = False) -> str | None:
        """`is_local`: a user said that this host is on this machine or in a private network."""
        return self._judge(address, is_local)

    def is_port_refused(self, port: int) -> str | None:
        if port in self._ports:
            return None
        allowed = ", ".join(map(str, sorted(self._ports)))
        return f"port {port} is not crawled; expected {allowed}, or more in urlserver.allow_ports"


def is_refused(address: str | IpAddress, allow_net: Iterable[IpNetwork] = ()) -> str | None:
    """Why this address must not be asked; None: it may. What is no address at all is refused too."""
    try:
        given = ip_address(address)
    except ValueError:
        return f"{address} is no IP address"
    allowed = tuple(allow_net)
    if any(given in network for network in allowed):
        return None
    denied = _denied(given)
    if denied:
        return f"{given} is in {denied}"
    for inside in ipv4_inside(given):
        denied = None if any(inside in network for network in allowed) else _denied(inside)
        if denied:
            return f"{given} stands for {inside}, which is in {denied}"
    return None


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


def ipv4_inside(address: IpAddress) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for."""
    if address.version == 4:
        return []
    value = int(address)
    return [
        IPv4Address(value >> form.shift & 0xFFFF_FFFF ^ form.flipped)
        for form in _IPV4_INSIDE
        if value >> 128 - form.bits == form.prefix
    ]


def _denied(address: IpAddress) -> str | None:
    value = int(address)
    return next((each.name for each in _RANGES[address.version] if each.first <= value <= each.last), None)

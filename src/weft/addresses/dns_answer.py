"""From answers to addresses: aliases are followed, times to live kept."""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.addresses.dns_exchange import NameServers, NoAnswer
from weft.addresses.dns_message import DnsMessage, RecordType, ResponseCode

_MOST_QUESTIONS: Final = 8
"""Questions for one name: a usual server follows aliases itself, so that one is enough."""


class DnsAnswer(NamedTuple):
    addresses: tuple[str, ...]
    ttl: int | None
    """Seconds; of no addresses only where the name's zone tells."""
    exists: bool
    """False: there is no such name, of any type."""


class _Followed(NamedTuple):
    name: str
    addresses: tuple[str, ...]
    ttls: tuple[int, ...]


async def addresses_of(servers: NameServers, name: str) -> DnsAnswer:
    """The IPv4 addresses of a name, or if it has none its IPv6 ones; raises NoAnswer and NotDns."""
    found = await _look_up(servers, name, RecordType.A)
    if found.addresses or not found.exists:
        return found
    return await _look_up(servers, name, RecordType.AAAA)


async def _look_up(servers: NameServers, name: str, type_: RecordType) -> DnsAnswer:
    at, ttls = name, tuple[int, ...]()
    for _ in range(_MOST_QUESTIONS):
        message = await servers.ask(at, type_)
        followed = _follow(message, at, type_)
        ttls += followed.ttls
        if followed.addresses:
            return DnsAnswer(followed.addresses, min(ttls), exists=True)
        if followed.name == at or _is_final(message):
            return DnsAnswer((), _none_ttl(message), message.code != ResponseCode.NXDOMAIN)
        at = followed.name
    raise NoAnswer(f"{name}: too many aliases")


def _follow(message: DnsMessage, name: str, type_: RecordType) -> _Followed:
    """Walk from `name` along the aliases in the message; what it says about other names does not count."""
    aliases = {record.name: record for record in message.answers if record.type == RecordType.CNAME}
    at, ttls = name.lower(), list[int]()
    while alias := aliases.pop(at, None):
        at = str(alias.data)
        ttls.append(alias.ttl)
    records = [record for record in message.answers if record.type == type_ and record.name == at]
    addresses = tuple(str(record.data) for record in records)
    return _Followed(at, addresses, (*ttls, *(record.ttl for record in records)))


def _is_final(message: DnsMessage) -> bool:
    return message.code == ResponseCode.NXDOMAIN or _none_ttl(message) is not None


def _none_ttl(message: DnsMessage) -> int | None:
    """How long the answer "there is none" holds (RFC 2308, 5)."""
    zones = [record for record in message.authorities if record.type == RecordType.SOA]
    return min((min(zone.ttl, int(zone.data)) for zone in zones), default=None)

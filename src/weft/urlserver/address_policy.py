"""Which addresses and ports of a web host may be asked; results of the DNS as the control plane keeps them."""

from __future__ import annotations

from weft.addresses.address_rules import AddressRules
from weft.addresses.local_names import LocalNames
from weft.addresses.resolver import Failure, Resolved
from weft.config.sections import UrlserverSettings
from weft.mgmt.values import Address
from weft.model.fetch_error import FetchError
from weft.model.host import name_of, port_of

ERRORS = {
    Failure.REFUSED: FetchError.PRIVATE_ADDRESS,
    Failure.UNKNOWN: FetchError.UNKNOWN_HOST,
    Failure.UNANSWERED: FetchError.DNS,
}


class AddressPolicy:
    """What the settings allow: addresses, names and ports."""

    def __init__(self, settings: UrlserverSettings) -> None:
        self._rules = AddressRules(settings.allow_net, settings.allow_ports)
        self._local = LocalNames(settings)

    def may_use(self, address: Address, *, is_local: bool = False) -> bool:
        """Tell whether an address that was found before, perhaps under other settings, may still be used."""
        is_named_here = self._local.find(name_of(address.web_host)) is not None
        return bool(address.ip) and not is_named_here and self._rules.is_refused(address.ip, is_local=is_local) is None

    def port_refusal(self, web_host: str) -> str | None:
        port = port_of(web_host)
        return None if port is None else self._rules.is_port_refused(port)


def address_of(web_host: str, resolved: Resolved) -> Address:
    """As the control plane remembers it; the reason begins with the class of error."""
    reason = f"{ERRORS[resolved.failure]}: {resolved.reason}" if resolved.failure else ""
    return Address(web_host, resolved.ip, resolved.ip_key, resolved.expires, reason)


def is_unanswered(address: Address) -> bool:
    return address.reason.startswith(f"{ERRORS[Failure.UNANSWERED]}:")

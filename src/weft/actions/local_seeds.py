"""Seeds on this machine or in a private network: crawled only where a user says that this is meant."""

from __future__ import annotations

from collections.abc import Callable

from weft.addresses.address_rules import AddressRules
from weft.addresses.local_names import LocalNames
from weft.addresses.resolver import literal_address
from weft.config.sections import UrlserverSettings
from weft.model.host import name_of

Permission = Callable[[str, str], bool]
"""Asked with a web host and where it is: may it be crawled although it is there?"""


class LocalSeeds:
    """Knows, without asking the DNS, which hosts the settings refuse though a user could allow them."""

    def __init__(self, settings: UrlserverSettings, is_permitted: Permission, *, is_meant: bool = False) -> None:
        """`is_meant`: the user said that all hosts of this command may be local."""
        self._names, self._rules = LocalNames(settings), AddressRules(settings.allow_net)
        self._is_permitted, self._is_meant = is_permitted, is_meant
        self._asked: dict[str, bool] = {}

    def is_meant(self, web_host: str) -> bool:
        """Whether the user said, or says now, that this host may be local; each host is asked about once."""
        if self._is_meant:
            return True
        if web_host not in self._asked:
            where = self.place_of(web_host)
            self._asked[web_host] = bool(where) and self._is_permitted(web_host, where)
        return self._asked[web_host]

    def place_of(self, web_host: str) -> str:
        """Where the host is, if it is refused there and a user could allow it; else nothing."""
        name = name_of(web_host)
        given = literal_address(name)
        found = None if given else self._names.find(name)
        for address in (given,) if given else found.addresses if found else ():
            refusal = self._rules.is_refused(address)
            if refusal and not self._rules.is_refused(address, is_local=True):
                return f"{refusal}; {found.named_by}" if found else refusal
        return ""

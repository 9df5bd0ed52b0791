"""The few numbers from which a whole web follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from weft.demo.web.definition.profile import Profile
from weft.errors import UsageError

MOST_ADDRESSES: Final = 65_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPlan:
    """Two equal plans are the same web, page for page; ports are part of every URL and so of the plan.

    `pages` is the mean number of HTML pages of a host. `port` 0 takes a free one when the web is served; without `tls`
    no host is secure. `page_bytes` and `links` are the least and the most that a page has of them. `epoch` is when the
    web's clock began (seconds since 1970): pages that change by themselves count from there.
    `extra_sites` names a function, `module:function`, that is given the plan and returns more sites.
    """

    seed: int = 1
    hosts: int = 50
    pages: int = 20
    addresses: int = 5
    port: int = 0
    tls: bool = False
    tls_port: int = 0
    page_bytes: tuple[int, int] = (3_000, 30_000)
    links: tuple[int, int] = (5, 60)
    agent: str = "weft"
    epoch: float = 1_767_225_600.0
    profile: Profile = field(default_factory=Profile)
    extra_sites: str = ""

    def __post_init__(self) -> None:
        _check("hosts", self.hosts, 1, 100_000)
        _check("pages", self.pages, 1, 100_000_000)
        _check("addresses", self.addresses, 1, MOST_ADDRESSES)
        _check("seed", self.seed, 0, 2**63 - 1)
        for name, port in (("port", self.port), ("tls port", self.tls_port)):
            _check(name, port, 0, 65_535)
        for name, (least, most) in (("page_bytes", self.page_bytes), ("links", self.links)):
            _check(f"least of {name}", least, 0, most)
            _check(f"most of {name}", most, least, 1_000_000)

    def address(self, number: int) -> str:
        """The address with this number: 127.0.0.1 and up."""
        return f"127.0.{(number + 1) >> 8}.{(number + 1) & 0xFF}"


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"a synthetic web cannot have {name} {value}; expected {least} to {most}")

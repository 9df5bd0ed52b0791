"""The hosts of a synthetic web: name, address, size and traits, each a pure function of the plan and its number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.layout import Layout, layout_by_seed
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.traits import Traits, traits_by_seed

_HOSTS_IN_DOMAIN: Final = 3
_NAME: Final = re.compile(r"(?:([a-z]+)\.)?site([0-9]{5})\.demo[0-9]{5}\.test")
_SUBDOMAINS: Final = ("blog", "shop", "docs", "www")


@dataclass(frozen=True, slots=True)
class DemoHost:
    """`traits` are those that the seed chose; what is in force now, a control call may have switched."""

    number: int
    name: str
    address: str
    layout: Layout
    traits: Traits


class Hosts:
    """Finds hosts by number and by name; remembers the latest few thousand."""

    def __init__(self, plan: WebPlan) -> None:
        self._plan = plan
        self.numbered = lru_cache(maxsize=4_096)(self._make)

    def __len__(self) -> int:
        return self._plan.hosts

    def named(self, name: str) -> DemoHost | None:
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        number = int(match[2]) + (match[1] is not None)
        if number >= self._plan.hosts:
            return None
        host = self.numbered(number)
        return host if host.name == name else None

    def _make(self, number: int) -> DemoHost:
        plan = self._plan
        dice = Dice(plan.seed, "host", number)
        name, address = self._name(number, dice), plan.address(dice.below(plan.addresses))
        pages = max(1, round(plan.pages * (0.5 + dice.unit())))
        traits = traits_by_seed(plan.profile, dice, tls=plan.tls) if number else Traits()
        layout = layout_by_seed(pages, plan.profile, dice, has_closed=traits.has_closed, has_sitemap=traits.has_sitemap)
        return DemoHost(number, name, address, layout, traits)

    def _name(self, number: int, dice: Dice) -> str:
        """Three hosts share a registrable domain; the third is sometimes a subdomain of the second."""
        domain, place = divmod(number, _HOSTS_IN_DOMAIN)
        subdomain = dice.pick(_SUBDOMAINS)
        if dice.chance(0.5) and place == _HOSTS_IN_DOMAIN - 1:
            return f"{subdomain}.site{number - 1:05d}.demo{domain:05d}.test"
        return f"site{number:05d}.demo{domain:05d}.test"

"""Where redirects lead: to a page of the same host, of another one, through chains, or nowhere."""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.hosts import DemoHost, Hosts
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.links import Linker
from weft.demo.web.definition.paths import path_of
from weft.demo.web.definition.plan import WebPlan

_STATUSES: Final = (301, 302, 303, 307, 308)
_MOST_HOPS: Final = 4


class Redirect(NamedTuple):
    """`location` as the header says it, `url` where that leads."""

    status: int
    location: str
    url: str


def redirect_of(plan: WebPlan, hosts: Hosts, linker: Linker, host: DemoHost, number: int, hop: int) -> Redirect | None:
    """What resource `number` answers at `hop` (0 is its own path); None where there is no such hop."""
    kind = host.layout.kind(number)
    dice = Dice(plan.seed, "redirect", host.number, number, hop)
    status, is_absolute = dice.pick(_STATUSES), dice.chance(0.5)
    own = path_of(plan.seed, host, number)
    if kind is PageKind.LOOP and hop <= 1:
        path = own if hop else f"{own}/1"
    elif kind is PageKind.CHAIN and hop < _hops(plan, host, number):
        path = f"{own}/{hop + 1}"
    elif hop and (kind is not PageKind.CHAIN or hop > _hops(plan, host, number)):
        return None
    elif kind is PageKind.MOVED_AWAY:
        to = hosts.numbered(dice.below(len(hosts)))
        url = linker.url(to, dice.zipf(to.layout.pages))
        return Redirect(status, url, url)
    else:
        path = path_of(plan.seed, host, dice.zipf(host.layout.pages))
    url = linker.origin(host) + path
    return Redirect(status, url if is_absolute else path, url)


def _hops(plan: WebPlan, host: DemoHost, number: int) -> int:
    return Dice(plan.seed, "hops", host.number, number).between(1, _MOST_HOPS)

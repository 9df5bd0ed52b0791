"""robots.txt of every host: first as data, which judge and truth read, then as the text that is served.

Nothing here reads a robots.txt: the data says which paths are closed, and every text means exactly that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.links import Linker
from weft.demo.web.definition.paths import closed_section
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.traits import RobotsKind, Traits

PATH: Final = "/robots.txt"
HUGE_BYTES: Final = 600 << 10
CHAIN_HOPS: Final = 4
LONG_CHAIN_HOPS: Final = 8
_OWN_HOP: Final = "/robots/{}"
_AWAY: Final = "/robots-of/{}.txt"


class Verdict(StrEnum):
    """What a crawler has to take from a host's robots.txt."""

    RULES = "rules"
    ALL_OPEN = "all open"
    ALL_CLOSED = "all closed"


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """Paths that begin with one of `closed` are closed, unless they begin with one of `opened`."""

    closed: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    crawl_delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def is_open(self, target: str) -> bool:
        return not target.startswith(self.closed) or target.startswith(self.opened)


_VERDICTS: Final = {
    RobotsKind.MISSING: Verdict.ALL_OPEN,
    RobotsKind.FORBIDDEN: Verdict.ALL_OPEN,
    # More than five redirects: RFC 9309 lets a crawler take the file for unavailable, which means open.
    RobotsKind.LONG_CHAIN: Verdict.ALL_OPEN,
    RobotsKind.FAILING: Verdict.ALL_CLOSED,
    RobotsKind.RESET: Verdict.ALL_CLOSED,
}


def verdict_of(traits: Traits) -> Verdict:
    """What the whole exchange comes to, redirects followed."""
    return Verdict.ALL_CLOSED if traits.is_down else _VERDICTS.get(traits.robots, Verdict.RULES)


def rules_of(host: DemoHost, traits: Traits, linker: Linker) -> RobotsRules:
    section = f"/{closed_section(host)}/"
    return RobotsRules(
        closed=((section,) if traits.has_closed else ()) + traits.closed_paths,
        opened=(f"{section}open-",) if traits.has_closed else (),
        crawl_delay=traits.crawl_delay,
        sitemaps=(f"{linker.origin(host)}/sitemap.xml",) if traits.has_sitemap else (),
    )


@dataclass(frozen=True, slots=True)
class RobotsHop:
    """One URL on the way to a host's rules; `leads_to` is the next, None where the way ends."""

    of: int
    leads_to: str | None


def robots_hop(plan: WebPlan, host: DemoHost, traits: Traits, path: str, linker: Linker) -> RobotsHop | None:
    """What a path of `host` has to do with robots.txt: its own, or that of the host that lends its rules here."""
    if path == PATH:
        return RobotsHop(host.number, _first_hop(plan, host, traits, linker))
    if path.startswith("/robots/"):
        number = path[len("/robots/") :]
        hops = {RobotsKind.MOVED: 1, RobotsKind.CHAIN: CHAIN_HOPS, RobotsKind.LONG_CHAIN: LONG_CHAIN_HOPS}
        last = hops.get(traits.robots, 0)
        if not number.isdecimal() or not 0 < int(number) <= last:
            return None
        at = int(number)
        return RobotsHop(host.number, linker.origin(host) + _OWN_HOP.format(at + 1) if at < last else None)
    if path.startswith("/robots-of/") and path.endswith(".txt"):
        number = path[len("/robots-of/") : -len(".txt")]
        if number.isdecimal() and int(number) < plan.hosts and lender_of(plan, int(number)) == host.number:
            return RobotsHop(int(number), None)
    return None


def lender_of(plan: WebPlan, number: int) -> int:
    """The host that holds the rules of host `number` when they are elsewhere; never host itself if there are two."""
    return (number + 1) % plan.hosts


def _first_hop(plan: WebPlan, host: DemoHost, traits: Traits, linker: Linker) -> str | None:
    if traits.robots in (RobotsKind.MOVED, RobotsKind.CHAIN, RobotsKind.LONG_CHAIN):
        return linker.origin(host) + _OWN_HOP.format(1)
    if traits.robots is RobotsKind.AWAY:
        return linker.origin(linker.host(lender_of(plan, host.number))) + _AWAY.format(host.number)
    return None


def robots_text(rules: RobotsRules, agent: str, dice: Dice, size: int = 0) -> bytes:
    """One of the ways to write the rules; with `size`, padded to so many bytes."""
    end = dice.pick(("\n", "\n", "\r\n", "\r"))
    own = [f"User-agent: {dice.pick((agent, agent.upper()))}", *_rule_lines(rules, dice)]
    others = ["User-agent: *", "Disallow: /", ""]
    lines = own if dice.chance(0.3) else ["User-agent: *", *_rule_lines(rules, dice)]
    lines = [*others, *own] if dice.chance(0.3) else lines
    lines = ["# Rules of this host", "", *lines, ""] + [f"Sitemap: {url}" for url in rules.sitemaps]
    text = end.join([*lines, ""]).encode()
    mark = b"\xef\xbb\xbf" if dice.chance(0.1) else b""
    filler = f"# nothing to see in this line, nor in the next one{end}".encode()
    return mark + text + filler * max(0, (size - len(text)) // len(filler) + 1 if size else 0)


def _rule_lines(rules: RobotsRules, dice: Dice) -> list[str]:
    disallow, allow = dice.pick((("Disallow", "Allow"), ("disallow", "allow"), ("DISALLOW", "ALLOW")))
    lines = [f"{disallow}: {_closed_spelling(path, dice)}" for path in rules.closed] or ["Disallow:"]
    lines += [f"{allow}: {path}" for path in rules.opened]
    if rules.crawl_delay:
        lines.insert(0, f"Crawl-delay: {rules.crawl_delay:g}")
    if dice.chance(0.3):
        lines.append("Nonsense: yes  # unknown lines do not count")
    return lines


def _closed_spelling(path: str, dice: Dice) -> str:
    """Ways to write one prefix that all mean the same."""
    ways = (path, f"{path}*", f"{path}  # closed", path.replace("%C3%A9", "é"))
    return dice.pick(ways)

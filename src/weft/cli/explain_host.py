"""What decides about a URL beside its own record: its host's clock, robots.txt, sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from weft.answers.objects import moment
from weft.cli.invocation import rules_of
from weft.config.agent import product_token

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.mgmt.api import Mgmt
    from weft.model.url import PageUrl


def host_facts(mgmt: Mgmt, settings: Settings, url: str) -> dict[str, Any]:
    """What the running URL servers say about the URL's host at this moment; `problem` if none answers."""
    from weft.clock import SystemClock
    from weft.model.host import web_host_of
    from weft.urlserver.asking import NoUrlServer, ask_host
    from weft.urlserver.words import host_words

    name, best, problem = web_host_of(url), None, "no URL server runs: nobody asks it now"
    for address in _url_servers(mgmt):
        try:
            view = ask_host(settings, name, url, address)
        except NoUrlServer as error:
            problem = str(error)
            continue
        if best is None or view.queue is not None:
            best = address, view
    if best is None:
        return {"host": name, "problem": problem}
    address, view = best
    words = host_words(view, SystemClock().now())
    return {**msgspec.to_builtins(view), "server": address, "words": words}


def _url_servers(mgmt: Mgmt) -> list[str]:
    """All that run: a host is one's alone, so only one of them can know it."""
    from weft.mgmt.values import NodeState, NodeType

    nodes = [node for node in mgmt.nodes() if node.type is NodeType.CRAWLER]
    return [node.address for node in nodes if node.state is not NodeState.OFFLINE]


def robots_facts(mgmt: Mgmt, settings: Settings, url: str) -> dict[str, Any] | None:
    from weft.robots.policy import policy

    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = mgmt.robots([origin]).get(origin)
    if known is None:
        return None
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    rules = policy(known.status, known.body, product_token(settings.spider), settings.limits.robots_bytes)
    decision = rules.decide(target)
    expires = moment(known.expires)
    about = {"origin": origin, "status": known.status, "expires": expires, "crawl_delay": rules.crawl_delay}
    return {**about, "allowed": decision.allowed, "line": decision.line_text}


def sitemap_of(mgmt: Mgmt, settings: Settings, page: PageUrl) -> str | None:
    """The origin whose robots.txt names this URL as a sitemap: its own host's, or that of the domain's first hosts."""
    from weft.urlserver.sitemaps import sitemaps_of

    hosts = dict.fromkeys([urlsplit(page.url).netloc, page.domain, f"www.{page.domain}"])
    found = mgmt.robots([f"{scheme}://{host}" for host in hosts for scheme in ("https", "http")])
    rules, limit = rules_of(settings), settings.limits.robots_bytes
    naming = (origin for origin, robots in found.items() if _names(sitemaps_of(robots, rules, limit), page))
    return next(naming, None)


def _names(sitemaps: list[PageUrl], page: PageUrl) -> bool:
    return any(sitemap.uri == page.uri for sitemap in sitemaps)

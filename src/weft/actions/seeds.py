"""Adding seeds: URLs to crawl, and the sites that they begin."""

from __future__ import annotations

from typing import Final

import msgspec

from weft.actions.seed_paths import bounded_to
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import NewLink
from weft.model.host import ANYWHERE, web_host_of
from weft.model.site import Site
from weft.model.url import UrlRefused, UrlRules

_GROUP: Final = 5000
"""Links that are added in one transaction."""
_SEEDS: Final = 100
"""Seeds of a site that are remembered."""


class SeedAdder:
    """Takes any number of URLs, adds them in groups, and counts. Nothing is certain before `finish`."""

    def __init__(self, mgmt: OperatorCalls, rules: UrlRules, scope: str) -> None:
        """`scope` is what may be crawled: the `path` of each seed, their `hosts`, their `domains`, or `any` site."""
        self._mgmt, self._rules, self._scope = mgmt, rules, scope
        self._sites = {site.name: site for site in mgmt.sites()}
        self._waiting: list[NewLink] = []
        self._unknown: set[str] = set()
        """Sites that the control plane does not have yet."""
        self._grown: set[str] = set()
        """Sites with more seeds than it knows. Written at the end, because they grow with every group."""
        self.named: set[str] = set()
        """The sites that the seeds belong to."""
        self.hosts: set[str] = set()
        """The web hosts that they are on."""
        self.new = self.known = self.refused = 0

    def add(self, text: str) -> UrlRefused | None:
        """Add one URL as a person types it; returns why it cannot be crawled, if it cannot."""
        try:
            page = self._rules.identify_typed(text)
        except UrlRefused as refused:
            self.refused += 1
            return refused
        host = web_host_of(page.url)
        self.hosts.add(host)
        self._waiting.append(NewLink(page.uri, page.url, host))
        name = {"domains": page.domain, "any": ANYWHERE}.get(self._scope, host)
        self._name_site(name, page.url)
        if self._scope == "path":
            self._bound(name, page.url)
        if len(self._waiting) >= _GROUP:
            self._flush()
        return None

    def finish(self) -> None:
        self._flush()
        self._mgmt.set_sites([self._sites[name] for name in self._grown])

    def _flush(self) -> None:
        # Sites first: a link of no site is out of scope.
        self._mgmt.set_sites([self._sites[name] for name in self._unknown])
        new = self._mgmt.add(self._waiting)
        self.new += new
        self.known += len(self._waiting) - new
        self._waiting, self._unknown = [], set()

    def _bound(self, name: str, seed: str) -> None:
        bounded = bounded_to(self._sites[name], seed)
        if bounded != self._sites[name]:
            self._sites[name] = bounded
            self._grown.add(name)

    def _name_site(self, name: str, seed: str) -> None:
        self.named.add(name)
        site = self._sites.get(name)
        if site is None:
            scope = "hosts" if self._scope == "path" else self._scope
            self._sites[name] = Site(name=name, scope=scope, seeds=[seed])
            self._unknown.add(name)
        elif len(site.seeds) < _SEEDS and seed not in site.seeds:
            self._sites[name] = msgspec.structs.replace(site, seeds=[*site.seeds, seed])
            self._grown.add(name)

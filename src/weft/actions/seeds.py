"""Adding seeds: URLs to crawl, and the sites that they begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from weft.actions.local_seeds import LocalSeeds
from weft.actions.seed_paths import bounded_to, unbounded
from weft.actions.sites import SiteChange, changed
from weft.errors import LocalRefused, UsageError, WeftError
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Seed
from weft.model.host import ANYWHERE, web_host_of
from weft.model.site import NO_CREDENTIALS, NO_SETTINGS, Site
from weft.model.url import UrlRefused, UrlRules

_GROUP: Final = 5000
"""Links that are added in one transaction."""
_SEEDS: Final = 100
"""Seeds of a site that are remembered."""


class SeedAdder:
    """Takes any number of URLs, adds them in groups, and counts. Nothing is certain before `finish`."""

    def __init__(
        self,
        mgmt: OperatorCalls,
        rules: UrlRules,
        scope: str | None = None,
        local: LocalSeeds | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """`scope` is what may be crawled: the `path` of each seed, their `hosts`, their `domains`, or `any` site.

        None: sites keep the scope that they have, and new ones are `hosts`. Without `local`, nobody minds where hosts
        are. `settings` are set for the sites of all seeds, before any is fetched.
        """
        self._mgmt, self._rules, self._scope, self._local = mgmt, rules, scope, local
        self._change = SiteChange(settings=settings or {})
        self._sites = {site.name: site for site in mgmt.sites()}
        self._waiting: list[Seed] = []
        self._urgent: set[str] = set()
        """Sites that must be right before their links are added."""
        self._grown: set[str] = set()
        """Sites with more seeds than it knows. Written at the end, because they grow with every group."""
        self.named: set[str] = set()
        """The sites that the seeds belong to."""
        self.new = self.known = self.refused = 0

    def add(self, text: str) -> WeftError | None:
        """Add one URL as a person types it; returns why it cannot be crawled, if it cannot."""
        try:
            page = self._rules.identify_typed(text)
            host = web_host_of(page.url)
            is_local = self._is_local(host, page.url)
        except (UrlRefused, UsageError) as refused:
            self.refused += 1
            return refused
        scope = "hosts" if self._scope in (None, "path") else self._scope
        name = {"domains": page.domain, "any": ANYWHERE}.get(scope, host)
        self._waiting.append(Seed(page.uri, page.url, host, any_scheme=self._rules.lacks_scheme(text)))
        self._name_site(name, scope, page.url)
        self._put(changed(self._sites[name], self._change))
        if self._scope == "path":
            self._put(bounded_to(self._sites[name], page.url))
        elif self._scope and host in self._sites:
            self._put(unbounded(self._sites[host]))
        if is_local:
            self._open_local(host)
        if len(self._waiting) >= _GROUP:
            self._flush()
        return None

    def finish(self) -> None:
        self._flush()
        self._mgmt.set_sites([self._sites[name] for name in self._grown])

    def _flush(self) -> None:
        # Sites first: a link of no site is out of scope.
        self._mgmt.set_sites([self._sites[name] for name in self._urgent])
        new = self._mgmt.want(self._waiting)
        self.new += new
        self.known += len(self._waiting) - new
        self._waiting, self._urgent = [], set()

    def _put(self, site: Site) -> None:
        if site != self._sites.get(site.name):
            self._sites[site.name] = site
            self._urgent.add(site.name)

    def _is_local(self, host: str, url: str) -> bool:
        """Whether the user says that it may be on this machine or in a private network; raises UsageError if not."""
        site = self._sites.get(host)
        if self._local is None or (site is not None and site.settings.local):
            return False
        if self._local.is_meant(host):
            return True
        if where := self._local.place_of(host):
            raise LocalRefused(f"{url} is local ({where}); add --local if you mean it")
        return False

    def _open_local(self, host: str) -> None:
        """For this host alone, whatever the scope: its neighbours may be anybody's."""
        site = self._sites.get(host) or Site(name=host)
        self._put(msgspec.structs.replace(site, settings=site.settings.with_setting("local", True)))

    def _name_site(self, name: str, scope: str, seed: str) -> None:
        self.named.add(name)
        site = self._sites.get(name)
        if site is None:
            self._sites[name] = Site(name=name, scope=scope, seeds=[seed])
            self._urgent.add(name)
            return
        if (self._scope and site.scope != scope) or site.led_from:
            # The user corrects the scope, or names what only a redirect had led to.
            self._urgent.add(name)
            settings = NO_SETTINGS if site.settings == NO_CREDENTIALS else site.settings
            site = msgspec.structs.replace(
                site, scope=scope if self._scope else site.scope, led_from="", settings=settings
            )
        self._sites[name] = site
        seeds = _with_seed(site.seeds, seed)
        if seeds != site.seeds:
            self._sites[name] = msgspec.structs.replace(site, seeds=seeds)
            self._grown.add(name)


def _with_seed(seeds: list[str], seed: str) -> list[str]:
    """A seed takes the place of the same one with another scheme."""
    changed = [seed if _without_scheme(known) == _without_scheme(seed) else known for known in seeds]
    return changed if seed in changed or len(seeds) >= _SEEDS else [*seeds, seed]


def _without_scheme(url: str) -> str:
    return url.partition(":")[2]

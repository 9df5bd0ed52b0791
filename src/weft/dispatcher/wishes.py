"""Pages that people want now: made due at once, and followed until they were fetched, wherever they lead.

A wish stands in the control plane until its page was fetched after it was named. Every look compares it with the
page's record and does what is missing, so that it may be repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, refusal_of
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.mgmt.api import DispatcherCalls
from weft.mgmt.values import Wish
from weft.model.domain import reversed_domain
from weft.model.fetch_error import FetchError
from weft.model.host import web_host_of
from weft.model.refusal import RECONSIDERED
from weft.model.site import NO_CREDENTIALS, Site
from weft.model.url import PageUrl, Uri, domain_of, url_of

_LOOK_AT: Final = 1000
"""Wishes that one step looks at."""
_LONGEST: Final = 24 * 3_600_000
"""A page that cannot be had for so long is not wanted "now" any more."""


class Wishes:
    """Reads the wishes whenever the sites were read again, and at every step while any stand."""

    def __init__(self, mgmt: DispatcherCalls, settings: DispatcherSettings) -> None:
        self._mgmt, self._settings = mgmt, settings
        self._scope: Scope | None = None
        self._after = ""
        self._any_stand = False

    def look(self, links: LinkRound, scope: Scope, now: int) -> WishLook:
        """Put what wishes change into the round; `settle` the rest once that is written."""
        look = WishLook(links, scope, self._settings, now)
        if scope is self._scope and not self._any_stand:
            return look
        self._scope = scope
        wishes = self._mgmt.wishes(self._after, _LOOK_AT)
        self._any_stand = bool(wishes) or bool(self._after)
        self._after = wishes[-1].uri if len(wishes) == _LOOK_AT else ""
        look.take(wishes)
        return look

    def settle(self, look: WishLook) -> None:
        if look.led_to:
            self._mgmt.add_sites(look.led_to)
        if look.granted or look.instead:
            self._mgmt.settle_wishes(look.granted, look.instead)


@dataclass
class WishLook:
    """One look at some wishes."""

    links: LinkRound
    scope: Scope
    settings: DispatcherSettings
    now: int
    granted: list[Wish] = field(default_factory=list)
    instead: list[Wish] = field(default_factory=list)
    led_to: list[Site] = field(default_factory=list)
    """Hosts that redirects led to, which are crawled from now on."""
    changed: int = 0
    """Records."""

    @property
    def has_done_something(self) -> bool:
        return bool(self.granted or self.instead or self.led_to or self.changed)

    def take(self, wishes: Sequence[Wish]) -> None:
        records = self.links.read([_place(wish) for wish in wishes])
        for wish, record in zip(wishes, records, strict=True):
            self._look_at(wish, record)

    def _look_at(self, wish: Wish, record: LinkRecord | None) -> None:
        if self.now - wish.asked > _LONGEST:
            self.granted.append(wish)
        elif record is None or record.phase is LinkPhase.GIVEN:
            return
        elif record.phase is LinkPhase.HIDDEN:
            self._open(wish, record)
        elif record.phase is LinkPhase.NEW or record.fetched < wish.asked:
            self._put(wish, record, _wanted(record, wish, self.now))
        elif not _is_on_its_way(record):
            self._end(wish, record)

    def _open(self, wish: Wish, record: LinkRecord) -> None:
        """The settings may allow by now what they refused."""
        domain, uri = _place(wish)
        link = DiscoveredLink(domain, uri, record.url, 0 if _is_named(wish) else record.depth, "")
        is_judged_by_settings = record.refused_as in RECONSIDERED
        if not is_judged_by_settings or refusal_of(self.scope, link, self.now, self.settings):
            self.granted.append(wish)
        else:
            self._put(wish, record, _wanted(record.reopen(self.now), wish, self.now))

    def _put(self, wish: Wish, before: LinkRecord, after: LinkRecord) -> None:
        if after != before:
            self.links.put(*_place(wish), after)
            self.changed += 1

    def _end(self, wish: Wish, record: LinkRecord) -> None:
        """It was fetched; what came of that?"""
        if wish.any_scheme and record.error == FetchError.CONNECT and record.url.startswith("https:"):
            url = "http:" + wish.url.removeprefix("https:")
            later = max(self.now, record.fetched + 1)
            self.instead.append(msgspec.structs.replace(wish, url=url, any_scheme=False, asked=later))
            return
        self.granted.append(wish)
        if record.location and not record.error:
            self._follow(wish, record)

    def _follow(self, wish: Wish, record: LinkRecord) -> None:
        """Redirects within the domain belong to what was named, whatever host they lead to."""
        target = Uri(record.location)
        url = url_of(target, record.url.partition(":")[0])
        domain = domain_of(target)
        if domain != domain_of(Uri(wish.uri)) or wish.hops >= self.settings.redirect_hops:
            return
        site = self.scope.site_at(record.url, domain)
        if site is not None and self.scope.site_of(PageUrl(url, target, domain)) is None:
            led = Site(name=web_host_of(url), settings=NO_CREDENTIALS, led_from=record.url)
            self.led_to.append(led)
        self.instead.append(Wish(target, url, hops=wish.hops + 1, asked=wish.asked))


def _wanted(record: LinkRecord, wish: Wish, now: int) -> LinkRecord:
    """The record of a link that is fetched as soon as anything is; nothing is held against it."""
    depth = 0 if _is_named(wish) else record.depth
    if record.phase is LinkPhase.NEW:
        return msgspec.structs.replace(record, depth=depth)
    return msgspec.structs.replace(record.at_once(now), depth=depth, url=_url(record, wish))


def _url(record: LinkRecord, wish: Wish) -> str:
    """As it was typed, unless that would lead from https that works back to http."""
    works = record.fetched and not record.error
    is_newer = record.url.startswith("https:") or wish.any_scheme
    return record.url if (works and is_newer) or not _is_named(wish) else wish.url


def _is_named(wish: Wish) -> bool:
    """Whether a person named this very page, which is then no hop away from a seed."""
    return not wish.hops


def _is_on_its_way(record: LinkRecord) -> bool:
    """Redirected to another URL of its own, which is fetched next."""
    return record.self_redirect and not record.error


def _place(wish: Wish) -> tuple[bytes, bytes]:
    return reversed_domain(domain_of(Uri(wish.uri))).encode(), wish.uri.encode()

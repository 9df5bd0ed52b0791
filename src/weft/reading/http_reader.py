"""The path from an HTTP response to what the index takes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from weft.archive.http_message import HttpHead, text_of
from weft.html import robots_in_header
from weft.linkindex.loaded import LoadedPage, load_gone, load_joined
from weft.linkindex.records import Doc
from weft.model.links import base_for_links, join_links
from weft.model.url import PageUrl, UrlRefused
from weft.reading import body_types
from weft.reading.following import (
    FoundUrl,
    fingerprint_of_entries,
    followed_entries,
    followed_links,
    followed_page,
    followed_refresh,
    join_elsewhere,
)
from weft.reading.listing_entries import UrlListing
from weft.reading.listing_kinds import ListingKind
from weft.reading.outcomes import BodyKind, Effect, Leads, PageOutcome, effect_of, is_redirect, is_success, outcome_of
from weft.reading.response_body import BodyType, PageContent, RecognisedBody
from weft.reading.settings import ReadingPolicy, ReadingSettings

_LONGEST_TYPE: Final = 255
"""Characters of a media type (RFC 6838, section 4.2: 127 on either side of the slash)."""


class Payload(Protocol):
    """What came with a success: a `Body`, or what another program extracted from one."""

    @property
    def head(self) -> HttpHead: ...

    @property
    def media_type(self) -> str: ...

    @property
    def size(self) -> int | None:
        """Bytes as sent; None: not known."""
        ...

    def recognise(self, types: Iterable[BodyType]) -> RecognisedBody | None:
        """What reads it; None if none of `types` does."""
        ...


class PageResponse(NamedTuple):
    """The response to a request for a page, wherever it was kept."""

    page: PageUrl
    at: int
    """Milliseconds since 1970."""
    status: int
    location: str | None
    """Where a redirect leads, as written; None if there is no Location. An empty one leads to the page itself."""
    open_payload: Callable[[], Payload]
    """Called for a success alone."""


class Reading(NamedTuple):
    """What a response says. Crawl, import and verify each take the fields that they need."""

    outcome: PageOutcome
    page: LoadedPage | None
    """The page's new content or its removal; None: the index keeps what it has."""
    target: PageUrl | None = None
    """Where a redirect leads."""
    follow: Sequence[FoundUrl] = ()
    """Links, entries of a listing, the target of a redirect or refresh."""
    is_index: bool = False
    """Whether the URLs to follow are sitemaps."""
    title: str = ""
    text: str = ""
    canonical: str = ""
    """Uri of the page that this one names in its place; empty: none other."""
    fingerprint: int = 0
    simhash: int = 0


class HttpReader:
    """Reads responses by the table of outcomes and the list of body types."""

    def __init__(self, settings: ReadingSettings, policy: ReadingPolicy) -> None:
        self.settings, self.rules, self._policy = settings, settings.url_rules(), policy
        self._types = [
            body_type for body_type in body_types.BODY_TYPES if policy.discovers or body_type.kind is BodyKind.PAGE
        ]

    def read(self, response: PageResponse) -> Reading:
        """Raises BodyRefused, and whatever opening the payload raises."""
        status = response.status
        leads, target = self._leads(response) if is_redirect(status) else (Leads.NOWHERE, None)
        payload = response.open_payload() if is_success(status) else None
        body = payload.recognise(self._types) if payload else None
        outcome = outcome_of(status, leads, body.kind if body else BodyKind.OTHER)
        if payload and body:
            content = body.read(self.settings)
            if isinstance(content, UrlListing):
                return self._listing(response, outcome, payload, content)
            return self._page(response, outcome, payload, content)
        follow = [followed_page(target)] if target and outcome is PageOutcome.MOVED else []
        facts = _facts(response, payload, target.url if target else "")
        moved_to = target.uri if target and outcome is PageOutcome.MOVED else ""
        return Reading(outcome, self._removal(response, outcome, facts, moved_to), target, follow)

    def _leads(self, response: PageResponse) -> tuple[Leads, PageUrl | None]:
        if response.location is None:
            return Leads.NOWHERE, None
        try:
            target = self.rules.join(response.page.url, response.location)
        except UrlRefused:
            return Leads.TO_NO_PAGE, None
        return (Leads.TO_ITSELF if target.uri == response.page.uri else Leads.ELSEWHERE), target

    def _page(self, response: PageResponse, outcome: PageOutcome, payload: Payload, content: PageContent) -> Reading:
        page, links = response.page, content.links
        wishes = [value for name, value in payload.head.fields if name == "x-robots-tag"]
        robots = content.robots | robots_in_header(wishes, self.settings.product)
        canonical = join_elsewhere(self.rules, page, content.canonical)
        rels = [_with_nofollow(link.rel) if robots.nofollow else link.rel for link in links]
        base = base_for_links(page.url, content.base or None)
        joined = join_links(self.rules, base, [link.href for link in links])
        facts = _facts(response, payload)
        doc = msgspec.structs.replace(
            facts if robots.noindex else content.doc,
            status=facts.status,
            type=facts.type,
            bytes=facts.bytes,
            canonical=canonical.url if canonical else "",
            noindex=robots.noindex,
            nofollow=robots.nofollow,
        )
        anchors = [link.anchor for link in links]
        loaded = load_joined(page, response.at, joined, anchors, rels, doc, self.settings.limits)
        if not self._policy.discovers:
            return Reading(outcome, loaded)
        follow = followed_links(loaded.outlinks, joined, rels)
        follow += followed_refresh(self.rules, page, content.refresh)
        return Reading(
            outcome,
            loaded,
            follow=follow,
            title=content.doc.title,
            text=content.doc.text,
            canonical=canonical.uri if canonical else "",
            fingerprint=content.fingerprint,
            simhash=content.simhash,
        )

    def _listing(self, response: PageResponse, outcome: PageOutcome, payload: Payload, listing: UrlListing) -> Reading:
        most = self.settings.limits.sitemap_url_bytes
        follow = followed_entries(self.rules, response.page, listing, most)
        return Reading(
            outcome,
            self._removal(response, outcome, _facts(response, payload)),
            follow=follow,
            is_index=listing.kind is ListingKind.INDEX,
            fingerprint=fingerprint_of_entries(follow),
        )

    def _removal(
        self, response: PageResponse, outcome: PageOutcome, facts: Doc, moved_to: str = ""
    ) -> LoadedPage | None:
        """For a response without content: that there is no page and what is there instead, or nothing."""
        effect = effect_of(outcome, bad_redirect_removes=self._policy.bad_redirect_removes)
        return load_gone(response.page, response.at, facts, moved_to) if effect is Effect.REMOVE else None


def _facts(response: PageResponse, payload: Payload | None, location: str = "") -> Doc:
    if payload is None:
        return Doc(status=response.status, location=location)
    return Doc(status=response.status, type=payload.media_type[:_LONGEST_TYPE], bytes=payload.size)


def location_in(head: HttpHead) -> str | None:
    """For PageResponse."""
    return text_of(head.get("location")) or None


def _with_nofollow(rel: str) -> str:
    return rel if "nofollow" in rel.split() else f"{rel} nofollow".strip()

"""The answers as objects: the same fields in Python, in JSON and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from weft.model.page_state import PageState


class TotalsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How much the index knows."""

    seq: int
    pages: int
    """Loaded, or referenced by a loaded page."""
    domains: int
    references: int
    counting: str


class TopItem(msgspec.Struct, frozen=True):
    uri: str
    url: str
    references: int
    score: int
    crawled: bool


class FoldedItem(TopItem, frozen=True):
    """An item that stands for others that say nearly the same."""

    near: list[str]
    """Their URLs."""


class NearItem(msgspec.Struct, frozen=True):
    """A page that says nearly the same as another."""

    uri: str
    url: str
    distance: int
    """Bits of 64 in which their simhashes differ."""


class LinkItem(msgspec.Struct, frozen=True):
    """A page that references, or is referenced, and with what words."""

    uri: str
    url: str
    anchor: str
    since: str | None
    rel: str = ""


class DomainItem(msgspec.Struct, frozen=True):
    domain: str
    pagecount: int
    references: int


class ChangeItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened to a link, or to a page itself, which is `target` then."""

    at: str
    kind: str
    """links or pages"""
    change: str
    source: str
    target: str
    anchor: str
    source_url: str = ""
    target_url: str = ""
    title: str | None = None
    """Of a page that is new or has another title; else absent."""
    moved_to: str | None = None
    """Where a page leads that redirects now; else absent."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of items, true for the index at `seq`; `total` counts the items of all pages, where that is known."""

    seq: int
    count: int
    total: int | None
    items: list[Any]
    next: str | None
    prev: str | None
    counting: str
    """Which references count: all, or external ones."""


class PageListing(Listing, frozen=True, kw_only=True):
    """A listing about one page."""

    uri: str
    url: str
    references: int


class DomainListing(Listing, frozen=True, kw_only=True):
    """A listing about one domain."""

    domain: str


class Baseline(msgspec.Struct, frozen=True):
    """Where history begins, if it does with a bulk import."""

    at: str
    references: int
    pages: int


class ChangeListing(Listing, frozen=True, kw_only=True):
    """A listing of changes; what a bulk import brought is not among them but counted in `baseline`."""

    baseline: Baseline | None
    cut_short: bool
    """Whether the answer looked through as many changes as one answer may: `next` (or `prev`) goes on looking."""


class PageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """None where something is not known, or there is none."""

    seq: int
    uri: str
    url: str
    domain: str
    references: int
    score: int
    crawled: bool
    state: PageState
    reason: str | None = None
    """Why it is refused or failing."""
    failing_since: str | None = None
    """When the first failure in a row was, while it is failing."""
    failures: int = 0
    """How many in a row, while it is failing."""
    fetched: str | None = None
    next_due: str | None = None
    status: int | None = None
    type: str | None = None
    bytes: int | None = None
    """Of the body as it was sent."""
    depth: int | None = None
    """Hops from a seed."""
    redirect: str | None = None
    """The URL that it leads to."""
    canonical: str | None = None
    """The URL of the page that stands for it, by its own word or by a rule."""
    robots: str | None = None
    """What the page asks of robots: noindex, nofollow, both, or nothing."""
    title: str | None = None
    h1: str | None = None
    outlinkcount: int | None = None
    left_out: int = 0
    """Links that do not count because the page has too many (limits.page_targets, limits.page_link_bytes)."""
    counting: str
    near: list[NearItem] = []
    """Pages that say nearly the same, the nearest first."""


def moment(milliseconds: int) -> str:
    """A time as text: UTC, to the second unless it is finer."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds").replace("+00:00", "Z")


def moment_or_none(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else moment(milliseconds)

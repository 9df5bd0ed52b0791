"""What answers and exports tell of a page beyond its links: its state, and what was found when it was fetched."""

from __future__ import annotations

from typing import NamedTuple

from weft.answers.page_state import reason_of, state_of
from weft.answers.view import guessed_url
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.linkindex.records import DocFacts, UriInfo
from weft.model.page_state import PageState
from weft.model.url import Uri, url_of


class PageFacts(NamedTuple):
    """None where it is not known or there is none. Moments are milliseconds since 1970."""

    state: PageState
    reason: str | None
    """Why it is refused or failing."""
    failing_since: int | None
    failures: int
    """In a row."""
    status: int | None
    type: str | None
    bytes: int | None
    redirect: str | None
    """The URL that it leads to."""
    canonical: str | None
    """The URL of the page that stands for it, by its own word or by a rule."""
    robots: str | None
    """What the page asks of robots: noindex, nofollow, both, or nothing."""
    h1: str | None
    depth: int | None
    next_due: int | None


def facts_of(record: LinkRecord | None, facts: DocFacts, *, is_loaded: bool, is_deleted: bool) -> PageFacts:
    """From its link record, if a crawl knows it, and from the facts of its doc."""
    state = state_of(record, facts, is_loaded=is_loaded, is_deleted=is_deleted)
    is_failing = record is not None and state is PageState.FAILING
    return PageFacts(
        state=state,
        reason=(reason_of(record) or None) if record else None,
        failing_since=(record.failing_since or None) if record and is_failing else None,
        failures=record.failures if record and is_failing else 0,
        status=(record.status if record and is_failing else facts.status) or None,
        type=facts.type or None,
        bytes=facts.bytes,
        redirect=facts.location or None,
        canonical=facts.canonical or _by_rule(record),
        robots=_robots(facts) if is_loaded else None,
        h1=facts.h1 if is_loaded else None,
        depth=record.depth if record else None,
        next_due=record.due if record and record.phase is LinkPhase.DUE else None,
    )


def unloaded_url(uri: Uri, info: UriInfo, record: LinkRecord | None) -> str:
    """The URL to show for a page without content: the one it was fetched by, or will be if nobody references it."""
    is_known_by_fetch = record is not None and (record.fetched or not info.references)
    return record.url if record is not None and is_known_by_fetch else guessed_url(uri, info)


def _by_rule(record: LinkRecord | None) -> str | None:
    return url_of(Uri(record.canonical)) if record and record.canonical else None


def _robots(facts: DocFacts) -> str:
    asked = (("noindex", facts.noindex), ("nofollow", facts.nofollow))
    return ", ".join(name for name, is_asked in asked if is_asked)

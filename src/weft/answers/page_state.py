"""Which state a page is in, by what the index and its link record hold."""

from __future__ import annotations

from typing import Final

from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.linkindex.records import DocFacts
from weft.model.fetch_error import FetchError
from weft.model.page_state import PageState

_GONE: Final = (404, 410)
_NOT_ASKED: Final = (FetchError.ROBOTS, FetchError.PRIVATE_ADDRESS, FetchError.PORT)
"""Errors by which weft leaves a page alone; the others are failed tries."""
NO_FACTS: Final = DocFacts()


def state_of(record: LinkRecord | None, facts: DocFacts, *, is_loaded: bool, is_deleted: bool) -> PageState:
    """`record` is None for a page that no crawl knows: imported, or only referenced.

    What fetching it comes to now goes before what an earlier fetch found: a page whose content is in the index may be
    failing or refused.
    """
    if record is not None and (record.phase is LinkPhase.HIDDEN or (record.failures and record.error in _NOT_ASKED)):
        return PageState.REFUSED
    if record is not None and record.failures:
        return PageState.FAILING
    if is_loaded:
        return PageState.PAGE
    return _state_without_page(facts) if is_deleted else PageState.NOT_FETCHED


def reason_of(record: LinkRecord) -> str:
    """Why it is refused or failing, as a clause for people; empty if it is neither."""
    if record.phase is LinkPhase.HIDDEN:
        return record.reason
    return FetchError.of(record.error or FetchError.HTTP).sentence if record.failures else ""


def _state_without_page(facts: DocFacts) -> PageState:
    if facts.status in _GONE or not facts.status:
        return PageState.GONE
    return PageState.FILE if facts.status < 300 else PageState.REDIRECT

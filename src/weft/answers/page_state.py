"""Which state a page is in, by what the index and its link record hold."""

from __future__ import annotations

from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.model.page_state import PageState

_GONE = (404, 410)


def state_of(record: LinkRecord | None, *, is_loaded: bool, is_deleted: bool) -> PageState:
    """`record` is None for a page that no crawl knows: imported, or only referenced."""
    if is_loaded:
        return PageState.PAGE
    if record is None:
        return PageState.GONE if is_deleted else PageState.NOT_FETCHED
    if record.phase is LinkPhase.HIDDEN:
        return PageState.REFUSED
    if record.failures:
        return PageState.FAILING
    return _state_after(record, is_deleted)


def _state_after(record: LinkRecord, is_deleted: bool) -> PageState:
    """By the last fetch that decided."""
    if not record.decided:
        return PageState.GONE if is_deleted else PageState.NOT_FETCHED
    if record.location:
        return PageState.REDIRECT
    return PageState.GONE if record.status in _GONE else PageState.FILE

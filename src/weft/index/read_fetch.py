"""What the index process gets of a fetch that was read.

Apart from what reads it: that takes the parser, which only worker processes load.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from weft.dispatcher.fetch_results import Fetched, FetchKind
from weft.dispatcher.lastmods import Lastmod
from weft.linkindex.loaded import LoadedPage
from weft.mgmt.values import BuildLink, Result
from weft.model.fetch_error import FetchError
from weft.model.original import Original
from weft.reading.following import FoundUrl
from weft.reading.outcomes import is_success


class ReadFetch(msgspec.Struct, frozen=True, kw_only=True):
    """What the schedule, the index and the links need from a fetch."""

    fetched: Fetched
    page: LoadedPage | None = None
    """The page's new content or its removal; None: the index keeps what it has."""
    follow: list[FoundUrl] = []
    is_index: bool = False
    """Whether the URLs to follow are sitemaps."""
    title: str = ""
    text: str = ""

    def lastmods(self) -> list[Lastmod]:
        """Which pages changed and when, if this is a sitemap that says so."""
        return [Lastmod(each.domain, each.uri, each.lastmod) for each in self.follow if each.lastmod]


def needs_record(link: BuildLink) -> bool:
    """Whether reading this fetch takes its record: only content is read from it."""
    result = link.result
    return not result.error and result.position is not None and is_success(result.status)


def refers_elsewhere(link: BuildLink, held: Original | None) -> bool:
    """Whether this "not modified" stands for another capture than the one that the index holds.

    It does after an older index was put back, or when an index is built again without the captures in between.
    """
    return link.result.status == HTTPStatus.NOT_MODIFIED and link.asked is not None and link.asked != held


def failed(result: Result, error: str) -> ReadFetch:
    content_type = result.content_type if error == FetchError.UNWANTED_TYPE else ""
    about = {"error": str(error), "retry_after": result.retry_after, "content_type": content_type}
    return ReadFetch(fetched=fetched_as(result, FetchKind.FAILED, **about))


def fetched_as(result: Result, kind: FetchKind, **about: object) -> Fetched:
    return Fetched(kind=kind, at=result.ended, status=result.status, position=result.position, **about)  # type: ignore[arg-type]

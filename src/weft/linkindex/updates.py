"""What observers pass on: changes of references, of pages, of uris, of domains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from weft.linkindex.records import DomainInfo, UriInfo

LinkChange: TypeAlias = tuple[bytes, bytes, bytes, int, int, bytes, int]
"""(target, its domain, source, step, plain, anchor, at): step is +1 for a new reference, -1 for a lost one and 0 for
one whose words or scheme changed; plain is the change in the number of references that say http; anchor is the text now
(of a lost one: as it was); at is when the source was fetched. A plain tuple: there is one per link."""

PageChange: TypeAlias = LinkChange
"""What happened to a page itself, in the same form: (uri, its domain, nothing, PAGE_..., 0, what to, at)."""

PAGE_NEW, PAGE_GONE, PAGE_MOVED, PAGE_TITLE, PAGE_TEXT = 2, 3, 4, 5, 6
"""Steps of a PageChange. Of a page that is new or has another title, `what to` is its title; of one that redirects now,
the uri that it leads to."""

PageUpdate: TypeAlias = tuple[bytes, bytes, bytes]
"""(uri, its domain, its new page:cur or nothing)"""

UriUpdate: TypeAlias = tuple[bytes, bytes, UriInfo, UriInfo]
"""(uri, its domain, before, after)"""

DomainUpdate: TypeAlias = tuple[bytes, DomainInfo, DomainInfo]
"""(domain, before, after)"""


@dataclass(slots=True)
class Updates:
    """Everything that one round changed; the cells of the query table and of the history follow from it."""

    pages: list[PageUpdate] = field(default_factory=list)
    page_changes: list[PageChange] = field(default_factory=list)
    """For the history alone."""
    links: list[LinkChange] = field(default_factory=list)
    uris: list[UriUpdate] = field(default_factory=list)
    domains: list[DomainUpdate] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.pages or self.links or self.uris or self.domains)

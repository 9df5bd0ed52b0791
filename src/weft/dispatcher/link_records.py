"""Table `links`: one record per known link, and the cell by which a waiting link is found.

l:<domain>  link:<uri>                                        what is known of the link
            new:<hops><rarity><discovered><uri>               never fetched, the most wanted first
            due:<moment><uri>                                 fetched before, to be fetched again from then on
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import field

from weft.mgmt.values import WarcPosition
from weft.model.original import Original
from weft.model.refusal import Refusal, RefusalKind
from weft.store.api import Column
from weft.store.encoding import END
from weft.store.tables import Table

LINK, NEW, DUE = b"link", b"new", b"due"
DOMAIN_ROW: Final = b"l:"
_TABLE: Final = Table.LINKS.byte
# A domain holds no zero byte, and the last part of a key is not escaped: these keys are made by joining bytes.
_LINK, _NEW, _DUE = (END + family + END for family in (LINK, NEW, DUE))
_MOMENT: Final = 8
_NEW_PREFIX: Final = 2 + _MOMENT
LAST_AT_ONCE: Final = (1 << 40) - 1
"""The moment of a link that is wanted at once is in seconds, and so below this; all others are in milliseconds."""


class LinkPhase(StrEnum):
    """What a link waits for."""

    NEW = "new"
    """Never fetched; the dispatcher may choose it."""
    GIVEN = "given"
    """Handed over to the control plane, and not back yet."""
    DUE = "due"
    """Fetched before; the dispatcher may choose it from `due` on."""
    HIDDEN = "hidden"
    """Not to be fetched; `reason` says why."""


class LinkRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What is known of a link. Moments are milliseconds since 1970, 0 for never.

    Three fields are stored under the names that they had in 0.1.0, so that its homes can be opened.
    """

    url: str
    phase: LinkPhase = field(default=LinkPhase.NEW, name="place")
    reason: str = ""
    """Why it is hidden, or why it will not be fetched again."""
    discovered: int = 0
    depth: int = 0
    """Hops from a URL that was added."""
    redirects: int = 0
    """How many redirects in a row led to it."""
    source: str = ""
    """The uri of the page that it was first found on; empty if it was added."""
    references: int = 0
    """As last counted: new links with more references go first."""
    due: int = 0
    """0 in phase DUE: at once, and no wait of its host holds it up, unless the server asked for that."""
    wanted: int = 0
    """If it is due at once: since when. 0: an older weft wanted it."""
    fetched: int = 0
    status: int = 0
    error: str = ""
    failures: int = 0
    """In a row."""
    retry_soon: bool = False
    """Refused for haste: it is fetched again within the same crawl, which does not end before."""
    failing_since: int = 0
    """When the first of these failures was; 0: the last fetch did not fail."""
    interval: int = 0
    changed: int = 0
    decided: int = 0
    """The time of the fetch that decided what the index holds of it."""
    position: WarcPosition | None = None
    decided_position: WarcPosition | None = None
    etag: str = ""
    last_modified: str = ""
    original: Original | None = None
    """The capture that these validators came with: what a 304 refers to."""
    location: str = ""
    """The uri that it redirects to, if it does."""
    self_redirect: bool = field(default=False, name="turned")
    """Whether it was redirected to another URL of its own uri, which is fetched now."""
    fingerprint: int = 0
    simhash: int = 0
    """The index builder, which alone changes it, keeps the cells of near-duplicates in step."""
    canonical: str = ""
    """The uri that this one is a copy of, by its page or by a rule."""
    announced: int = field(default=0, name="claimed")
    """When it changed after its last fetch, according to a sitemap; 0: no sitemap says so."""
    scope: int = 0
    """Of a sitemap or feed: the digest of the scope in which it was read. Entries out of that scope left no trace."""
    nesting: int = 0
    """How many indexes of sitemaps, one within another, led to it."""

    @property
    def is_page(self) -> bool:
        """Whether its last fetch gave a page with a text."""
        return bool(self.fetched and self.fingerprint and not self.error)

    @property
    def is_retrying(self) -> bool:
        return self.retry_soon and self.phase is LinkPhase.DUE

    @property
    def refused_as(self) -> RefusalKind | None:
        refusal = Refusal.read(self.reason)
        return refusal.kind if refusal else None

    def hide(self, refusal: Refusal, canonical: str | None = None) -> LinkRecord:
        """The record of the same link, not to be fetched any more."""
        known = self.canonical if canonical is None else canonical
        return msgspec.structs.replace(self, phase=LinkPhase.HIDDEN, reason=refusal.text, canonical=known)

    @property
    def is_wanted_at_once(self) -> bool:
        return self.phase is LinkPhase.DUE and self.due == 0

    def at_once(self, now: int) -> LinkRecord:
        """The record of the same link, which was fetched before, once nothing is held against it any more."""
        since = self.wanted if self.is_wanted_at_once else now
        return msgspec.structs.replace(self, phase=LinkPhase.DUE, due=0, wanted=since, failures=0, self_redirect=False)

    def reopen(self, now: int) -> LinkRecord:
        """The record of the same link once nothing forbids it any more."""
        canonical = "" if self.refused_as is RefusalKind.PARAMETERS else self.canonical
        if self.fetched:
            return msgspec.structs.replace(
                self, phase=LinkPhase.DUE, due=self.due or now, reason="", canonical=canonical
            )
        return msgspec.structs.replace(self, phase=LinkPhase.NEW, reason="", canonical=canonical)


encode_record: Final = msgspec.msgpack.Encoder().encode
decode_record: Final = msgspec.msgpack.Decoder(LinkRecord).decode


def link_column(domain: bytes, uri: bytes) -> Column:
    return Column(DOMAIN_ROW + domain, LINK, uri)


def link_key(domain: bytes, uri: bytes) -> bytes:
    return b"".join((_TABLE, DOMAIN_ROW, domain, _LINK, uri))


def waiting_key(domain: bytes, uri: bytes, record: LinkRecord) -> bytes | None:
    """The cell by which a link is found when its turn comes; None where it has no turn."""
    if record.phase is LinkPhase.NEW:
        rarity = 255 - min(record.references.bit_length(), 255)
        wanted = bytes((min(record.depth, 255), rarity))
        return b"".join((_TABLE, DOMAIN_ROW, domain, _NEW, wanted, moment_bytes(record.discovered), uri))
    if record.phase is LinkPhase.DUE:
        return b"".join((_TABLE, DOMAIN_ROW, domain, _DUE, moment_bytes(due_moment(record)), uri))
    return None


def waiting_head(domain: bytes) -> int:
    """How many bytes of a waiting link's key come before the qualifier."""
    return len(_TABLE + DOMAIN_ROW + domain + _NEW)


def due_moment(record: LinkRecord) -> int:
    """Under which moment a link waits in `due`. What is wanted at once comes before all others, the oldest wish first:
    seconds since 1970 are less than milliseconds."""
    return record.due or record.wanted // 1000


def uri_of_new(qualifier: bytes) -> bytes:
    return qualifier[_NEW_PREFIX:]


def split_due(qualifier: bytes) -> tuple[int, bytes]:
    """(moment, uri)"""
    return int.from_bytes(qualifier[:_MOMENT], "big"), qualifier[_MOMENT:]


def moment_bytes(milliseconds: int) -> bytes:
    return max(0, milliseconds).to_bytes(_MOMENT, "big")

"""What is known of one domain: its counts, the states of its pages, and its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from weft.answers.domain_neighbours import Neighbour, referred_domains, referring_domains
from weft.answers.page_state import NO_FACTS, state_of
from weft.answers.view import View
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, LinkRecord, decode_record
from weft.errors import NotKnown
from weft.linkindex import keys
from weft.linkindex.records import DocFacts, DomainInfo, read_facts
from weft.model.domain import Domain, reversed_domain
from weft.model.page_state import PageState
from weft.model.url import Uri
from weft.store.encoding import split_descending
from weft.store.tables import Table

MOST_STATES: Final = 2_000
"""Pages whose state is looked up: about 20 µs each."""


class DomainAnswer(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    domain: str
    pagecount: int
    """Pages that are known: loaded, or referenced by a loaded page."""
    references: int
    """To all of them together."""
    crawled: int | None
    """Pages that are loaded; None: there are too many pages to count."""
    statuses: dict[PageState, int]
    """States of the links that a crawl knows; of a domain that none knows, of its most referenced pages."""
    statuses_of: int
    """How many links or pages these are."""
    statuses_complete: bool
    """False: there are more."""
    referring: list[Neighbour]
    """Other domains that reference it, the one with the most references first."""
    referred: list[Neighbour]
    """Other domains that it references."""
    sampled: bool
    """Whether only a part of the links of its most referenced pages was counted for these two."""
    counting: str


def domain_overview(view: View, domain: Domain, limit: int) -> DomainAnswer:
    name = reversed_domain(domain).encode()
    stored = view.value(Table.FLUO, keys.domain_info_column(name))
    if stored is None:
        raise no_pages(domain)
    info = DomainInfo.decode(stored)
    states = _states(view, name)
    referring, referred = referring_domains(view, domain), referred_domains(view, domain)
    return DomainAnswer(
        seq=view.seq,
        domain=domain,
        pagecount=info.pages,
        references=info.references,
        crawled=states.loaded if states.existing == info.pages else None,
        statuses=states.counts,
        statuses_of=states.looked_at,
        statuses_complete=states.is_complete,
        referring=referring.most(limit),
        referred=referred.most(limit),
        sampled=referring.is_sample or referred.is_sample,
        counting=view.counting,
    )


def no_pages(domain: Domain) -> NotKnown:
    return NotKnown(f"no pages of {domain} are known; `weft domains` lists the known domains")


class _States(NamedTuple):
    counts: dict[PageState, int]
    looked_at: int
    is_complete: bool
    existing: int
    """Of those that were looked at, pages of the index."""
    loaded: int


def _states(view: View, name: bytes) -> _States:
    found = list(islice(_links(view, name), MOST_STATES + 1)) or list(islice(_ranked(view, name), MOST_STATES + 1))
    looked_at = found[:MOST_STATES]
    uris, records = [uri for uri, _ in looked_at], [record for _, record in looked_at]
    infos = view.infos(uris)
    facts = _facts_of_gone(view, [uri for uri, info in zip(uris, infos, strict=True) if not info.docs])
    counts = Counter(
        state_of(record, facts.get(uri, NO_FACTS), is_loaded=bool(info.docs), is_deleted=uri in facts)
        for uri, record, info in zip(uris, records, infos, strict=True)
    )
    return _States(
        counts=dict(counts.most_common()),
        looked_at=len(looked_at),
        is_complete=len(found) <= MOST_STATES,
        existing=sum(1 for info in infos if info.references or info.docs),
        loaded=sum(info.docs for info in infos),
    )


def _links(view: View, name: bytes) -> Iterator[tuple[Uri, LinkRecord | None]]:
    for cell in view.reader.scan(Table.LINKS, DOMAIN_ROW + name, LINK):
        yield Uri(cell.qualifier.decode()), decode_record(cell.value)


def _ranked(view: View, name: bytes) -> Iterator[tuple[Uri, LinkRecord | None]]:
    for cell in view.reader.scan(Table.QUERY, b"d:" + name, keys.RANK):
        yield Uri(split_descending(cell.qualifier)[1].decode()), None


def _facts_of_gone(view: View, uris: Sequence[Uri]) -> dict[Uri, DocFacts]:
    """Those that are no page, as their last answer said: a file, a redirect, a 404."""
    cells = view.reader.get(Table.FLUO, [keys.page_column(uri.encode(), keys.GONE) for uri in uris])
    gone = [uri for uri, cell in zip(uris, cells, strict=True) if cell is not None]
    docs = view.reader.get(Table.DOCS, [keys.doc_column(uri.encode()) for uri in gone])
    return {uri: read_facts(doc.value) if doc else NO_FACTS for uri, doc in zip(gone, docs, strict=True)}

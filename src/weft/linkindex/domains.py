"""DomainObserver: the domain map. Counts the uris that exist in a domain and the references to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.linkindex.keys import base_of
from weft.linkindex.records import UNKNOWN_DOMAIN, DomainInfo, Totals
from weft.linkindex.updates import DomainUpdate, UriUpdate


def combine_domains(updates: Iterable[UriUpdate]) -> dict[bytes, DomainInfo]:
    """By how much each domain changes; one that does not is not there."""
    pages: dict[bytes, int] = {}
    references: dict[bytes, int] = {}
    for _, domain, before, after in updates:
        (was, _, had_docs), (now, _, docs) = before, after
        pages[domain] = pages.get(domain, 0) + bool(now or docs) - bool(was or had_docs)
        references[domain] = references.get(domain, 0) + now - was
    return {d: DomainInfo(pages[d], references[d]) for d in pages if pages[d] or references[d]}


def observe_domains(deltas: Mapping[bytes, DomainInfo], known: Mapping[bytes, DomainInfo]) -> list[DomainUpdate]:
    updates: list[DomainUpdate] = []
    for domain, delta in deltas.items():
        before = known.get(domain, UNKNOWN_DOMAIN)
        after = DomainInfo(before.pages + delta.pages, before.references + delta.references)
        updates.append((domain, before, after))
    return updates


def observe_totals(updates: Iterable[DomainUpdate], known: Mapping[int, Totals]) -> dict[int, Totals]:
    """The totals of each base in which a domain changed."""
    sums: dict[int, list[int]] = {}
    for domain, was, is_now in updates:
        base = base_of(domain)
        total = sums.get(base)
        if total is None:
            total = sums[base] = list(known.get(base, Totals()))
        total[0] += bool(is_now[0]) - bool(was[0])
        total[1] += is_now[0] - was[0]
        total[2] += is_now[1] - was[1]
    return {base: Totals(*total) for base, total in sums.items()}

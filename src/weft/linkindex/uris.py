"""UriObserver: the uri map. Combines changes of references and of content per uri."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.linkindex.records import UNKNOWN_URI, UriInfo
from weft.linkindex.updates import LinkChange, UriUpdate


@dataclass(slots=True)
class UriDelta:
    """By how much a uri's info changes."""

    domain: bytes
    references: int = 0
    plain: int = 0
    docs: int = 0


def combine(changes: Sequence[LinkChange]) -> dict[bytes, UriDelta]:
    """All changes of a round, per target."""
    # Counted by step, not one by one: this sees every link.
    new = Counter([change[0] for change in changes if change[3] > 0])
    lost = Counter([change[0] for change in changes if change[3] < 0])
    domains = {change[0]: change[1] for change in changes}
    deltas = {target: UriDelta(domain, new[target] - lost[target]) for target, domain in domains.items()}
    for target, _, _, _, plain, _, _ in changes:
        if plain:
            deltas[target].plain += plain
    return deltas


def add_docs(deltas: dict[bytes, UriDelta], uri: bytes, domain: bytes, step: int) -> None:
    """Add a page whose content came (+1) or went (-1); beside a reference to itself, not in its place."""
    deltas.setdefault(uri, UriDelta(domain)).docs += step


def observe_uris(deltas: Mapping[bytes, UriDelta], known: Mapping[bytes, UriInfo]) -> list[UriUpdate]:
    """The uris whose info changes, from what it was to what it is."""
    updates: list[UriUpdate] = []
    make = tuple.__new__
    for uri, delta in deltas.items():
        before = known.get(uri, UNKNOWN_URI)
        # Past the NamedTuple's own constructor, which takes five times as long.
        after = make(UriInfo, (before[0] + delta.references, before[1] + delta.plain, before[2] + delta.docs))
        if after != before:
            updates.append((uri, delta.domain, before, after))
    return updates

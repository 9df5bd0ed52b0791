"""UriObserver: the uri map. Combines changes of references and of content per uri."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def combine(changes: Iterable[LinkChange]) -> dict[bytes, UriDelta]:
    """All changes of a round, per target; `changes` must be sorted by target, and this sees every link."""
    deltas: dict[bytes, UriDelta] = {}
    current, domain, references, plain = b"", b"", 0, 0
    for target, of, _, step, http, _, _ in changes:
        if target == current:
            references += step
            plain += http
        else:
            if current:
                deltas[current] = UriDelta(domain, references, plain)
            current, domain, references, plain = target, of, step, http
    if current:
        deltas[current] = UriDelta(domain, references, plain)
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

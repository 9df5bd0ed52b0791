"""What was seen on one path: fetched queries with their fingerprints, and what comparing them shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from weft.dispatcher.parameters.query import (
    SPELLING,
    Names,
    Values,
    context_of,
    normal_form,
    others_of,
    short_hash,
    simplest,
    values_of,
)

MOMENT: Final = 3_600_000
"""Two texts show that a parameter matters only if they were fetched within an hour: later the page may have changed."""
DAY: Final = 24 * MOMENT
ANCHORS: Final = 32
RECENT: Final = 16
"""Fetches that are remembered per path: those with the smallest hashes, and besides the latest."""
AGREEING: Final = 32
DIFFERING: Final = 16
"""Findings of each kind that are kept per path and parameter."""
PARAMETERS: Final = 24
"""Parameters, alone or together, of which findings are kept per path."""
TOGETHER: Final = 4
"""Parameters that are looked at as one when they always come together."""
BROKEN: Final = 16


class Observation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    query: str | None
    fingerprint: int
    at: int


class Finding(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Two fetches of one path that differ in `names` alone."""

    names: Names
    one: Values
    other: Values
    other_names: Names
    """Names of the parameters that were equal."""
    context: int
    fingerprint: int
    """Of both; 0: their texts differ."""
    at: int
    pair: int = 0
    """A number for the two queries as they are spelt."""

    @property
    def agrees(self) -> bool:
        return self.fingerprint != 0


class PathEvidence(msgspec.Struct, frozen=True, array_like=True):
    observations: list[Observation] = []
    findings: list[Finding] = []
    broken: list[str | None] = []
    """Queries that gave no page: nothing may be reduced to them."""
    is_restless: bool = False
    """Whether one query of the path gave two texts within a day."""


def observe(evidence: PathEvidence, seen: Observation, besides: Iterable[Observation] = ()) -> PathEvidence:
    """The evidence after one more fetch that gave a page. Below the bounds the order of fetches does not matter.

    `besides` are earlier fetches to compare it with, whether or not they are remembered.
    """
    known = next((each for each in evidence.observations if each.query == seen.query), None)
    if known is not None and known.at > seen.at:
        return evidence
    others = [each for each in evidence.observations if each.query != seen.query]
    remembered = {each.query: each for each in [*besides, *others] if each.query != seen.query}
    found = [finding for each in remembered.values() if (finding := compared(each, seen)) is not None]
    return PathEvidence(
        _remembered([*others, seen]),
        _merged(evidence.findings, found),
        [query for query in evidence.broken if query != seen.query],
        evidence.is_restless or (known is not None and _is_restless(known, seen)),
    )


def break_off(evidence: PathEvidence, query: str | None) -> PathEvidence:
    """The evidence after a fetch that gave no page: nothing is learned, but nothing shall be reduced to it either."""
    if query in evidence.broken:
        return evidence
    others = [each for each in evidence.observations if each.query != query]
    return PathEvidence(others, evidence.findings, [*evidence.broken, query][-BROKEN:], evidence.is_restless)


def compared(one: Observation, other: Observation) -> Finding | None:
    """What two fetches show together; None: nothing, because they differ in too much or were fetched too far apart."""
    agrees = one.fingerprint == other.fingerprint
    if not agrees and abs(one.at - other.at) > MOMENT:
        return None
    first, second = normal_form(one.query), normal_form(other.query)
    if first == second:
        values = sorted([_spelt(one.query), _spelt(other.query)])
        return _finding(SPELLING, values, {}, context_of(first), one, other)
    # Both are in the order of their names.
    names = tuple(name for name in sorted({*first, *second}) if first.get(name) != second.get(name))
    values = sorted([values_of(first, names), values_of(second, names)])
    if len(names) > TOGETHER or (len(names) > 1 and values[0]):
        return None
    others = others_of(first, names)
    return _finding(names, values, others, context_of(others), one, other)


def _finding(
    names: Names, values: list[Values], others: dict[str, Values], context: int, one: Observation, other: Observation
) -> Finding:
    agrees = one.fingerprint == other.fingerprint
    at = max(one.at, other.at)
    pair = short_hash(" ".join(sorted(["?" if each.query is None else each.query for each in (one, other)])))
    return Finding(names, values[0], values[1], tuple(others), context, one.fingerprint if agrees else 0, at, pair)


def _spelt(query: str | None) -> Values:
    return () if query is None else (query,)


def _is_restless(known: Observation, seen: Observation) -> bool:
    return known.fingerprint != seen.fingerprint and seen.at - known.at <= DAY


def _merged(known: list[Finding], found: Iterable[Finding]) -> list[Finding]:
    """Of two findings on one pair the newer one counts; of two with the same time, the one that disagrees."""
    newest = {_pair(finding): finding for finding in known}
    for finding in found:
        other = newest.get(_pair(finding))
        if other is None or (finding.at, not finding.agrees) >= (other.at, not other.agrees):
            newest[_pair(finding)] = finding
    return _bounded(sorted(newest.values(), key=_rank))


def _bounded(findings: list[Finding]) -> list[Finding]:
    names = sorted({finding.names for finding in findings}, key=lambda each: (len(each), short_hash("&".join(each))))
    kept_names = set(names[:PARAMETERS])
    oldest = _oldest_agreeing(findings)
    room: Counter[tuple[Names, bool]] = Counter(dict.fromkeys(((names, True) for names in oldest), 1))
    kept = []
    for finding in findings:
        is_oldest = oldest.get(finding.names) is finding
        room[finding.names, finding.agrees] += not is_oldest
        most = AGREEING if finding.agrees else DIFFERING
        if finding.names in kept_names and (is_oldest or room[finding.names, finding.agrees] <= most):
            kept.append(finding)
    return kept


def _oldest_agreeing(findings: list[Finding]) -> dict[Names, Finding]:
    """By parameter. The value that stands for the others is taken from it: were it dropped, all pages would be fetched
    again with another value."""
    found: dict[Names, Finding] = {}
    for finding in findings:
        known = found.get(finding.names)
        if finding.agrees and (known is None or _seniority(finding) < _seniority(known)):
            found[finding.names] = finding
    return found


def _seniority(finding: Finding) -> tuple[int, Values]:
    return finding.at, simplest({finding.one, finding.other})


def _pair(finding: Finding) -> tuple[Names, Values, Values, int, int]:
    return finding.names, finding.one, finding.other, finding.context, finding.pair


def _rank(finding: Finding) -> tuple[bool, int, Names, Values, Values, int, int]:
    """Those in which the parameter is absent first: they show most."""
    return bool(finding.one), short_hash("&".join(finding.other)), *_pair(finding)


def _remembered(observations: list[Observation]) -> list[Observation]:
    if len(observations) <= ANCHORS + RECENT:
        return sorted(observations, key=_age)
    ordered = sorted(observations, key=_age)
    recent, older = ordered[-RECENT:], ordered[:-RECENT]
    return sorted([*sorted(older, key=_smallest_hash)[:ANCHORS], *recent], key=_age)


def _age(observation: Observation) -> tuple[int, str, int]:
    return observation.at, observation.query or "", observation.fingerprint


def _smallest_hash(observation: Observation) -> int:
    """By the smallest of its parameters: fetches that share one then stay or go together, and can be compared."""
    form = normal_form(observation.query)
    return min((short_hash(token) for values in form.values() for token in values), default=0)

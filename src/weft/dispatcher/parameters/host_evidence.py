"""What is known of a parameter on all paths of a host, and which texts of the host prove nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from weft.dispatcher.parameters.path_evidence import DIFFERING, Finding, PathEvidence
from weft.dispatcher.parameters.query import Names, Values, short_hash, simplest

SOFT_PATHS: Final = 4
"""Paths of a host that give one text, from which on it is an error page in disguise."""
SOFT: Final = 64
LATELY: Final = 128
"""Texts and paths that are remembered to find such."""
VOTES: Final = 32
"""Paths of each opinion that are kept per parameter."""
PARAMETERS: Final = 64
"""Parameters per host."""
PATHS: Final = 20_000
"""Paths per host of which evidence is kept."""
_PAIRS: Final = 4
_OTHER_NAMES: Final = 12

Pair = tuple[Values, Values]
"""Two values of a parameter, the simpler one first; nothing: absence."""


class Vote(msgspec.Struct, frozen=True, array_like=True):
    """What the evidence of one path shows about a parameter."""

    path: int
    fingerprint: int
    """Of a text that two values gave; 0: no two did."""
    pairs: list[Pair] = []
    """Values that gave one text."""
    against: list[Pair] = []
    """Values that gave two."""
    other_names: list[str] = []
    since: int = 0
    """When the first two of its fetches gave one text."""
    first: Values = ()
    """The value that was among them, the simpler one."""

    @property
    def agrees(self) -> bool:
        return not self.against

    def may_oppose(self, pair: Pair) -> bool:
        """Whether on this path the two values differ, or may have differed before the list was cut short."""
        return pair in self.against or (pair not in self.pairs and is_full(self.against, pair))


class HostEvidence(msgspec.Struct, frozen=True, array_like=True):
    votes: dict[str, list[Vote]] = {}
    """By the names, joined with `&`."""
    lately: list[tuple[int, int]] = []
    """(fingerprint, path), the latest last."""
    soft: list[int] = []
    paths: int = 0


def seen_text(host: HostEvidence, path: str, fingerprint: int) -> HostEvidence:
    """The evidence after one more text; one that many paths give is soft from then on."""
    entry = fingerprint, short_hash(path)
    if fingerprint in host.soft or entry in host.lately[-SOFT_PATHS:]:
        return host
    lately = [*(each for each in host.lately if each != entry), entry][-LATELY:]
    paths = sum(each[0] == fingerprint for each in lately)
    if paths < SOFT_PATHS:
        return msgspec.structs.replace(host, lately=lately)
    rest = [each for each in lately if each[0] != fingerprint]
    return msgspec.structs.replace(host, lately=rest, soft=[*host.soft, fingerprint][-SOFT:])


def cast(host: HostEvidence, path: str, evidence: PathEvidence) -> HostEvidence:
    """The host's evidence with the votes of a path as they are now."""
    number, soft = short_hash(path), frozenset(host.soft)
    votes = dict(host.votes)
    for names in {finding.names for finding in evidence.findings}:
        key = "&".join(names)
        vote = vote_of(number, evidence, names, soft)
        others = [each for each in votes.get(key, []) if each.path != number]
        if vote is not None and (key in votes or len(votes) < PARAMETERS):
            votes[key] = _bounded([*others, vote])
        elif key in votes:
            votes[key] = others
    return msgspec.structs.replace(host, votes={key: each for key, each in votes.items() if each})


def vote_of(path: int, evidence: PathEvidence, names: Names, soft: frozenset[int]) -> Vote | None:
    """None for a path whose texts change by themselves: it cannot show that a parameter matters."""
    findings = [finding for finding in evidence.findings if finding.names == names]
    against = [(finding.one, finding.other) for finding in findings if not finding.agrees]
    agreeing = [finding for finding in findings if finding.agrees and finding.fingerprint not in soft]
    if (against and evidence.is_restless) or not (agreeing or against):
        return None
    text = min((finding.fingerprint for finding in agreeing), default=0)
    pairs = list(dict.fromkeys((finding.one, finding.other) for finding in agreeing))[:_PAIRS]
    since, first = oldest(agreeing) if agreeing else (0, ())
    return Vote(path, text, pairs, list(dict.fromkeys(against)), _other_names(agreeing), since, first)


def oldest(agreeing: Iterable[Finding]) -> tuple[int, Values]:
    """The first moment at which two values gave one text, and the simpler of the two."""
    return min((finding.at, simplest({finding.one, finding.other})) for finding in agreeing)


def is_full(against: Iterable[Pair], pair: Pair) -> bool:
    """Whether a list of differing values may lack this pair for want of room; those with absence come first."""
    rivals = [each for each in against if not each[0]] if not pair[0] else list(against)
    return len(rivals) >= DIFFERING


def _other_names(findings: Iterable[Finding]) -> list[str]:
    return sorted({name for finding in findings for name in finding.other_names})[:_OTHER_NAMES]


def _bounded(votes: list[Vote]) -> list[Vote]:
    """Of those that agree on something the first: what is kept must not change with each path that comes.

    Of the rest those before all that differ where others agree: they keep rules from being made.
    """
    agreeing = sorted((vote for vote in votes if vote.pairs), key=lambda vote: (vote.since, vote.path))
    agreed = {pair for vote in agreeing for pair in vote.pairs}
    rest = [(agreed.isdisjoint(vote.against), vote.path, vote) for vote in votes if not vote.pairs]
    return [*agreeing[:VOTES], *(vote for _, _, vote in sorted(rest, key=lambda each: each[:2])[:VOTES])]

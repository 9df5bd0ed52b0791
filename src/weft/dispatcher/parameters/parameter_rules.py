"""Rules: which values and parameters can be left out, as a function of the evidence alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.parameters.host_evidence import HostEvidence, Pair, Vote, oldest
from weft.dispatcher.parameters.path_evidence import Finding, PathEvidence
from weft.dispatcher.parameters.query import SPELLING, Names, Values, simplest

CONTEXTS: Final = 8
"""Settings of the other parameters in which values agree, from which on they are taken to agree in any."""
_YOUNG: Final = 20
_YOUNG_FACTOR: Final = 4
"""How many times as often a rule that goes beyond what was seen is checked, while less than that speaks for it."""


class Reach(StrEnum):
    """How far a rule reaches: the three steps of learning, and the settings of a site."""

    VALUE = "value"
    PATH = "path"
    HOST = "host"
    USER = "hand"
    """By the site's `drop_parameters`."""


class ParameterRule(NamedTuple):
    """Where `names` have one of `values`, they can just as well have `kept`."""

    reach: Reach
    where: str
    names: Names
    values: frozenset[Values] | None
    """None: any."""
    kept: Values
    """The values that take the place of all others; empty: the parameter is left out."""
    contexts: frozenset[int] | None = None
    """Settings of the other parameters in which it holds; None: any, if their names are in `other_names`."""
    other_names: frozenset[str] = frozenset()
    """Names of the other parameters that were present where it was seen to hold."""
    support: int = 0
    """Pairs of a path, paths of a host."""

    @property
    def about(self) -> str:
        """What the rule leaves out, as people write it."""
        if self.names == SPELLING:
            return "order and repetition of parameters"
        if self.values is None:
            return "&".join(self.names)
        return " or ".join(sorted("&".join(value) or f"no {'&'.join(self.names)}" for value in self.values))

    @property
    def text(self) -> str:
        return f"{self.about} on {'host ' if self.reach is Reach.HOST else ''}{self.where}"

    def holds(self, context: int, other_names: Iterable[str]) -> bool:
        """Whether the rule applies where these other parameters are present."""
        if self.contexts is not None:
            return context in self.contexts
        return self.other_names.issuperset(other_names)

    @property
    def doubt(self) -> int:
        """How many times as often as others it is to be checked."""
        return _YOUNG_FACTOR if self.contexts is None and self.support < _YOUNG else 1


def contradictions(evidence: PathEvidence) -> dict[Names, frozenset[Pair]]:
    """The values that gave two texts on a path, by their parameters."""
    found: defaultdict[Names, set[Pair]] = defaultdict(set)
    for finding in evidence.findings:
        if not finding.agrees:
            found[finding.names].add((finding.one, finding.other))
    return {names: frozenset(pairs) for names, pairs in found.items()}


def rules_of_path(
    path: str, evidence: PathEvidence, soft: Iterable[int], settings: DispatcherSettings
) -> dict[Names, list[ParameterRule]]:
    """Rules (1) and (2) of a path by their parameters, those that reach further first."""
    ignored = frozenset(soft)
    by_names: defaultdict[Names, list[Finding]] = defaultdict(list)
    for finding in evidence.findings:
        if finding.fingerprint not in ignored:
            by_names[finding.names].append(finding)
    found = {names: _rules(path, names, findings, settings) for names, findings in sorted(by_names.items())}
    return {names: rules for names, rules in found.items() if rules}


def _rules(path: str, names: Names, findings: list[Finding], settings: DispatcherSettings) -> list[ParameterRule]:
    agreeing = [finding for finding in findings if finding.agrees]
    values = {value for finding in agreeing for value in (finding.one, finding.other)}
    if len(values) >= settings.rule_values and len(agreeing) == len(findings):
        return [_parameter_rule(path, names, agreeing, values)]
    return _value_rules(path, names, agreeing, [finding for finding in findings if not finding.agrees])


def _parameter_rule(path: str, names: Names, agreeing: list[Finding], values: set[Values]) -> ParameterRule:
    contexts, other_names = _reached(agreeing)
    # The spelling concerns the whole query: there are no other parameters.
    limited = contexts if len(contexts) < CONTEXTS and names != SPELLING else None
    kept = () if () in values else oldest(agreeing)[1]
    return ParameterRule(Reach.PATH, path, names, None, kept, limited, other_names, len(agreeing))


def _value_rules(path: str, names: Names, agreeing: list[Finding], differing: list[Finding]) -> list[ParameterRule]:
    """One pair is enough where all else is equal; enough settings of the others, and it goes for any of them."""
    by_pair: defaultdict[Pair, list[Finding]] = defaultdict(list)
    for finding in agreeing:
        by_pair[finding.one, finding.other].append(finding)
    rules = []
    for pair, findings in sorted(by_pair.items()):
        contexts, other_names = _reached(findings)
        against = {finding.context for finding in differing if (finding.one, finding.other) == pair}
        # Only what is the same as absence is a default; other values can be equal by chance, as where nothing is found.
        is_general = len(contexts) >= CONTEXTS and not against and () in pair
        kept = simplest(set(pair))
        limited = None if is_general else contexts - against
        if limited is None or limited:
            yields = frozenset(pair) - {kept}
            rules.append(ParameterRule(Reach.VALUE, path, names, yields, kept, limited, other_names, len(findings)))
    return rules


def _reached(findings: list[Finding]) -> tuple[frozenset[int], frozenset[str]]:
    other_names = frozenset(name for finding in findings for name in finding.other_names)
    return frozenset(finding.context for finding in findings), other_names


def rules_of_host(host: str, evidence: HostEvidence, settings: DispatcherSettings) -> dict[Names, list[ParameterRule]]:
    """Rules (3): enough paths agree and none differs."""
    soft = frozenset(evidence.soft)
    rules = {}
    for key, votes in sorted(evidence.votes.items()):
        agreeing = [vote for vote in votes if vote.pairs and vote.fingerprint not in soft]
        if len(agreeing) >= settings.rule_paths:
            rules[_names(key)] = _rules_of_votes(host, _names(key), votes, agreeing, settings)
    return {names: found for names, found in rules.items() if found}


def _rules_of_votes(
    host: str, names: Names, votes: list[Vote], agreeing: list[Vote], settings: DispatcherSettings
) -> list[ParameterRule]:
    values = {value for vote in agreeing for pair in vote.pairs for value in pair}
    other_names = frozenset(name for vote in agreeing for name in vote.other_names)
    if len(values) >= settings.rule_values and all(vote.agrees for vote in votes):
        kept = () if () in values else min((vote.since, vote.path, vote.first) for vote in agreeing)[2]
        return [ParameterRule(Reach.HOST, host, names, None, kept, None, other_names, len(agreeing))]
    # Seen with few values, or with others that matter, it is those alone: `page=1` tells nothing about `page=2`.
    rules = []
    for pair in sorted({pair for vote in agreeing for pair in vote.pairs if () in pair}):
        paths = [vote for vote in agreeing if pair in vote.pairs]
        if len(paths) >= settings.rule_paths and not any(vote.may_oppose(pair) for vote in votes):
            rules.append(
                ParameterRule(Reach.HOST, host, names, frozenset(pair) - {()}, (), None, other_names, len(paths))
            )
    return rules


def _names(key: str) -> Names:
    return SPELLING if key == "&" else tuple(key.split("&"))

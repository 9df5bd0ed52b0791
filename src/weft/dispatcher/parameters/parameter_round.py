"""One round of learning: the evidence before and after, and every cell that follows from the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum, auto

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.parameters import evidence_cells
from weft.dispatcher.parameters.host_evidence import PATHS, HostEvidence, Pair, cast, seen_text
from weft.dispatcher.parameters.parameter_rules import ParameterRule, contradictions, rules_of_host, rules_of_path
from weft.dispatcher.parameters.path_evidence import Observation, PathEvidence, break_off, observe
from weft.dispatcher.parameters.query import LONGEST_QUERY, Names, host_of, path_of, query_of
from weft.dispatcher.parameters.reduction import Reduced, RuleSet, UserRules, reduce
from weft.linkindex.cells import Cells
from weft.model.url import PageUrl
from weft.store.api import Column, Reader
from weft.store.tables import Table

PathOrHost = tuple[bytes, str]
"""A domain, and a path or host of it."""


class RuleChange(Enum):
    """What became of a rule in a round."""

    LEARNED = auto()
    REPLACED = auto()
    """By one that reaches further."""
    DROPPED = auto()


RuleChanges = dict[Column, tuple[RuleChange, str]]
"""With the rule's text."""


class ParameterRound:
    """Reads evidence, takes fetches, answers what links reduce to, and gives the cells of one atomic batch."""

    def __init__(self, reader: Reader, settings: DispatcherSettings) -> None:
        self._reader, self._settings = reader, settings
        self._paths_before: dict[PathOrHost, PathEvidence | None] = {}
        self._hosts_before: dict[PathOrHost, HostEvidence | None] = {}
        self._paths: dict[PathOrHost, PathEvidence] = {}
        self._hosts: dict[PathOrHost, HostEvidence] = {}
        self._host_rules: dict[PathOrHost, dict[Names, list[ParameterRule]]] = {}
        self._path_rules: dict[PathOrHost, dict[Names, list[ParameterRule]]] = {}
        self._differing: dict[PathOrHost, dict[Names, frozenset[Pair]]] = {}
        self._saved: Counter[tuple[bytes, ParameterRule]] = Counter()
        self._now = 0

    def read(self, links: Iterable[tuple[bytes, bytes]]) -> None:
        """Read the evidence for these (domain, uri) at once."""
        self._fetch({(domain, path_of(uri.decode())) for domain, uri in links})

    def _fetch(self, places: set[PathOrHost]) -> None:
        paths = [place for place in places if place not in self._paths_before]
        hosts = list({(domain, host_of(path)) for domain, path in paths} - self._hosts_before.keys())
        columns = [evidence_cells.path_column(*place) for place in paths] + [
            evidence_cells.host_column(*place) for place in hosts
        ]
        cells = self._reader.get(Table.LINKS, columns) if columns else []
        for place, cell in zip(paths, cells[: len(paths)], strict=True):
            self._paths_before[place] = evidence_cells.decode_path(cell.value) if cell else None
        for place, cell in zip(hosts, cells[len(paths) :], strict=True):
            self._hosts_before[place] = evidence_cells.decode_host(cell.value) if cell else None

    def path(self, domain: bytes, path: str) -> PathEvidence | None:
        place = domain, path
        self._fetch({place})
        return self._paths.get(place, self._paths_before[place])

    def host(self, domain: bytes, host: str) -> HostEvidence:
        place = domain, host
        return self._hosts.get(place) or self._hosts_before.get(place) or HostEvidence()

    def learn(self, domain: bytes, uri: str, fingerprint: int, at: int, besides: Sequence[Observation] = ()) -> None:
        """Take a fetch that gave a page with a text. `besides`: fetches of simpler queries, whenever they were.

        Paths of which only the bare one was fetched leave no evidence: most are of that kind.
        """
        path, query = path_of(uri), query_of(uri)
        before = self.path(domain, path)
        if (query is None and before is None) or len(query or "") > LONGEST_QUERY:
            return
        self._now = max(self._now, at)
        host = seen_text(self._host_with_room(domain, path, before), path, fingerprint)
        evidence = before or PathEvidence()
        if fingerprint in host.soft:
            evidence = break_off(evidence, query)
        else:
            real = [each for each in besides if each.fingerprint not in host.soft]
            evidence = observe(evidence, Observation(query, fingerprint, at), real)
            host = cast(host, path, evidence)
        self._put(domain, path, evidence, host)

    def learn_nothing(self, domain: bytes, uri: str, at: int) -> None:
        """Take a fetch that gave no page: nothing may be reduced to it any more."""
        path = path_of(uri)
        before = self.path(domain, path)
        host = self.host(domain, host_of(path))
        if before is None and not self._rules_of_host(domain, host_of(path)):
            return
        self._now = max(self._now, at)
        self._put(domain, path, break_off(before or PathEvidence(), query_of(uri)), host)

    def _host_with_room(self, domain: bytes, path: str, before: PathEvidence | None) -> HostEvidence:
        host = self.host(domain, host_of(path))
        return host if before is not None else msgspec.structs.replace(host, paths=min(host.paths + 1, PATHS + 1))

    def _put(self, domain: bytes, path: str, evidence: PathEvidence, host: HostEvidence) -> None:
        name = host_of(path)
        if host.paths <= PATHS or self.path(domain, path) is not None:
            self._paths[domain, path] = evidence
            self._path_rules.pop((domain, path), None)
            self._differing.pop((domain, path), None)
        if host != self.host(domain, name):
            if host.soft != self.host(domain, name).soft:
                self._path_rules.clear()
            self._hosts[domain, name] = host
            self._host_rules.pop((domain, name), None)

    def reduce(self, domain: bytes, page: PageUrl, user_rules: UserRules = UserRules()) -> Reduced | None:  # noqa: B008 - cannot change
        """What a link reduces to as far as is known in this round."""
        if "?" not in page.uri:
            return None
        return reduce(page, self.rules_for(domain, path_of(page.uri), user_rules))

    def rules_for(self, domain: bytes, path: str, user_rules: UserRules = UserRules()) -> RuleSet:  # noqa: B008 - cannot change
        evidence = self.path(domain, path)
        host = self._rules_of_host(domain, host_of(path))
        if evidence is None:
            return RuleSet({}, host, {}, frozenset(), user_rules)
        place = domain, path
        if place not in self._differing:
            self._differing[place] = contradictions(evidence)
        broken = frozenset(evidence.broken)
        return RuleSet(self._rules_of_path(domain, path), host, self._differing[place], broken, user_rules)

    def _rules_of_path(self, domain: bytes, path: str) -> dict[Names, list[ParameterRule]]:
        place = domain, path
        if place not in self._path_rules:
            soft = self.host(domain, host_of(path)).soft
            evidence = self.path(domain, path) or PathEvidence()
            self._path_rules[place] = rules_of_path(path, evidence, soft, self._settings)
        return self._path_rules[place]

    def _rules_of_host(self, domain: bytes, host: str) -> dict[Names, list[ParameterRule]]:
        place = domain, host
        if place not in self._host_rules:
            self._host_rules[place] = rules_of_host(host, self.host(domain, host), self._settings)
        return self._host_rules[place]

    def hid(self, domain: bytes, reduced: Reduced) -> None:
        """Count a fetch that these rules saved."""
        for rule in dict.fromkeys(reduced.rules):
            self._saved[domain, rule] += 1

    def cells(self) -> Cells:
        cells: Cells = {}
        changes: RuleChanges = {}
        for place, path_after in self._paths.items():
            if path_after != self._paths_before[place]:
                cells[evidence_cells.key_of(evidence_cells.path_column(*place))] = evidence_cells.encode(path_after)
                self._follow_path(place, path_after, cells, changes)
        for place, host_after in self._hosts.items():
            if host_after != self._hosts_before.get(place):
                cells[evidence_cells.key_of(evidence_cells.host_column(*place))] = evidence_cells.encode(host_after)
                self._follow_host(place, cells, changes)
        return {**cells, **self._rule_cells(changes)}

    def _follow_path(self, place: PathOrHost, after: PathEvidence, cells: Cells, changes: RuleChanges) -> None:
        domain, path = place
        before = self._paths_before[place] or PathEvidence()
        soft = (self._hosts_before.get((domain, host_of(path))) or HostEvidence()).soft
        old = _flat(rules_of_path(path, before, soft, self._settings))
        new = _flat(self._rules_of_path(domain, path))
        _note(domain, old, new, changes)
        blocked = contradictions(after) != contradictions(before) or set(after.broken) - set(before.broken)
        host_rules = self._rules_of_host(domain, host_of(path))
        if _has_lost(old, new) or _has_lost(new, old) or (blocked and (old or host_rules)):
            cells[evidence_cells.key_of(evidence_cells.sweep_column(domain, path.encode() + b"?"))] = b""

    def _follow_host(self, place: PathOrHost, cells: Cells, changes: RuleChanges) -> None:
        domain, host = place
        before = self._hosts_before.get(place) or HostEvidence()
        old = _flat(rules_of_host(host, before, self._settings))
        new = _flat(self._rules_of_host(domain, host))
        _note(domain, old, new, changes)
        if _has_lost(old, new) or _has_lost(new, old) or before.soft != self._hosts[place].soft:
            cells[evidence_cells.key_of(evidence_cells.sweep_column(domain, host.encode() + b"/"))] = b""

    def _rule_cells(self, changes: RuleChanges) -> Cells:
        """The records of rules that came, went or saved something."""
        saved: Counter[Column] = Counter()
        for (domain, rule), count in self._saved.items():
            saved[evidence_cells.rule_column(domain, rule)] += count
        columns = list(dict.fromkeys([*changes, *saved]))
        known = self._reader.get(Table.LINKS, columns) if columns else []
        cells: Cells = {}
        for column, cell in zip(columns, known, strict=True):
            record = evidence_cells.decode_rule(cell.value) if cell else evidence_cells.RuleRecord()
            after = _after(record, changes[column], self._now) if column in changes else record
            if after is not None:
                after = msgspec.structs.replace(after, saved=after.saved + saved[column])
            cells[evidence_cells.key_of(column)] = evidence_cells.encode(after) if after is not None else None
        return cells


def _flat(rules: dict[Names, list[ParameterRule]]) -> list[ParameterRule]:
    return [rule for each in rules.values() for rule in each]


def _note(domain: bytes, old: list[ParameterRule], new: list[ParameterRule], changes: RuleChanges) -> None:
    was = {evidence_cells.rule_column(domain, rule): rule for rule in old}
    now = {evidence_cells.rule_column(domain, rule): rule for rule in new}
    for column in now.keys() - was.keys():
        changes[column] = RuleChange.LEARNED, now[column].text
    for column in was.keys() - now.keys():
        is_covered = any(_covers(rule, was[column]) for rule in new)
        changes[column] = RuleChange.REPLACED if is_covered else RuleChange.DROPPED, was[column].text


def _after(
    record: evidence_cells.RuleRecord, change: tuple[RuleChange, str], at: int
) -> evidence_cells.RuleRecord | None:
    if change[0] is RuleChange.REPLACED:
        return None
    if change[0] is RuleChange.LEARNED:
        return evidence_cells.RuleRecord(learned=at, saved=record.saved, text=change[1])
    return msgspec.structs.replace(record, dropped=at, text=change[1])


def _has_lost(old: list[ParameterRule], new: list[ParameterRule]) -> bool:
    """Whether a rule covered something that none covers now."""
    return any(not any(_covers(each, rule) for each in new) for rule in old)


def _covers(new: ParameterRule, old: ParameterRule) -> bool:
    if (new.names, new.kept) != (old.names, old.kept) or not new.other_names >= old.other_names:
        return False
    has_values = new.values is None or (old.values is not None and new.values >= old.values)
    return has_values and (new.contexts is None or (old.contexts is not None and new.contexts >= old.contexts))

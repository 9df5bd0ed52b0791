"""The rules of a domain, with what supports and contradicts them, and how many fetches they saved.

They are read place by place: a host, a path, or a rule that held once. So a listing can stop anywhere and go on there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import DOMAIN_ROW
from weft.dispatcher.parameters import evidence_cells
from weft.dispatcher.parameters.host_evidence import HostEvidence
from weft.dispatcher.parameters.parameter_rules import (
    ParameterRule,
    Reach,
    contradictions,
    rules_of_host,
    rules_of_path,
)
from weft.dispatcher.parameters.path_evidence import PathEvidence
from weft.dispatcher.parameters.query import SPELLING
from weft.store.api import Cell, Column, Reader
from weft.store.tables import Table

_FAMILIES = (evidence_cells.EVIDENCE, evidence_cells.RULE)
"""In this order: rules that hold, hosts before paths, then those that held once."""


class ListedRule(NamedTuple):
    reach: str
    where: str
    about: str
    stands: str
    """The value that is kept; empty: the parameter is left out."""
    support: int
    contradictions: int
    learned: int
    dropped: int
    """0: the rule holds."""
    saved: int
    parameters: tuple[str, ...]
    """The names that it is about; none: their order and repetition."""


class RulePlace(NamedTuple):
    """Where rules can be, and those that are there, always in the same order."""

    family: bytes
    qualifier: bytes
    rules: list[ListedRule]


def rules_of_domain(reader: Reader, domain: bytes, settings: DispatcherSettings) -> Iterator[ListedRule]:
    """Those that hold, hosts before paths, then those that held once."""
    for place in rule_places(reader, domain, settings):
        yield from place.rules


def rule_places(
    reader: Reader,
    domain: bytes,
    settings: DispatcherSettings,
    family: bytes = evidence_cells.EVIDENCE,
    start: bytes | None = None,
) -> Iterator[RulePlace]:
    """The places of a domain in order, from this one on; each costs the same, however many there are."""
    places = _Places(reader, domain, settings)
    for each in _FAMILIES[_FAMILIES.index(family) :]:
        begin = start if each == family else None
        for cell in reader.scan(Table.LINKS, DOMAIN_ROW + domain, each, start=begin):
            rules = places.holding(cell) if each == evidence_cells.EVIDENCE else places.dropped(cell)
            yield RulePlace(each, cell.qualifier, list(rules))


class _Places:
    def __init__(self, reader: Reader, domain: bytes, settings: DispatcherSettings) -> None:
        self._reader, self._domain, self._settings = reader, domain, settings
        self._host = lru_cache(maxsize=16)(self._read_host)

    def holding(self, cell: Cell) -> Iterator[ListedRule]:
        """The rules that follow from this evidence, with the number of paths or pairs that speak against each."""
        place = cell.qualifier[1:].decode()
        if cell.qualifier.startswith(evidence_cells.HOST):
            yield from self._listed(self._of_host(place))
        else:
            yield from self._listed(self._of_path(place, evidence_cells.decode_path(cell.value)))

    def dropped(self, cell: Cell) -> Iterator[ListedRule]:
        """The rule of this record, if it holds no more."""
        record = evidence_cells.decode_rule(cell.value)
        if not record.dropped or self._holds(cell.qualifier):
            return
        reach, where, names = cell.qualifier.decode().split("\0")[:3]
        about = record.text.removesuffix(where).removesuffix("host ").removesuffix(" on ")
        parameters = tuple(filter(None, names.split("&")))
        yield ListedRule(reach, where, about, "", 0, 1, record.learned, record.dropped, record.saved, parameters)

    def _holds(self, qualifier: bytes) -> bool:
        """Whether it follows from what is known: other settings can bring back what was dropped."""
        reach, where = qualifier.decode().split("\0")[:2]
        if reach == Reach.HOST:
            found = self._of_host(where)
        else:
            cell = self._cell(evidence_cells.path_column(self._domain, where))
            found = self._of_path(where, evidence_cells.decode_path(cell.value)) if cell else []
        return any(self._column(rule).qualifier == qualifier for rule, _ in found)

    def _listed(self, found: list[tuple[ParameterRule, int]]) -> Iterator[ListedRule]:
        cells = self._reader.get(Table.LINKS, [self._column(rule) for rule, _ in found]) if found else []
        for (rule, against), cell in zip(found, cells, strict=True):
            record = evidence_cells.decode_rule(cell.value) if cell else evidence_cells.RuleRecord()
            yield ListedRule(
                rule.reach.value,
                rule.where,
                rule.about,
                "&".join(rule.kept),
                rule.support,
                against,
                record.learned,
                0,
                record.saved,
                () if rule.names == SPELLING else rule.names,
            )

    def _of_host(self, host: str) -> list[tuple[ParameterRule, int]]:
        evidence = self._host(host)
        return [
            (rule, sum(not vote.agrees for vote in evidence.votes["&".join(names)]))
            for names, rules in rules_of_host(host, evidence, self._settings).items()
            for rule in rules
        ]

    def _of_path(self, path: str, evidence: PathEvidence) -> list[tuple[ParameterRule, int]]:
        differing, soft = contradictions(evidence), self._host(path.partition("/")[0]).soft
        return [
            (rule, len(differing.get(names, ())))
            for names, rules in rules_of_path(path, evidence, soft, self._settings).items()
            for rule in rules
        ]

    def _read_host(self, host: str) -> HostEvidence:
        cell = self._cell(evidence_cells.host_column(self._domain, host))
        return evidence_cells.decode_host(cell.value) if cell else HostEvidence()

    def _column(self, rule: ParameterRule) -> Column:
        return evidence_cells.rule_column(self._domain, rule)

    def _cell(self, column: Column) -> Cell | None:
        return self._reader.get(Table.LINKS, [column])[0]

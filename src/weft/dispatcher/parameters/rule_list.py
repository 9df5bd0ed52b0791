"""The rules of a domain, with what supports and contradicts them, and how many fetches they saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import DOMAIN_ROW
from weft.dispatcher.parameters import evidence_cells
from weft.dispatcher.parameters.host_evidence import HostEvidence
from weft.dispatcher.parameters.parameter_rules import ParameterRule, contradictions, rules_of_host, rules_of_path
from weft.store.api import Reader
from weft.store.tables import Table


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


def rules_of_domain(reader: Reader, domain: bytes, settings: DispatcherSettings) -> Iterator[ListedRule]:
    """Those that hold, hosts before paths, then those that held once."""
    records = {
        cell.qualifier: evidence_cells.decode_rule(cell.value)
        for cell in reader.scan(Table.LINKS, DOMAIN_ROW + domain, evidence_cells.RULE)
    }
    holding = set()
    for rule, against in _holding(reader, domain, settings):
        name = evidence_cells.rule_column(domain, rule).qualifier
        holding.add(name)
        record = records.get(name, evidence_cells.RuleRecord())
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
        )
    for name, record in records.items():
        if name not in holding and record.dropped:
            reach, where = name.decode().split("\0")[:2]
            about = record.text.removesuffix(where).removesuffix("host ").removesuffix(" on ")
            yield ListedRule(reach, where, about, "", 0, 1, record.learned, record.dropped, record.saved)


def _holding(reader: Reader, domain: bytes, settings: DispatcherSettings) -> Iterator[tuple[ParameterRule, int]]:
    """Each rule with the number of paths or pairs that speak against its parameter."""
    hosts: dict[str, HostEvidence] = {}
    row = DOMAIN_ROW + domain
    for cell in reader.scan(Table.LINKS, row, evidence_cells.EVIDENCE, prefix=evidence_cells.HOST):
        host = cell.qualifier[1:].decode()
        hosts[host] = evidence_cells.decode_host(cell.value)
        for names, rules in rules_of_host(host, hosts[host], settings).items():
            against = sum(not vote.agrees for vote in hosts[host].votes["&".join(names)])
            yield from ((rule, against) for rule in rules)
    for cell in reader.scan(Table.LINKS, row, evidence_cells.EVIDENCE, prefix=evidence_cells.PATH):
        path, evidence = cell.qualifier[1:].decode(), evidence_cells.decode_path(cell.value)
        differing = contradictions(evidence)
        known = hosts.get(path.partition("/")[0], HostEvidence())
        for names, rules in rules_of_path(path, evidence, known.soft, settings).items():
            yield from ((rule, len(differing.get(names, ()))) for rule in rules)

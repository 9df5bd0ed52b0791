"""Which query parameters weft has learned to ignore, some rules at a time, and what a URL is reduced to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from weft.answers.objects import moment
from weft.answers.paging import cursor_of, key_of_cursor
from weft.config.sections import DispatcherSettings
from weft.dispatcher.domain_work import domains
from weft.dispatcher.parameters import evidence_cells
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.reduction import user_rules
from weft.dispatcher.parameters.rule_list import ListedRule, rule_places
from weft.dispatcher.scope import Scope
from weft.errors import UsageError
from weft.model.domain import Domain, plain_domain, reversed_domain
from weft.model.site import Site
from weft.model.url import PageUrl, Uri, url_of
from weft.store.api import Reader

MOST_PLACES: Final = 2000
"""Domains, hosts, paths and old rules that are looked at for one answer: most of them have no rule."""
REACHES: Final = ("host", "path", "value")


class RuleItem(msgspec.Struct, frozen=True, kw_only=True):
    """A rule about query parameters, learned from pages that have the same text with and without them."""

    domain: str
    reach: str
    """host, path or value: how far it goes."""
    where: str
    """The uri of a host or path."""
    place: str
    """The same, as people write it."""
    about: str
    parameters: list[str]
    """Their names; none: their order and repetition."""
    stands: str
    """What takes the place of the other values; empty: the parameter is left out."""
    support: int
    """Pairs of URLs on one path, or paths of one host, that speak for it."""
    contradictions: int
    learned: str | None
    dropped: str | None
    """When it was found to be wrong; null: it holds."""
    saved: int
    """Fetches that it made needless."""


class AppliedRule(msgspec.Struct, frozen=True):
    rule: str
    reach: str
    """hand: set for the site (drop_parameters)."""
    support: int


class ReducedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What is fetched in place of a URL."""

    url: str
    uri: str
    canonical: str
    canonical_url: str
    reduced: bool
    """Whether a rule applies; else the URL is fetched as it is."""
    rules: list[AppliedRule]


class RuleListing(msgspec.Struct, frozen=True, kw_only=True):
    """Rules by domain, those of hosts before those of paths. An answer may hold none and go on at `next` all the same:
    no answer looks at more than a bounded number of domains, hosts and paths."""

    seq: int
    count: int
    items: list[RuleItem]
    next: str | None
    prev: str | None = None
    explained: ReducedUrl | None = None
    """Where a URL was asked for."""


class _Position(NamedTuple):
    domain: bytes
    family: bytes = evidence_cells.EVIDENCE
    qualifier: bytes | None = None
    skip: int = 0
    """Rules of that place which were told already."""


def list_rules(
    reader: Reader, settings: DispatcherSettings, domain: Domain | None, limit: int, cursor: str | None
) -> RuleListing:
    """The next rules of one domain or of all; raises UsageError for a cursor of another listing or a limit that
    cannot be."""
    if limit < 1:
        raise UsageError(f"limit {limit} is out of range; expected 1 or more")
    only = None if domain is None else reversed_domain(domain).encode()
    name = f"rules {domain or ''}"
    begin = _read_position(name, cursor) if cursor else _Position(only or b"")
    items: list[RuleItem] = []
    for looked_at, (position, rules) in enumerate(_walk(reader, settings, only, begin)):
        if len(items) >= limit or looked_at >= MOST_PLACES:
            return _answer(reader, items, cursor_of(name, msgspec.msgpack.encode(position)))
        taken = rules[position.skip : position.skip + limit - len(items)]
        items += (_item(position.domain, rule) for rule in taken)
        if position.skip + len(taken) < len(rules):
            rest = position._replace(skip=position.skip + len(taken))
            return _answer(reader, items, cursor_of(name, msgspec.msgpack.encode(rest)))
    return _answer(reader, items, None)


def reduce_url(reader: Reader, sites: Sequence[Site], settings: DispatcherSettings, page: PageUrl) -> ReducedUrl:
    said = user_rules(Scope(sites, settings).site_of(page))
    reduced = ParameterRound(reader, settings).reduce(reversed_domain(page.domain).encode(), page, said)
    target = reduced.page if reduced else page
    return ReducedUrl(
        url=page.url,
        uri=page.uri,
        canonical=target.uri,
        canonical_url=target.url,
        reduced=reduced is not None,
        rules=[AppliedRule(rule.text, rule.reach.value, rule.support) for rule in (reduced.rules if reduced else ())],
    )


def _walk(
    reader: Reader, settings: DispatcherSettings, only: bytes | None, begin: _Position
) -> Iterator[tuple[_Position, list[ListedRule]]]:
    """Every place with its rules; a domain is a place, too, so that many without rules count."""
    for domain in _domains(reader, only, begin.domain):
        is_first = domain == begin.domain and begin.qualifier is not None
        if not is_first:
            yield _Position(domain), []
        family, start = (begin.family, begin.qualifier) if is_first else (evidence_cells.EVIDENCE, None)
        for place in rule_places(reader, domain, settings, family, start):
            at = _Position(domain, place.family, place.qualifier)
            is_begun = is_first and at == begin._replace(skip=0)
            yield at._replace(skip=begin.skip) if is_begun else at, place.rules


def _domains(reader: Reader, only: bytes | None, start: bytes) -> Iterator[bytes]:
    return domains(reader, start) if only is None else iter([only])


def _read_position(name: str, cursor: str) -> _Position:
    try:
        domain, family, qualifier, skip = msgspec.msgpack.decode(
            key_of_cursor(name, cursor), type=tuple[bytes, bytes, bytes | None, int]
        )
    except msgspec.MsgspecError:
        raise UsageError("this is not a cursor of rules; use the `next` of an earlier answer") from None
    if family not in (evidence_cells.EVIDENCE, evidence_cells.RULE) or skip < 0:
        raise UsageError("this is not a cursor of rules; use the `next` of an earlier answer")
    return _Position(domain, family, qualifier, skip)


def _answer(reader: Reader, items: list[RuleItem], next_: str | None) -> RuleListing:
    return RuleListing(seq=reader.last_seq, count=len(items), items=items, next=next_)


def _item(domain: bytes, rule: ListedRule) -> RuleItem:
    return RuleItem(
        domain=plain_domain(domain.decode()),
        reach=rule.reach,
        where=rule.where,
        place=_place(rule.where),
        about=rule.about,
        parameters=list(rule.parameters),
        stands=rule.stands,
        support=rule.support,
        contradictions=rule.contradictions,
        learned=moment(rule.learned) if rule.learned else None,
        dropped=moment(rule.dropped) if rule.dropped else None,
        saved=rule.saved,
    )


def _place(where: str) -> str:
    shown = url_of(Uri(where)).partition("://")[2]
    return shown if "/" in where else shown.rstrip("/")

"""What is learned about parameters from one fetch: a text to compare, nothing, or that its URL must not be kept."""

from __future__ import annotations

from typing import Final

from weft.dispatcher.fetch_results import Fetched, FetchKind
from weft.dispatcher.link_records import LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.path_evidence import Observation
from weft.dispatcher.parameters.query import LONGEST_QUERY, name_of, normal_form, query_of, tokens_of, with_query
from weft.model.url import identity_of

_FAILURES: Final = 3
"""Failures in a row after which the link is no longer fetched in place of others."""
_NAMES: Final = 12
"""Parameters of one query that are looked at each by itself."""


def learn_from_fetch(
    rules: ParameterRound, links: LinkRound, place: tuple[bytes, bytes], after: LinkRecord, fetched: Fetched
) -> None:
    """Learn from one fetch, whose record is `after` it; only pages with a real text teach anything."""
    domain, uri = place[0], place[1].decode()
    is_page = fetched.kind in (FetchKind.PAGE, FetchKind.SAME) and after.fetched == fetched.at
    if is_page and after.fingerprint and (200 <= fetched.status < 300 or fetched.kind is FetchKind.SAME):
        rules.learn(domain, uri, after.fingerprint, fetched.at, _simpler(rules, links, domain, after.url))
    elif fetched.kind is not FetchKind.SELF_REDIRECT and (
        fetched.kind is not FetchKind.FAILED or after.failures >= _FAILURES
    ):
        rules.learn_nothing(domain, uri, fetched.at)


def _simpler(rules: ParameterRound, links: LinkRound, domain: bytes, url: str) -> list[Observation]:
    """The last fetches of the queries with one parameter less, without any, and of the one that the rules lead to."""
    page = identity_of(url)
    query = query_of(page.uri)
    if query is None or len(query) > LONGEST_QUERY:
        return []
    queries = {None, *(_without(query, name) for name in list(normal_form(query))[:_NAMES])}
    reduced = rules.reduce(domain, page)
    pages = [with_query(url, each) for each in queries if each != query] + ([reduced.page] if reduced else [])
    records = links.read([(domain, each.uri.encode()) for each in pages])
    return [
        Observation(query_of(each.uri), record.fingerprint, record.fetched)
        for each, record in zip(pages, records, strict=True)
        if record is not None and record.is_page
    ]


def _without(query: str, name: str) -> str | None:
    return "&".join(token for token in tokens_of(query) if name_of(token) != name) or None

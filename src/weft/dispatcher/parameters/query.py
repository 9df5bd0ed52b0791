"""A query as parameters by name, and the parts of a uri that rules speak of."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import xxhash

from weft.model.url import PageUrl, identity_of

Values = tuple[str, ...]
"""The values of one or more parameters in a query, as written (`lang=en`), each once; empty: they are absent."""
Names = tuple[str, ...]

SPELLING: Final[Names] = ("&",)
"""Stands for the order and the repetition of parameters, as if that were a parameter too; no name can be `&`."""
LONGEST_QUERY: Final = 512
"""Characters; nothing is learned from longer queries, and none is reduced."""


def path_of(uri: str) -> str:
    """The uri without its query; a slash stands for the root, though its uri has none."""
    path = uri.partition("?")[0]
    return path if "/" in path else path + "/"


def query_of(uri: str) -> str | None:
    """What follows the question mark; None where there is none."""
    _, mark, query = uri.partition("?")
    return query if mark else None


def host_of(uri: str) -> str:
    return uri.partition("/")[0]


def with_query(url: str, query: str | None) -> PageUrl:
    """The page of the same path with another query."""
    path = url.partition("?")[0]
    return identity_of(path if query is None else f"{path}?{query}")


def tokens_of(query: str) -> list[str]:
    return [token for token in query.split("&") if token]


def name_of(token: str) -> str:
    return token.partition("=")[0]


@lru_cache(maxsize=4096)
def normal_form(query: str | None) -> dict[str, Values]:
    """Parameters by name; how often and in which order names stand is left out. Not to be changed by the caller."""
    found: dict[str, dict[str, None]] = {}
    for token in tokens_of(query or ""):
        found.setdefault(name_of(token), {})[token] = None
    return {name: tuple(found[name]) for name in sorted(found)}


def normal_query(tokens: list[str]) -> str | None:
    """A query of these, by name and each once; None without any."""
    by_name = normal_form("&".join(tokens))
    return "&".join(token for values in by_name.values() for token in values) or None


def values_of(form: dict[str, Values], names: Names) -> Values:
    return tuple(token for name in names for token in form.get(name, ()))


def others_of(form: dict[str, Values], names: Names) -> dict[str, Values]:
    return {name: values for name, values in form.items() if name not in names}


def context_of(others: dict[str, Values]) -> int:
    """A number for the other parameters and their values."""
    return short_hash("&".join(token for values in others.values() for token in values))


def short_hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) >> 16


def simplest(values: set[Values]) -> Values:
    """Which of equal values is kept: absence, else the shortest."""
    return min(values, key=lambda each: (len(each), sum(map(len, each)), each))

"""Which registrable domain a host belongs to, and how hosts and domains are written in keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple, NewType

import ada_url

Domain = NewType("Domain", str)

_IP_LITERAL: Final = re.compile(r"\[.*\]|[0-9]+(?:\.[0-9]+){3}")


# What the Public Suffix List says about one name; `*.ck` is kept under `ck`. Plain integers: this is tested per host.
_SUFFIX: Final = 1
_EVERY_CHILD_IS_SUFFIX: Final = 2
_NOT_A_SUFFIX: Final = 4


class _SuffixList(NamedTuple):
    rules: dict[str, int]
    most_labels: int


def registrable_domain(host: str) -> Domain:
    """The public suffix of `host` and one label more; without such a label, and for an IP literal, the host itself.

    `host` is written as the URL standard serialises it: lower case, punycode, no port, no trailing dot.
    """
    if is_ip_literal(host):
        return Domain(host)
    return Domain(_registrable(host, _suffix_list()))


def is_ip_literal(host: str) -> bool:
    return _IP_LITERAL.fullmatch(host) is not None


def reversed_host(host: str) -> str:
    """`www.a.com` as `com.a.www` and back again; an IP literal stays as it is.

    The two directions cannot be confused: the URL standard reads every host that ends in a number as IPv4,
    so the reverse of a name never looks like an address.
    """
    if is_ip_literal(host):
        return host
    return ".".join(reversed(host.split(".")))


def reversed_domain(domain: Domain) -> str:
    """The form that row keys hold."""
    return reversed_host(domain)


def plain_domain(reversed_form: str) -> Domain:
    """The form that answers print, from the one that row keys hold."""
    return Domain(reversed_host(reversed_form))


def suffix_list_digest() -> str:
    """Tells whether two machines have the same rules; the order and the comments of their lists do not matter."""
    rules = _suffix_list().rules
    return sha256("".join(f"{name} {rules[name]}\n" for name in sorted(rules)).encode()).hexdigest()[:16]


def _registrable(host: str, suffixes: _SuffixList) -> str:
    """Walk from the longest candidate to the shortest: the first rule met is the one that counts."""
    shorter, longer, longest = _last_labels(host, suffixes.most_labels + 2), "", ""
    while True:
        rule = suffixes.rules.get(shorter, 0)
        if rule & _NOT_A_SUFFIX:
            return shorter
        if rule & _EVERY_CHILD_IS_SUFFIX and longer:
            return longest or longer
        _, dot, parent = shorter.partition(".")
        if rule & _SUFFIX or not dot:
            return longer or shorter
        shorter, longer, longest = parent, shorter, longer


def _last_labels(host: str, count: int) -> str:
    """Only these can matter, and a hostile host may have a thousand labels."""
    if host.count(".") < count:
        return host
    return ".".join(host.rsplit(".", count)[1:])


@cache
def _suffix_list() -> _SuffixList:
    text = files("publicsuffixlist").joinpath("public_suffix_list.dat").read_text(encoding="utf-8")
    rules: dict[str, int] = {}
    for name, rule in _read_rules(text.splitlines()):
        rules[name] = rules.get(name, 0) | rule
    return _SuffixList(rules, most_labels=max(name.count(".") + 1 for name in rules))


def _read_rules(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        if not line or line.isspace() or line.startswith("//"):
            continue
        rule = line.split()[0]
        if rule.startswith("!"):
            yield _punycode(rule[1:]), _NOT_A_SUFFIX
        elif rule.startswith("*."):
            yield _punycode(rule[2:]), _EVERY_CHILD_IS_SUFFIX
        else:
            yield _punycode(rule), _SUFFIX


def _punycode(name: str) -> str:
    return name if name.isascii() else ada_url.idna_to_ascii(name).decode()

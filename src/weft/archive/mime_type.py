"""The type of a response as browsers read it: "extract a MIME type" of the Fetch standard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_LONGEST: Final = 16 << 10
"""Characters; what a server sends beyond them is no type."""
_VALUE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+(?:"|$))++', re.DOTALL)
_NAME: Final = r"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_ESSENCE: Final = re.compile(rf"[ \t\r\n]*({_NAME}/{_NAME})[ \t\r\n]*(?:;|$)")
_PARAMETER: Final = re.compile(r';[ \t\r\n]*([^;=]*)(?:=("(?:[^"\\]|\\.)*+"?[^;]*|[^;]*))?', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_CHARSET: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]+")


class _MimeType(NamedTuple):
    essence: str
    charset: str | None
    """Empty: one is given, and it is no encoding."""


@lru_cache(maxsize=1024)
def extract(content_type: str) -> str:
    """`type/subtype`, with its charset if there is one, from all Content-Type fields as one list; empty: none is valid.

    Of several types the last one counts. It inherits the charset of those before it that have the same type.
    """
    found: _MimeType | None = None
    for value in _VALUE.findall(content_type[:_LONGEST]):
        given = _parse(value)
        if given is None or given.essence == "*/*":
            continue
        if given.charset is None and found and found.essence == given.essence:
            given = found
        found = given
    if found is None:
        return ""
    return f"{found.essence}; charset={found.charset}" if found.charset else found.essence


def _parse(value: str) -> _MimeType | None:
    essence = _ESSENCE.match(value)
    if essence is None:
        return None
    return _MimeType(essence[1].lower(), next(_charsets(value, essence.end(1)), None))


def _charsets(value: str, start: int) -> Iterator[str]:
    for name, given in _PARAMETER.findall(value, start):
        if name.lower() == "charset":
            # The first one counts. Without quotes nothing is no value; with them it is one.
            is_quoted = given.startswith('"')
            charset = _unquoted(given) if is_quoted else given.strip(" \t\r\n")
            if _CHARSET.fullmatch(charset) or (is_quoted and not charset):
                yield charset


def _unquoted(given: str) -> str:
    inside = re.match(r'"((?:[^"\\]|\\.)*+)', given, re.DOTALL)
    return _ESCAPED.sub(r"\1", inside[1]) if inside else ""

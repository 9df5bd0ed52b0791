"""One spelling for paths and patterns, so that robots.txt and URL can be compared byte by byte (RFC 9309, 2.2.2)."""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import Final

# Unreserved characters, and reserved ones that hardly any server takes for delimiters: plain and encoded mean the same.
_PLAIN: Final = frozenset((ascii_letters + digits + "-._~" + ":@[]!'(),").encode())
# Delimiters: `%2F` is not `/`, so both stay as they are.
_KEPT: Final = re.escape(bytes(_PLAIN) + b"/?&=+;#%")
_SPELT_OTHERWISE_IN_TARGET: Final = re.compile(rb"%([0-9A-Fa-f]{2})|[^" + _KEPT + rb"]")
_SPELT_OTHERWISE_IN_PATTERN: Final = re.compile(rb"%([0-9A-Fa-f]{2})|[^*" + _KEPT + rb"]")
_SPELLING: Final = tuple(bytes([byte]) if byte in _PLAIN else b"%%%02X" % byte for byte in range(256))


def canonical_target(target: str) -> bytes:
    """Path and query of a URL; `*` and `$` become `%2A` and `%24`, which a pattern can name."""
    return _SPELT_OTHERWISE_IN_TARGET.sub(_spelling, target.encode(errors="replace")) or b"/"


def canonical_pattern(value: bytes) -> bytes:
    """The path of a rule; what is left of `*`, and of `$` at the end, is special."""
    is_anchored = value.endswith(b"$")
    spelt = _SPELT_OTHERWISE_IN_PATTERN.sub(_spelling, value[:-1] if is_anchored else value)
    return spelt + b"$" if is_anchored else spelt


def forms(canonical: bytes) -> tuple[bytes, ...]:
    """The spellings of one target or pattern: inside a query RFC 9309 also takes `%2F` for `/`."""
    path, mark, query = canonical.partition(b"?")
    if b"%2F" not in query:
        return (canonical,)
    return canonical, path + mark + query.replace(b"%2F", b"/")


def _spelling(found: re.Match[bytes]) -> bytes:
    encoded = found[1]
    return _SPELLING[int(encoded, 16) if encoded else found[0][0]]

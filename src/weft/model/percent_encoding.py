"""The normal form of percent-encoding: one page has one spelling, whoever wrote the link."""

from __future__ import annotations

import re
from typing import Final

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""RFC 3986, section 2.3: escaped or not, these mean the same."""
_HEX: Final = "0123456789ABCDEFabcdef"

_NORMAL_DIGITS: Final = "[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|[57][B-D]|5E|7F"
_NOT_NORMAL: Final = re.compile(f"%(?!{_NORMAL_DIGITS})")
_STRAY: Final = re.compile("%(?![0-9A-Fa-f]{2})")


def _normal(digits: str) -> str:
    code = int(digits, 16)
    return chr(code) if code in _UNRESERVED else f"%{code:02X}"


_NORMAL: Final = {digits: _normal(digits) for digits in (high + low for high in _HEX for low in _HEX)}


def normal_escapes(target: str) -> str:
    """`target` with upper-case digits in its escapes, and without escapes where none is needed.

    With a `%` that begins no escape it stays as it is: nobody can tell what its author escaped and what not.
    """
    if not _NOT_NORMAL.search(target) or _STRAY.search(target):
        return target
    first, *escapes = target.split("%")
    return first + "".join([_NORMAL[escape[:2]] + escape[2:] for escape in escapes])

"""The query of a link, in the encoding of its page: browsers send it so, and servers expect it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from weft.html.legacy_encoders import encoder_of, jis_bytes

_UTF8: Final = frozenset({"", "UTF-8", "UTF-16BE", "UTF-16LE", "replacement"})
"""Encodings of pages whose queries are UTF-8; the empty one is unknown."""
_QUERY: Final = re.compile(r"([^?#]*\?)([^#]*)(.*)", re.DOTALL)
_IGNORED: Final = str.maketrans("", "", "\t\n\r")
_ESCAPED: Final = frozenset([*range(0x21), *b"\"#'<>", *range(0x7F, 0x100)])
"""Bytes that the URL standard escapes in the query of a web address."""
_ASCII, _ROMAN, _JIS = b"\x1b(B", b"\x1b(J", b"\x1b$B"
"""What ISO-2022-JP writes before it goes on in another set of characters."""


def with_encoded_query(href: str, charset: str) -> str:
    """`href` as a page in `charset` (a name of the Encoding Standard) writes it, its query escaped in that encoding."""
    if href.isascii() or charset in _UTF8:
        return href
    parts = _QUERY.fullmatch(href)
    if parts is None or parts[2].isascii():
        return href
    query = parts[2].translate(_IGNORED)
    pieces = _iso_2022_jp(query) if charset == "ISO-2022-JP" else _stateless(query, charset)
    return parts[1] + "".join(pieces) + parts[3]


def _stateless(query: str, charset: str) -> Iterator[str]:
    encode = encoder_of(charset)
    for character in query:
        found = character.encode() if character.isascii() else encode(character)
        yield _unencodable(character) if found is None else _escaped(found)


def _iso_2022_jp(query: str) -> Iterator[str]:
    state = _ASCII
    for character in query:
        wanted, found = _in_japanese(character, state)
        if wanted != state:
            yield _escaped(wanted)
            state = wanted
        yield _unencodable(character) if found is None else _escaped(found)
    if state != _ASCII:
        yield _escaped(_ASCII)


def _in_japanese(character: str, state: bytes) -> tuple[bytes, bytes | None]:
    """The set of characters to be in, and the bytes there."""
    if character in "\u00a5\u203e":
        return _ROMAN, b"\x5c" if character == "\u00a5" else b"\x7e"
    if character.isascii():
        stays = state == _ROMAN and character not in "\\~"
        return (_ROMAN if stays else _ASCII), character.encode()
    found = jis_bytes(character)
    if found is not None:
        return _JIS, found
    return (_ROMAN if state == _ROMAN else _ASCII), None


def _escaped(encoded: bytes) -> str:
    return "".join([f"%{byte:02X}" if byte in _ESCAPED else chr(byte) for byte in encoded])


def _unencodable(character: str) -> str:
    """As a character reference, escaped: `&#NNN;`."""
    return f"%26%23{ord(character)}%3B"

"""From characters to the bytes of a legacy encoding, as the Encoding Standard says.

The parser only decodes. Its own tables are read back here: every sequence of an encoding is decoded once, when the
first page needs it, and the first sequence that gives a character is the one that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Final
from unicodedata import normalize

from turbohtml import parse

Encoder = Callable[[str], "bytes | None"]
"""The bytes of one character; None: the encoding has none."""

_NOT_A_CHARACTER: Final = "\ufffd"
_FIRST_SUPPLEMENTARY: Final = 0x10000
_SUPPLEMENTARY_POINTER: Final = 189_000
_BIG5_LAST: Final = frozenset("\u2550\u255e\u2561\u256a\u5341\u5345")
"""Of two sequences for these, the standard takes the last."""
_MOVED_IN_GB18030: Final = {
    chr(code): sequence.to_bytes(2, "big")
    for code, sequence in (
        *((0xE78D + number, 0xA6D9 + number) for number in range(7)),
        *((0xE794, 0xA6EC), (0xE795, 0xA6ED), (0xE796, 0xA6F3)),
        *((0xE81E, 0xFE59), (0xE826, 0xFE61), (0xE82B, 0xFE66), (0xE82C, 0xFE67)),
        *((0xE832, 0xFE6D), (0xE843, 0xFE7E), (0xE854, 0xFE90), (0xE864, 0xFEA0)),
    )
}
"""Private characters that keep their sequences, though these are read as others by now."""
_JAPANESE_SIGNS: Final = {"\u00a5": b"\x5c", "\u203e": b"\x7e"}


@lru_cache(maxsize=64)
def encoder_of(charset: str) -> Encoder:
    """What encodes characters that are not ASCII; `charset` is a name of the standard, and neither UTF nor stateful."""
    return _MULTIBYTE.get(charset, _single_byte)(charset)


def jis_bytes(character: str) -> bytes | None:
    """The seven-bit pair of a character in JIS X 0208, for ISO-2022-JP."""
    if "\uff61" <= character <= "\uff9f":
        character = {"\uff9e": "\u309b", "\uff9f": "\u309c"}.get(character) or normalize("NFKC", character)
    found = _jis_pairs().get(_with_wide_minus(character))
    return bytes(byte & 0x7F for byte in found) if found else None


def _single_byte(charset: str) -> Encoder:
    return _decoded(charset, (bytes([byte]) for byte in range(0x80, 0x100))).get


def _euc_kr(charset: str) -> Encoder:
    return _pairs(charset, range(0x81, 0xFF), range(0x41, 0xFF)).get


def _big5(charset: str) -> Encoder:
    # What stands before was added for Hong Kong, and is only read.
    pairs = list(_sequences(range(0xA1, 0xFF), range(0x40, 0xFF)))
    first, last = _decoded(charset, pairs), _decoded(charset, reversed(pairs))
    return (first | {character: last[character] for character in _BIG5_LAST}).get


def _shift_jis(charset: str) -> Encoder:
    # Those of 0xED and 0xEE repeat others; from 0xF0 to 0xF9 are private ones that are only read.
    leads = [*range(0x81, 0xA0), *range(0xE0, 0xED), 0xEF, *range(0xFA, 0xFD)]
    table = _pairs(charset, leads, range(0x40, 0xFD))
    narrow = _decoded(charset, (bytes([byte]) for byte in range(0xA1, 0xE0)))
    return partial(_japanese, table | narrow)


def _euc_jp(charset: str) -> Encoder:
    return partial(_japanese, {**_jis_pairs(), **_pairs(charset, [0x8E], range(0xA1, 0xE0))})


def _japanese(table: Mapping[str, bytes], character: str) -> bytes | None:
    return _JAPANESE_SIGNS.get(character) or table.get(_with_wide_minus(character))


def _with_wide_minus(character: str) -> str:
    return "\uff0d" if character == "\u2212" else character


@lru_cache(maxsize=1)
def _jis_pairs() -> dict[str, bytes]:
    return _pairs("EUC-JP", range(0xA1, 0xFF), range(0xA1, 0xFF))


def _gbk(charset: str) -> Encoder:
    return (_gb18030_pairs() | {"\u20ac": b"\x80"}).get


def _gb18030(charset: str) -> Encoder:
    pairs = _gb18030_pairs()
    return lambda character: pairs.get(character) or _four_bytes(character)


def _four_bytes(character: str) -> bytes | None:
    code = ord(character)
    if code >= _FIRST_SUPPLEMENTARY:
        return _bytes_of_pointer(_SUPPLEMENTARY_POINTER + code - _FIRST_SUPPLEMENTARY)
    return _four_byte_table().get(character)


@lru_cache(maxsize=1)
def _gb18030_pairs() -> dict[str, bytes]:
    pairs = _pairs("gb18030", range(0x81, 0xFF), range(0x40, 0xFF)) | _MOVED_IN_GB18030
    pairs.pop("\ue5e5", None)
    return pairs


@lru_cache(maxsize=1)
def _four_byte_table() -> dict[str, bytes]:
    table = _decoded("gb18030", map(_bytes_of_pointer, range(39_420)))
    return table | {_NOT_A_CHARACTER: _bytes_of_pointer(39_417)}


def _bytes_of_pointer(pointer: int) -> bytes:
    rest, fourth = divmod(pointer, 10)
    rest, third = divmod(rest, 126)
    first, second = divmod(rest, 10)
    return bytes([first + 0x81, second + 0x30, third + 0x81, fourth + 0x30])


_MULTIBYTE: Final[Mapping[str, Callable[[str], Encoder]]] = {
    "Big5": _big5,
    "EUC-JP": _euc_jp,
    "EUC-KR": _euc_kr,
    "GBK": _gbk,
    "Shift_JIS": _shift_jis,
    "gb18030": _gb18030,
}


def _pairs(charset: str, leads: Iterable[int], trails: range) -> dict[str, bytes]:
    return _decoded(charset, _sequences(leads, trails))


def _sequences(leads: Iterable[int], trails: range) -> Iterable[bytes]:
    return (bytes((lead, trail)) for lead in leads for trail in trails if trail not in (0x7F, 0xFF))


def _decoded(charset: str, sequences: Iterable[bytes]) -> dict[str, bytes]:
    """Characters and the first sequence of each; sequences that mean nothing or two characters are left out."""
    known = list(sequences)
    document = parse(b"<plaintext>" + b"\n".join(known), encoding=charset, positions=False)
    element = document.find("plaintext")
    lines = element.text.split("\n") if element else []
    found: dict[str, bytes] = {}
    for character, sequence in zip(lines, known, strict=True):
        if len(character) == 1 and character != _NOT_A_CHARACTER:
            found.setdefault(character, sequence)
    return found

"""Keys that sort the way we read.

A cell's key is: table byte · row · END · family · END · qualifier. Inside row and family every 0x00 is written
0x00 0xFF, and END is 0x00 0x01, so that byte order of keys is the order of (table, row, family, qualifier) whatever
bytes they hold.
"""

from __future__ import annotations

from functools import lru_cache

END = b"\x00\x01"
_ESCAPED_ZERO = b"\x00\xff"


def row_key(table: bytes, row: bytes) -> bytes:
    """What the keys of all cells of `row` begin with."""
    return table + _escape(row) + END


def family_key(table: bytes, row: bytes, family: bytes) -> bytes:
    """What the keys of all cells of one family of `row` begin with; add the qualifier to get a cell's key."""
    return row_key(table, row) + _escape(family) + END


def cell_key(table: bytes, row: bytes, family: bytes, qualifier: bytes) -> bytes:
    return family_key(table, row, family) + qualifier


def rows_key(table: bytes, prefix: bytes) -> bytes:
    """What the keys of all rows that begin with `prefix` begin with."""
    return table + _escape(prefix)


def split_key(key: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """(table, row, family, qualifier) of a cell's key."""
    row_end = key.index(END, 1)
    family_end = key.index(END, row_end + 2)
    return key[:1], _unescape(key[1:row_end]), _unescape(key[row_end + 2 : family_end]), key[family_end + 2 :]


def after(prefix: bytes) -> bytes:
    """The smallest key above every key that begins with `prefix`."""
    kept = prefix.rstrip(b"\xff")
    if not kept:
        raise ValueError("no key lies above every key that begins with only 0xff bytes")
    return kept[:-1] + bytes([kept[-1] + 1])


def _escape(part: bytes) -> bytes:
    return part.replace(b"\x00", _ESCAPED_ZERO) if 0 in part else part


def _unescape(part: bytes) -> bytes:
    return part.replace(_ESCAPED_ZERO, b"\x00") if 0 in part else part


@lru_cache(maxsize=8_192)
def descending(count: int) -> bytes:
    """A count as bytes of which the larger sorts first; self-delimiting, and free of 0x00, so that a row may hold it.

    0xFF minus the number of digits, then each digit to base 255 subtracted from 0xFF: small counts stay small.
    """
    if count < 0:
        raise ValueError(f"{count} is not a count")
    digits = bytearray()
    while count:
        count, digit = divmod(count, 255)
        digits.append(0xFF - digit)
    digits.append(0xFF - len(digits))
    digits.reverse()
    return bytes(digits)


def split_descending(data: bytes) -> tuple[int, bytes]:
    """(count, what follows it)."""
    end = 1 + 0xFF - data[0]
    count = 0
    for byte in data[1:end]:
        count = count * 255 + 0xFF - byte
    return count, data[end:]

"""The tables, and how their keys and values read to a person."""

from __future__ import annotations

from enum import Enum

from weft.store.encoding import descending, split_descending


class Table(Enum):
    """A table and the byte that its keys begin with."""

    META = b"\x01"
    """The store's own notes: the last seq, which inputs were applied."""
    CHANGES = b"c"
    DOCS = b"d"
    DOMAINS = b"e"
    FLUO = b"f"
    LINKS = b"l"
    QUERY = b"q"
    FEED = b"s"
    """Which search documents changed; `f` is taken."""

    def __init__(self, byte: bytes) -> None:
        self.byte = byte

    @property
    def label(self) -> str:
        return self.name.lower()


def ranked(references: int, uri: bytes) -> bytes:
    """`<urc>:<uri>` as stored: the most referenced uri sorts first, ties by uri."""
    return descending(references) + uri


_RANKED_ROWS = {Table.QUERY: (b"t:",), Table.DOMAINS: (b"p:", b"r:")}
"""Rows that are a prefix of two bytes, a count, and what is counted."""


def readable_row(table: Table, row: bytes) -> str:
    if row[:2] in _RANKED_ROWS.get(table, ()) and len(row) > 2:
        return row[:2].decode() + _readable_ranked(row[2:])
    return readable(row)


def readable_qualifier(table: Table, family: bytes, qualifier: bytes) -> str:
    if table is Table.QUERY and family == b"rank" and qualifier:
        return _readable_ranked(qualifier)
    return readable(qualifier)


def row_prefix(table: Table, text: str) -> bytes:
    """The stored form of a row prefix that a person typed: the inverse of `readable_row` for whole rows."""
    if text[:2].encode() in _RANKED_ROWS.get(table, ()):
        count, colon, uri = text[2:].partition(":")
        if colon and count.isdecimal():
            return text[:2].encode() + ranked(int(count), unreadable(uri))
    return unreadable(text)


def readable(data: bytes) -> str:
    """Text as it is; whatever is no printable text as \\xNN, and a backslash doubled."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        return "".join(_escaped(c) if c < "\x7f" else f"\\x{ord(c):02x}" for c in text)
    return text if text.isprintable() and "\\" not in text else "".join(map(_escaped, text))


def unreadable(text: str) -> bytes:
    """The bytes that `readable` shows as `text`."""
    pieces = text.encode("utf-8", "surrogateescape").split(b"\\\\")
    return b"\\".join(_unescaped(piece) for piece in pieces)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    return character if character.isprintable() else "".join(f"\\x{b:02x}" for b in character.encode())


def _unescaped(piece: bytes) -> bytes:
    first, *rest = piece.split(b"\\x")
    return first + b"".join(_hex_byte(part) for part in rest)


def _hex_byte(part: bytes) -> bytes:
    try:
        return bytes([int(part[:2], 16)]) + part[2:]
    except ValueError:
        return b"\\x" + part


def _readable_ranked(data: bytes) -> str:
    references, uri = split_descending(data)
    return f"{references}:{readable(uri)}"

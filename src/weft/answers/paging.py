"""Pages of a long listing: keyset cursors, forward and backward, that stay right while the listing changes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar
from zlib import crc32

from weft.errors import UsageError

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Scan(Protocol[Item_co]):
    """A listing in order of its items' keys, from `start` on (inclusive), in either direction."""

    def __call__(self, start: bytes | None, *, reverse: bool) -> Iterator[Item_co]: ...


class Page(NamedTuple, Generic[Item]):
    items: list[Item]
    next: str | None
    prev: str | None


def page(name: str, scan: Scan[Item], key_of: Callable[[Item], bytes], limit: int, cursor: str | None) -> Page[Item]:
    """The `limit` items of the listing `name` after (or before) `cursor`, or the first ones.

    Cursors lead on where there is more, in the listing of the same name only.
    """
    mark = crc32(name.encode()).to_bytes(4, "big")
    key, backwards = _decode(cursor, mark) if cursor else (None, False)
    items = list(islice(_beyond(scan, key_of, key, reverse=backwards), limit + 1))
    has_more = len(items) > limit
    del items[limit:]
    if backwards:
        items.reverse()
    if not items:
        return Page([], None, None)
    first, last = key_of(items[0]), key_of(items[-1])
    # Nothing is before the first page, and another scan costs as much as the page itself.
    has_next = _has_more(scan, key_of, last, reverse=False) if backwards else has_more
    has_prev = has_more if backwards else key is not None and _has_more(scan, key_of, first, reverse=True)
    return Page(
        items,
        next=_encode(b">" + mark + last) if has_next else None,
        prev=_encode(b"<" + mark + first) if has_prev else None,
    )


def _beyond(scan: Scan[Item], key_of: Callable[[Item], bytes], key: bytes | None, *, reverse: bool) -> Iterator[Item]:
    return (item for item in scan(key, reverse=reverse) if key is None or key_of(item) != key)


def _has_more(scan: Scan[Item], key_of: Callable[[Item], bytes], key: bytes, *, reverse: bool) -> bool:
    return next(_beyond(scan, key_of, key, reverse=reverse), None) is not None


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _decode(cursor: str, mark: bytes) -> tuple[bytes, bool]:
    try:
        data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (NotBase64, ValueError):
        data = b""
    if data[:1] not in (b"<", b">") or data[1:5] != mark:
        raise UsageError(
            f"{cursor!r} is not a cursor of this listing; use the `next` or `prev` of an earlier page of it"
        )
    return data[5:], data[:1] == b"<"


def cursor_of(name: str, key: bytes, *, backwards: bool = False) -> str:
    """Leads on from this key, which itself is left out, in the listing of this name."""
    return _encode((b"<" if backwards else b">") + crc32(name.encode()).to_bytes(4, "big") + key)


def key_of_cursor(name: str, cursor: str) -> bytes:
    """What `cursor_of` was given; raises UsageError for a cursor of another listing."""
    return _decode(cursor, crc32(name.encode()).to_bytes(4, "big"))[0]

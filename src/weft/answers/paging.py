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


class Reached(NamedTuple):
    """The last thing that a scan gives which does not look further, for it has found little in much: where it is."""

    key: bytes


class Scan(Protocol[Item_co]):
    """A listing in order of its items' keys, from `start` on (inclusive), in either direction."""

    def __call__(self, start: bytes | None, *, reverse: bool) -> Iterator[Item_co]: ...


class Page(NamedTuple, Generic[Item]):
    items: list[Item]
    next: str | None
    prev: str | None
    is_cut_short: bool = False
    """Whether it ends where the scan did not look further: the cursor there leads on, and perhaps to nothing."""


def page(
    name: str, scan: Scan[Item | Reached], key_of: Callable[[Item], bytes], limit: int, cursor: str | None
) -> Page[Item]:
    """The `limit` items of the listing `name` after (or before) `cursor`, or the first ones.

    Cursors lead on where there is more, in the listing of the same name only.
    """
    mark = crc32(name.encode()).to_bytes(4, "big")
    key, backwards = _decode(cursor, mark) if cursor else (None, False)

    def beyond(start: bytes | None, *, reverse: bool) -> Iterator[Item | Reached]:
        for item in scan(start, reverse=reverse):
            if start is None or isinstance(item, Reached) or key_of(item) != start:
                yield item

    def has_more(start: bytes, *, reverse: bool) -> bool:
        """Also where that is not known: the cursor leads on then, and perhaps to nothing."""
        return next(beyond(start, reverse=reverse), None) is not None

    found = list(islice(beyond(key, reverse=backwards), limit + 1))
    reached = [item.key for item in found if isinstance(item, Reached)]
    items = [item for item in found if not isinstance(item, Reached)]
    goes_on = bool(reached) or len(items) > limit
    del items[limit:]
    places = [*map(key_of, items), *reached]
    if not places and key is not None:
        places = [key]
    # Nothing is before the first page, and another scan costs as much as the page itself.
    goes_back = key is not None and has_more(places[0], reverse=not backwards)
    if backwards:
        items.reverse()
        places.reverse()
        goes_back, goes_on = goes_on, goes_back
    return Page(
        items,
        next=_encode(b">" + mark + places[-1]) if goes_on else None,
        prev=_encode(b"<" + mark + places[0]) if goes_back else None,
        is_cut_short=bool(reached),
    )


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


def cursor_of(name: str, key: bytes) -> str:
    """Leads on to this key in the listing of this name, which goes one way only."""
    return _encode(b">" + crc32(name.encode()).to_bytes(4, "big") + key)


def key_of_cursor(name: str, cursor: str) -> bytes:
    """What `cursor_of` was given; raises UsageError for a cursor of another listing."""
    return _decode(cursor, crc32(name.encode()).to_bytes(4, "big"))[0]

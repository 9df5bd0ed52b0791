"""A link as it waits in a queue: one bytes object, because millions of them wait."""

from __future__ import annotations

import struct
from typing import NewType

from weft.mgmt.values import ClaimedLink, DocId

PackedLink = NewType("PackedLink", bytes)

_HEAD = struct.Struct("<QIBBB")
_FORM = 12
_HTTPS, _WHOLE, _ROBOTS = 1, 2, 4
_SCHEMES = "http://", "https://"


def pack(link: ClaimedLink, *, is_robots: bool = False, timeouts: int = 0, losses: int = 0) -> PackedLink:
    """Scheme and host are left out where the host's name gives them back."""
    form, rest = _form(link)
    head = _HEAD.pack(link.doc_id, link.claim, form | _ROBOTS * is_robots, timeouts, losses)
    return PackedLink(head + rest.encode())


def unpack(packed: PackedLink, web_host: str) -> ClaimedLink:
    doc_id, claim, _, _, _ = _HEAD.unpack_from(packed)
    return ClaimedLink(doc_id, url_of(packed, web_host), web_host, claim)


def url_of(packed: PackedLink, web_host: str) -> str:
    rest, form = packed[_HEAD.size :].decode(), packed[_FORM]
    return rest if form & _WHOLE else _SCHEMES[form & _HTTPS] + web_host + rest


def doc_id_of(packed: PackedLink) -> DocId:
    return DocId(int.from_bytes(packed[:8], "little"))


def claim_of(packed: PackedLink) -> int:
    return int.from_bytes(packed[8:_FORM], "little")


def is_https(packed: PackedLink) -> bool:
    return bool(packed[_FORM] & _HTTPS)


def is_robots(packed: PackedLink) -> bool:
    return bool(packed[_FORM] & _ROBOTS)


def timeouts_of(packed: PackedLink) -> int:
    return packed[_FORM + 1]


def losses_of(packed: PackedLink) -> int:
    return packed[_FORM + 2]


def with_timeout(packed: PackedLink) -> PackedLink:
    return PackedLink(packed[: _FORM + 1] + bytes([packed[_FORM + 1] + 1]) + packed[_FORM + 2 :])


def with_loss(packed: PackedLink) -> PackedLink:
    return PackedLink(packed[: _FORM + 2] + bytes([packed[_FORM + 2] + 1]) + packed[_FORM + 3 :])


def _form(link: ClaimedLink) -> tuple[int, str]:
    https = link.url.startswith("https:")
    origin = _SCHEMES[https] + link.web_host
    rest = link.url[len(origin) :]
    # The host must end where the path begins: a.com is not the host of https://a.com.evil/.
    if link.url.startswith(origin) and rest.startswith(("/", "?")):
        return _HTTPS * https, rest
    return _HTTPS * https | _WHOLE, link.url

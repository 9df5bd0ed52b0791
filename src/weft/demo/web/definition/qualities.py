"""What is odd about one page: its charset, its base, its robots meta, whether it changes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from weft.demo.web.definition.dice import mixed, share_of
from weft.demo.web.definition.plan import WebPlan


class Charset(StrEnum):
    """What a page says about its charset, and what its bytes are."""

    RIGHT = "right"
    HEADER_WRONG = "header_wrong"
    META_WRONG = "meta_wrong"
    UNKNOWN_NAME = "unknown_name"
    META_ONLY = "meta_only"
    BYTE_ORDER_MARK = "byte_order_mark"


@dataclass(frozen=True, slots=True)
class Quality:
    """`robots` is the content of a robots meta or of an X-Robots-Tag header; periods are in seconds, 0 for never."""

    charset: Charset = Charset.RIGHT
    has_base: bool = False
    robots: str = ""
    is_robots_header: bool = False
    has_refresh: bool = False
    changes_every: float = 0.0
    vanishes_every: float = 0.0

    @property
    def forbids_following(self) -> bool:
        return self.robots in ("nofollow", "none")


PLAIN: Final = Quality()
_ODD_CHARSETS: Final = tuple(charset for charset in Charset if charset is not Charset.RIGHT)
_ROBOTS: Final = ("noindex", "nofollow", "none", "noindex, follow")


def quality_of(plan: WebPlan, host: int, number: int) -> Quality:
    """A host's first page is always plain: a crawl of the host begins there."""
    profile = plan.profile
    if number == 0:
        return PLAIN

    def drawn(salt: int, share: float) -> int:
        """Some bits if the page has the quality, else 0."""
        bits = mixed(plan.seed, host, number, salt) if share else 0
        return bits >> 32 | 1 if bits and share_of(bits) < share else 0

    charset, robots = drawn(1, profile.charsets), drawn(2, profile.robots_metas)
    changing, vanishing = drawn(3, profile.changing), drawn(4, profile.vanishing)
    return Quality(
        charset=_ODD_CHARSETS[charset % len(_ODD_CHARSETS)] if charset else Charset.RIGHT,
        has_base=bool(drawn(5, profile.bases)),
        robots=_ROBOTS[(robots >> 1) % len(_ROBOTS)] if robots else "",
        is_robots_header=bool(robots & 8),
        has_refresh=bool(drawn(6, profile.refreshes)),
        changes_every=_period(profile.change_seconds, changing),
        vanishes_every=_period(profile.change_seconds, vanishing),
    )


def _period(seconds: float, bits: int) -> float:
    return seconds * (0.5 + (bits & 0xFF) / 128) if bits else 0.0

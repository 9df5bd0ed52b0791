"""What reading depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from weft.config import Settings
from weft.config.sections import LimitsSettings
from weft.config.settings import product_token
from weft.model.url import UrlRules


class ReadingSettings(msgspec.Struct, frozen=True):
    """The settings that change what is read, in a form that can be sent to another process."""

    strip: tuple[str, ...]
    max_length: int
    limits: LimitsSettings
    max_body: int
    product: str
    """The name by which a page can address this crawler alone."""

    @classmethod
    def from_settings(cls, settings: Settings, rules: UrlRules) -> ReadingSettings:
        spider = settings.spider
        return cls(rules.strip, rules.max_length, settings.limits, spider.max_body, product_token(spider))

    def url_rules(self) -> UrlRules:
        return UrlRules(self.strip, self.max_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPolicy:
    """Where crawl and import differ on purpose."""

    discovers: bool
    """Whether the caller follows what a response names. If not, links to follow, canonical and refresh are not looked
    for, and no body is decoded just to see whether it is a listing."""
    bad_redirect_removes: bool
    """Whether a redirect to what cannot be fetched removes the page. A crawl keeps it and tries again later; an archive
    holds no later try."""


CRAWL: Final = ReadingPolicy(discovers=True, bad_redirect_removes=False)
IMPORT: Final = ReadingPolicy(discovers=False, bad_redirect_removes=True)

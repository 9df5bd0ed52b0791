"""The most referenced pages, and the domains."""

from __future__ import annotations

from typing import Final

from weft.web.api import DOMAINS, TOP
from weft.web.pages.page import Page

PAGES: Final = (
    Page("/top", "top.html", "Top pages", TOP),
    Page("/domains", "domains.html", "Domains", DOMAINS),
)

"""The User-Agent header, made from its template."""

from __future__ import annotations

import re

from weft.config.crawl_sections import SpiderSettings

_CONTACT_IN_PARENTHESES = re.compile(r" ?\([^()]*\{contact\}[^()]*\)")


def user_agent(spider: SpiderSettings, version: str) -> str:
    """Fill in {version} and {contact}; without a contact the parentheses around it go as well."""
    template = spider.user_agent if spider.contact else _CONTACT_IN_PARENTHESES.sub("", spider.user_agent)
    return template.replace("{version}", version).replace("{contact}", spider.contact).strip()

"""The User-Agent header, made from its template."""

from __future__ import annotations

import re

from weft.config.crawl_sections import SpiderSettings

_PRODUCT = re.compile("[A-Za-z_-]+")
_CONTACT_IN_PARENTHESES = re.compile(r" ?\([^()]*\{contact\}[^()]*\)")


def user_agent(spider: SpiderSettings, version: str) -> str:
    """Fill in {version} and {contact}; without a contact the parentheses around it go as well."""
    template = spider.user_agent if spider.contact else _CONTACT_IN_PARENTHESES.sub("", spider.user_agent)
    return template.replace("{version}", version).replace("{contact}", spider.contact).strip()


def product_token(spider: SpiderSettings) -> str:
    """The name in front of the User-Agent header, by which robots.txt and pages speak to this crawler alone."""
    found = _PRODUCT.match(spider.user_agent)
    return found[0] if found else ""

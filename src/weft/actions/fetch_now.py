"""Having one page fetched now, out of turn."""

from __future__ import annotations

import msgspec

from weft.config import Settings
from weft.dispatcher.scope import Scope
from weft.errors import NotKnown, UsageError
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Seed
from weft.model.host import web_host_of
from weft.model.url import UrlRules


class WantedPage(msgspec.Struct, frozen=True):
    url: str
    uri: str
    site: str
    """The site whose settings hold for it."""
    is_new: bool
    """Whether nobody knew it before."""


def fetch_now(mgmt: OperatorCalls, settings: Settings, text: str) -> WantedPage:
    """Have a page of a site fetched at once, whatever became of it before; it is noted until it was fetched.

    Nothing else changes: it does not become a seed. Raises UrlRefused for what is no URL, NotKnown for a page of no
    site, UsageError for one that its site leaves out.
    """
    rules = UrlRules(settings.url.strip, settings.url.max_length)
    page = rules.identify_typed(text)
    verdict = Scope(mgmt.sites(), settings.dispatcher).judge(page, depth=0)
    if verdict.site is None:
        raise NotKnown(f"{page.url} belongs to no site; add one with `weft add URL`")
    if verdict.refusal is not None:
        raise UsageError(f"{page.url} is not crawled: {verdict.refusal.text}")
    seed = Seed(page.uri, page.url, web_host_of(page.url), any_scheme=rules.lacks_scheme(text))
    return WantedPage(page.url, page.uri, verdict.site.name, mgmt.want([seed]) > 0)

"""Overruling what weft learned about query parameters: whether they matter on a site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from weft.actions.sites import SiteChange, change_site
from weft.config import Settings
from weft.dispatcher.scope import Scope
from weft.errors import NotKnown, UsageError
from weft.mgmt.api import OperatorCalls
from weft.model.site import Site
from weft.model.url import Uri, UrlRules, url_of

_NAME: Final = re.compile(r"[^\s&=#\x00-\x1f\x7f]{1,200}")
_MOST: Final = 200
"""Parameters that are set by hand for one site: those of every URL are compared with all of them."""


def keep_parameters(mgmt: OperatorCalls, settings: Settings, where: str, names: Sequence[str]) -> Site:
    """These parameters matter, whatever was learned: URLs that differ in them are pages of their own.

    `where` is the place of a rule as `weft rules` lists it: the uri of a host or path, `com.example/list`. The site
    that covers it is changed and returned. Raises NotKnown if there is none, UsageError for names that cannot be.
    """
    return _change(mgmt, settings, where, names, "keep_parameters")


def drop_parameters(mgmt: OperatorCalls, settings: Settings, where: str, names: Sequence[str]) -> Site:
    """These parameters never matter: URLs that differ in them are one page. Otherwise as `keep_parameters`."""
    return _change(mgmt, settings, where, names, "drop_parameters")


def learn_parameters(mgmt: OperatorCalls, settings: Settings, where: str, names: Sequence[str]) -> Site:
    """What was learned about these parameters counts again. Otherwise as `keep_parameters`."""
    return _change(mgmt, settings, where, names, "")


def _change(mgmt: OperatorCalls, settings: Settings, where: str, names: Sequence[str], chosen: str) -> Site:
    for name in names:
        if not _NAME.fullmatch(name) or not name.isprintable():
            raise UsageError(f"{name!r} is no name of a query parameter")
    site = _site_at(mgmt, settings, where)
    lists: dict[str, list[str]] = {
        "keep_parameters": [name for name in site.settings.keep_parameters or () if name not in names],
        "drop_parameters": [name for name in site.settings.drop_parameters or () if name not in names],
    }
    if chosen:
        lists[chosen] += dict.fromkeys(names)
    if max(map(len, lists.values())) > _MOST:
        raise UsageError(f"{site.name} has {_MOST} parameters that are set by hand; use patterns such as utm_*")
    return change_site(mgmt, site.name, SiteChange(settings={key: value or None for key, value in lists.items()}))


def _site_at(mgmt: OperatorCalls, settings: Settings, where: str) -> Site:
    page = UrlRules(settings.url.strip, settings.url.max_length).identify(url_of(Uri(where)))
    site = Scope(mgmt.sites(), settings.dispatcher).site_of(page)
    if site is None:
        raise NotKnown(f"{where} belongs to no site; add one with `weft add URL`")
    return site

"""Pages for those who run weft: sites, ignored parameters, processes, settings, and what this weft is."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from weft.answers.nodes import is_crawling
from weft.config import TextTable, toml_text
from weft.errors import UsageError
from weft.mgmt.values import NodeState
from weft.model.site import HIDDEN_VALUE, SITE_KEYS
from weft.model.url import UrlRefused
from weft.web.endpoint import Endpoint, NoParams
from weft.web.operating_api import (
    ABOUT,
    NODES,
    RULES,
    SETTINGS,
    SITES,
    NodeListing,
    NodesParams,
    RulesParams,
    SettingListing,
    SettingsParams,
    SitesParams,
)
from weft.web.pages.page import Page
from weft.web.pages.roles import role_of
from weft.web.resources import WebResources

_SCOPES: Final = {"hosts": "this host", "domains": "the whole domain", "any": "any site"}
_KEYS: Final = (
    ("/", "go to the box on top"),
    ("j, k", "go to the next or previous result"),
    ("Enter", "open it"),
    ("n, p", "turn to the next or previous page of a list"),
)


def _sites(web: WebResources, asked: SitesParams, found: Any) -> dict[str, Any]:
    meanings = {name: key.meaning for name, key in SITE_KEYS.items()}
    return {"scopes": _SCOPES, "meanings": meanings, "toml": _toml, "hidden": HIDDEN_VALUE}


def _ask_rules(web: WebResources, asked: RulesParams) -> Any:
    """What somebody typed wrongly is told above the form that they typed it into."""
    try:
        return RULES.ask(web, asked)
    except (UrlRefused, UsageError) as error:
        return error


def _rules(web: WebResources, asked: RulesParams, found: Any) -> dict[str, Any]:
    return {"problem": str(found) if isinstance(found, Exception) else ""}


def _nodes(web: WebResources, asked: NodesParams, found: NodeListing) -> dict[str, Any]:
    roles = [role_of(node) for node in found.items]
    up = [role for role in roles if role.is_up]
    return {
        "up": up,
        "ended": [role for role in roles if not role.is_up],
        "is_crawling": any(is_crawling(role.node) for role in up),
        "is_paused": any(role.may_pause and role.node.asked is NodeState.PAUSED for role in up),
        "is_working": any(role.may_pause and role.node.asked is NodeState.ONLINE for role in up),
    }


def _settings(web: WebResources, asked: SettingsParams, found: SettingListing) -> dict[str, Any]:
    sections = groupby(found.items, key=lambda item: item.section)
    return {"sections": [(name, list(items)) for name, items in sections], "toml": _toml}


def _toml(value: Any) -> str:
    """As weft.toml has it."""
    if isinstance(value, list):
        return toml_text(tuple(value))
    return toml_text(TextTable(value) if isinstance(value, dict) else value)


def _about(web: WebResources, asked: NoParams, found: Any) -> dict[str, Any]:
    return {"keys": _KEYS}


_SHOW_RULES: Final = Endpoint(RULES.path, RULES.summary, RULES.params, RULES.answer, _ask_rules)

PAGES: Final = (
    Page("/sites", "sites.html", "Sites", SITES, _sites),
    Page("/rules", "rules.html", "Ignored parameters", _SHOW_RULES, _rules),
    Page("/nodes", "nodes.html", "Processes", NODES, _nodes),
    Page("/settings", "settings.html", "Settings", SETTINGS, _settings),
    Page("/about", "about.html", "About", ABOUT, _about),
    Page("/more", "more.html", "More", ABOUT),
)

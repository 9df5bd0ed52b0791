"""Questions of those who run weft: sites, rules, processes, settings, and what this weft is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from weft import __version__
from weft.answers.nodes import living_nodes, warnings
from weft.answers.rules import RuleItem, RuleListing
from weft.answers.settings_listing import SettingItem, setting_items
from weft.answers.sites import SiteItem, SiteListing, list_sites
from weft.config.text import hide_password
from weft.errors import NotKnown
from weft.mgmt.values import Node
from weft.roles.this_node import machine_name
from weft.web.endpoint import Endpoint, NoParams
from weft.web.param_types import Cursor, Format, Limit
from weft.web.resources import WebResources

_Rules = Annotated[int, Meta(ge=1, le=1000, description="Most rules in the answer.")]


class SitesParams(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=1000, description="Only sites whose name contains this.")] = ""
    limit: Limit = 100
    cursor: Cursor = None
    format: Format = "json"


class RulesParams(msgspec.Struct, frozen=True, kw_only=True):
    domain: Annotated[str, Meta(max_length=1000, description="Only rules of this domain.")] | None = None
    url: (
        Annotated[str, Meta(max_length=16_000, description="Explain what this URL is reduced to; not with domain.")]
        | None
    ) = None
    limit: _Rules = 50
    cursor: Cursor = None
    format: Format = "json"


class NodesParams(msgspec.Struct, frozen=True, kw_only=True):
    all: Annotated[bool, Meta(description="Those that ended long ago, too.")] = False
    address: Annotated[str, Meta(max_length=300, description="Only the process at this address.")] | None = None
    format: Format = "json"


class NodeListing(msgspec.Struct, frozen=True, kw_only=True):
    """weft's processes on all machines."""

    count: int
    items: list[Node]
    warnings: list[str]
    """What somebody should look at."""


class SettingsParams(msgspec.Struct, frozen=True, kw_only=True):
    section: Annotated[str, Meta(max_length=100, description="Only settings of this section.")] | None = None
    format: Format = "json"


class SettingListing(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    items: list[SettingItem]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What this weft is."""

    version: str
    home: str
    machine: str
    control_plane: str
    """Where it is, without a password."""
    store: str
    """The machine and directory of the index; empty: none was written yet."""
    identity: dict[str, str]
    """What all processes of this weft agreed on; keys and counts depend on it."""


def _sites(web: WebResources, asked: SitesParams) -> SiteListing:
    return list_sites(web.control.read(lambda mgmt: mgmt.sites()), asked.name, asked.limit, asked.cursor)


def _rules(web: WebResources, asked: RulesParams) -> RuleListing:
    with web.borrowed() as index:
        return index.rules(asked.domain, url=asked.url, limit=asked.limit, cursor=asked.cursor)


def _nodes(web: WebResources, asked: NodesParams) -> NodeListing:
    nodes = web.control.read(lambda mgmt: mgmt.nodes())
    if asked.address:
        nodes = [node for node in nodes if node.address == asked.address]
        if not nodes:
            raise NotKnown(f"no process has the address {asked.address}")
    elif not asked.all:
        nodes = living_nodes(nodes, web.loaded.settings.mgmt.show_dead)
    return NodeListing(count=len(nodes), items=nodes, warnings=list(warnings(nodes)))


def _settings(web: WebResources, asked: SettingsParams) -> SettingListing:
    known = setting_items(web.loaded)
    found = [item for item in known if asked.section in (None, item.section)]
    if not found:
        sections = ", ".join(dict.fromkeys(item.section for item in known))
        raise NotKnown(f"there is no section {asked.section!r}; expected one of {sections}")
    return SettingListing(count=len(found), items=found)


def _about(web: WebResources, asked: NoParams) -> About:
    settings = web.loaded.settings
    identity, store = web.control.read(lambda mgmt: (mgmt.agree({}), mgmt.index_store()))
    return About(
        version=__version__,
        home=str(web.home.path.resolve()),
        machine=machine_name(settings),
        control_plane=hide_password(settings.mgmt.url),
        store=store.where if store else "",
        identity=identity,
    )


SITES: Final = Endpoint(
    "/api/sites", "What may be crawled, and how", SitesParams, SiteListing, _sites, SiteItem, is_light=True
)
RULES: Final = Endpoint(
    "/api/rules", "Which query parameters weft has learned to ignore", RulesParams, RuleListing, _rules, RuleItem
)
NODES: Final = Endpoint(
    "/api/nodes",
    "weft's processes on all machines",
    NodesParams,
    NodeListing,
    _nodes,
    Node,
    is_light=True,
    may_be_unknown=True,
)
SETTINGS: Final = Endpoint(
    "/api/settings",
    "Every setting, its value and where that came from",
    SettingsParams,
    SettingListing,
    _settings,
    SettingItem,
    is_light=True,
    may_be_unknown=True,
)
ABOUT: Final = Endpoint("/api/about", "What this weft is", NoParams, About, _about, is_light=True)

OPERATING_ENDPOINTS: Final[Sequence[Endpoint[Any]]] = (SITES, RULES, NODES, SETTINGS, ABOUT)

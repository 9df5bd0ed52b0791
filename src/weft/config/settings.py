"""Settings, the one frozen object; KEYS, the facts about each key; and the User-Agent header that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import cast

from weft.config.keys import FACTS, Key, Kind, Value
from weft.config.sections import (
    ArchiveSettings,
    DispatcherSettings,
    IndexserverSettings,
    IndexSettings,
    LimitsSettings,
    MgmtSettings,
    SpiderSettings,
    StoreSettings,
    TlsSettings,
    UrlserverSettings,
    UrlSettings,
    WebSettings,
)

_PRODUCT = re.compile("[A-Za-z_-]+")
_CONTACT_IN_PARENTHESES = re.compile(r" ?\([^()]*\{contact\}[^()]*\)")


@dataclass(frozen=True, slots=True)
class Settings:
    """Section names have no underscore, because the variable WEFT_SECTION_KEY is split at the first one."""

    store: StoreSettings = field(default_factory=StoreSettings)
    mgmt: MgmtSettings = field(default_factory=MgmtSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    url: UrlSettings = field(default_factory=UrlSettings)
    urlserver: UrlserverSettings = field(default_factory=UrlserverSettings)
    spider: SpiderSettings = field(default_factory=SpiderSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    tls: TlsSettings = field(default_factory=TlsSettings)
    dispatcher: DispatcherSettings = field(default_factory=DispatcherSettings)
    indexserver: IndexserverSettings = field(default_factory=IndexserverSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    web: WebSettings = field(default_factory=WebSettings)


DEFAULTS = Settings()


def _declared() -> Iterator[Key]:
    for section in fields(DEFAULTS):
        defaults = getattr(DEFAULTS, section.name)
        for declared in fields(defaults):
            facts = declared.metadata[FACTS]
            facts = replace(facts, reader=facts.reader or defaults.reader)
            default = getattr(defaults, declared.name)
            yield Key(section.name, declared.name, Kind(declared.type), default, facts)


KEYS: Mapping[str, Key] = MappingProxyType({key.name: key for key in _declared()})
SECTIONS = tuple(section.name for section in fields(Settings))


def keys_of(section: str) -> tuple[Key, ...]:
    return tuple(key for key in KEYS.values() if key.section == section)


def value_of(settings: Settings, key: Key) -> Value:
    return cast(Value, getattr(getattr(settings, key.section), key.field))


def settings_with(values: Mapping[str, Value]) -> Settings:
    """The defaults, replaced by `values` where there are any (by `section.key`)."""
    changed = {}
    for section in {KEYS[name].section for name in values}:
        given = {key.field: values[key.name] for key in keys_of(section) if key.name in values}
        changed[section] = replace(getattr(DEFAULTS, section), **given)
    return replace(DEFAULTS, **changed)


def user_agent(spider: SpiderSettings, version: str) -> str:
    """Fill in {version} and {contact}; without a contact the parentheses around it are dropped too."""
    template = spider.user_agent if spider.contact else _CONTACT_IN_PARENTHESES.sub("", spider.user_agent)
    return template.replace("{version}", version).replace("{contact}", spider.contact).strip()


def product_token(spider: SpiderSettings) -> str:
    """The name at the start of the User-Agent header, which robots.txt and pages use to address this crawler."""
    found = _PRODUCT.match(spider.user_agent)
    return found[0] if found else ""


def fetch_conditions(settings: Settings) -> bytes:
    """A hash of what decides whether servers can be reached, whatever the site: names, addresses, authorities."""
    urlserver = settings.urlserver
    values = [
        sorted(dict(urlserver.static_hosts).items()),
        urlserver.hosts_file,
        urlserver.dns_servers,
        urlserver.allow_net,
        urlserver.allow_ports,
        settings.spider.ca_file,
    ]
    return blake2b(repr(values).encode(), digest_size=16).digest()

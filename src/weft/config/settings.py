"""Settings, the one frozen object, and KEYS, what is known about each of its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import cast

from weft.config.crawl_sections import DispatcherSettings, LimitsSettings, SpiderSettings, UrlserverSettings
from weft.config.index_sections import IndexSettings, MgmtSettings, StoreSettings, UrlSettings, WebSettings
from weft.config.keys import FACTS, Key, Kind, Value


@dataclass(frozen=True, slots=True)
class Settings:
    """Section names hold no underscore: the environment form WEFT_SECTION_KEY is cut at the first one."""

    store: StoreSettings = field(default_factory=StoreSettings)
    mgmt: MgmtSettings = field(default_factory=MgmtSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    url: UrlSettings = field(default_factory=UrlSettings)
    urlserver: UrlserverSettings = field(default_factory=UrlserverSettings)
    spider: SpiderSettings = field(default_factory=SpiderSettings)
    dispatcher: DispatcherSettings = field(default_factory=DispatcherSettings)
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
    """The defaults, with `values` (by `section.key`) in their place."""
    changed = {}
    for section in {KEYS[name].section for name in values}:
        given = {key.field: values[key.name] for key in keys_of(section) if key.name in values}
        changed[section] = replace(getattr(DEFAULTS, section), **given)
    return replace(DEFAULTS, **changed)

"""Every setting with its value in use, its meaning and where the value came from, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from weft.config import Loaded, rows, shown
from weft.config.keys import Value


class SettingItem(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    section: str
    value: Any
    """Passwords and tokens in it are hidden."""
    origin: str
    """default, a file, an environment variable or a flag."""
    default: Any
    meaning: str
    expected: str
    variable: str
    """The environment variable that sets it."""


def setting_items(loaded: Loaded) -> list[SettingItem]:
    """In the order of declaration."""
    return [
        SettingItem(
            key=row.name,
            section=row.key.section,
            value=_plain(shown(row.key, row.value)),
            origin=row.origin,
            default=_plain(shown(row.key, row.key.default)),
            meaning=row.key.facts.meaning,
            expected=row.key.expected,
            variable=row.key.variable,
        )
        for row in rows(loaded)
    ]


def _plain(value: Value) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value

"""Settings as rows to print, secrets hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.config.keys import Key, Value
from weft.config.load import Loaded
from weft.config.settings import KEYS, value_of


class Row(NamedTuple):
    """One setting as loaded; `value` is the true one, print `shown(key, value)`."""

    name: str
    value: Value
    origin: str
    key: Key


def rows(loaded: Loaded) -> Iterator[Row]:
    """Every setting in the order of declaration."""
    for name, key in KEYS.items():
        yield Row(name, value_of(loaded.settings, key), loaded.origins[name], key)


def shown(key: Key, value: Value) -> Value:
    """The value as it may be seen: tokens and passwords are replaced."""
    return key.facts.mask(value) if key.facts.mask is not None and isinstance(value, str) else value

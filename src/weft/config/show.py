"""Settings as people see them: the rows of `weft config`, and the weft.toml that a new home starts with."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from weft.config.keys import Key, Value
from weft.config.load import Loaded
from weft.config.settings import KEYS, SECTIONS, keys_of, value_of
from weft.config.text import toml_text

_WIDTH = 100
_INTRODUCTION = """\
# Settings of this weft home. Every setting is listed with its default, commented out:
# remove the # in front of its name to change it. The environment variable WEFT_SECTION_KEY
# and the flag --set section.key=value override this file. `weft config` shows every value
# in use and where it comes from.
"""


class Row(NamedTuple):
    """One setting as loaded; `value` may be a secret, so print `shown(key, value)`."""

    name: str
    value: Value
    origin: str
    key: Key


def rows(loaded: Loaded) -> Iterator[Row]:
    """Every setting, in the order of declaration."""
    for name, key in KEYS.items():
        yield Row(name, value_of(loaded.settings, key), loaded.origins[name], key)


def shown(key: Key, value: Value) -> Value:
    """The value with tokens and passwords hidden."""
    return key.facts.mask(value) if key.facts.mask is not None and isinstance(value, str) else value


def starter() -> str:
    """The weft.toml of a new home: every setting, explained and commented out."""
    return "\n".join([_INTRODUCTION, *(line for section in SECTIONS for line in _section(section))])


def _section(section: str) -> Iterator[str]:
    yield f"[{section}]"
    for key in keys_of(section):
        yield from (f"# {line}" for line in wrap(_explained(key), _WIDTH))
        # No space after the #, so that removing it from these lines alone leaves valid TOML.
        yield from (f"#{line}" for line in _assigned(key.field, key.default))
        yield ""


def _explained(key: Key) -> str:
    return f"{key.facts.meaning} Expected: {key.expected}."


def _assigned(name: str, value: Value) -> list[str]:
    line = f"{name} = {toml_text(value)}"
    if len(line) <= _WIDTH or not isinstance(value, tuple):
        return [line]
    items = ", ".join(toml_text(item) for item in value)
    return [f"{name} = [", *wrap(items, _WIDTH, break_long_words=False, break_on_hyphens=False), "]"]

"""The weft.toml that a new home starts with: every setting, explained and commented out."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from weft.config.keys import Key, Value
from weft.config.settings import SECTIONS, keys_of
from weft.config.text import toml_text

_WIDTH = 100
_INTRODUCTION = """\
# Settings of this weft home. Every line that begins with # and a name shows a default:
# remove the # to change it. A variable WEFT_SECTION_KEY or a flag --set section.key=value
# overrides what stands here. `weft config` shows every value and where it comes from.
"""


def starter() -> str:
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

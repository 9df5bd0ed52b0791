"""Setting values as text: written as TOML, and read back from a variable or a flag."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

_QUOTES = ("'", '"')


def quoted(text: str) -> str:
    """A TOML basic string; whatever a terminal would not simply print is escaped."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def toml_text(value: object) -> str:
    """The TOML form of a setting's value; reading it back gives the value again."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{quoted(name)} = {toml_text(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml_text(item) for item in value) + "]"
    return repr(value)


def text_setting(text: str) -> object:
    """Read the text form of a setting of type text: bare, or a quoted TOML string."""
    return toml_value(text) if text.startswith(_QUOTES) else text


def toml_value(text: str) -> object:
    """Read one TOML value; the ValueError says in a few words what `text` holds instead."""
    try:
        document = tomllib.loads(f"value = {text}\n")
    except ValueError as error:
        raise ValueError("no TOML value") from error
    except RecursionError as error:
        raise ValueError("a value nested too deeply") from error
    # A line break in `text` could otherwise smuggle in more keys.
    if document.keys() != {"value"}:
        raise ValueError("more than one TOML value")
    return document["value"]

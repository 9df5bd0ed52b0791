"""Values as text: written as TOML, read back from a variable or a flag, and with secrets hidden."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from urllib.parse import unquote

HIDDEN = "***"
_QUOTES = ("'", '"')

# Greedy up to the last @: a password that was not percent-encoded may itself hold one.
# The second form is for texts that are not URLs but may still hold a password.
_USER_PASSWORD = re.compile(r"^([^:/]*://[^:/@?]*:|[^:]*:(?!//)).*@", re.DOTALL)
# Whoever forgot the host wrote a user and a password in its place: what is no port may be one.
_NO_PORT = re.compile(r"^([^:/]*://[^:/@?\[]*:)(?!\d*(?:[,/?]|$))[^/?]+")
_NAME = re.compile(r"(?<![\w%])((?:\w|%[0-9A-Fa-f]{2})+)\s*=\s*")
_SECRET_NAME = re.compile(r"pass|secret|token", re.IGNORECASE)
# A value of a URL ends where the next name begins; one of a connection string may be quoted and hold escapes.
_VALUE_OF_URL = re.compile(r"[^&]*")
# The rest of a password that holds an &.
_NO_PARAMETER = re.compile(r"(?<=[?&])[^=&@]+(?=&|$)")
_VALUE_OF_CONNECTION = re.compile(r"'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)*", re.DOTALL)


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
    """The TOML form of a setting's value; reading it back gives the same value."""
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
    """Read a setting of type text: bare, or a quoted TOML string."""
    return toml_value(text) if text.startswith(_QUOTES) else text


def toml_value(text: str) -> object:
    """Read one TOML value; the ValueError says what is wrong, as in "text that is nested too deeply"."""
    try:
        document = tomllib.loads(f"value = {text}\n")
    except ValueError as error:
        raise ValueError("is not a TOML value") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    # A line break in `text` could otherwise smuggle in more keys.
    if document.keys() != {"value"}:
        raise ValueError("holds more than one TOML value")
    return document["value"]


def hide_all(text: str) -> str:
    return HIDDEN if text else text


def hide_password(url: str) -> str:
    """Hide `user:PASSWORD@` and `password=PASSWORD`, however they are spelled; the rest stays readable.

    Also for connection strings of PostgreSQL, and for texts that are neither: it rather hides too much.
    """
    is_url = "://" in url
    shown = _hide_parameters(url, _VALUE_OF_URL if is_url else _VALUE_OF_CONNECTION)
    if is_url:
        shown = _NO_PARAMETER.sub(HIDDEN, shown)
    hidden, count = _USER_PASSWORD.subn(rf"\1{HIDDEN}@", shown)
    return hidden if count else _NO_PORT.sub(rf"\1{HIDDEN}", shown)


def _hide_parameters(text: str, value: re.Pattern[str]) -> str:
    pieces, at = list[str](), 0
    while found := _NAME.search(text, at):
        pieces.append(text[at : found.end()])
        at = found.end()
        if _SECRET_NAME.search(unquote(found[1])) and (secret := value.match(text, at)) and secret[0]:
            pieces.append(HIDDEN)
            at = secret.end()
    return "".join([*pieces, text[at:]])

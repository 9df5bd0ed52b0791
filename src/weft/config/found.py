"""What was found in place of the expected, in words that hide secrets and stay short."""

from __future__ import annotations

from weft.config.keys import Key
from weft.config.text import quoted, toml_text

_LONGEST = 60


def found_words(key: Key, found: object) -> str:
    if key.facts.mask is not None:
        return _short(quoted(key.facts.mask(found))) if isinstance(found, str) else "a value that is not text"
    if isinstance(found, dict | list):
        return "a table" if isinstance(found, dict) else "a list"
    if isinstance(found, tuple):
        name, value = found
        return _short(f"{quoted(name)} = {found_words(key, value)}")
    if isinstance(found, int | float | str):
        return _short(_scalar(found))
    return f"the date or time {found}"


def _scalar(found: float | str) -> str:
    # Python refuses to print integers of thousands of digits, which TOML can give in hexadecimal.
    if isinstance(found, int) and found.bit_length() > 128:
        return "an integer of more than 128 bits"
    return toml_text(found)


def unread_words(key: Key, text: str, reason: str) -> str:
    """For a text that could not even be read as a value."""
    return reason if key.facts.mask is not None else f"{reason} in {_short(quoted(text))}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

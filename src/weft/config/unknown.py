"""What to say about a section, a key or a variable that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

from weft.config.keys import Key
from weft.config.settings import KEYS, SECTIONS, keys_of
from weft.config.text import quoted
from weft.errors import SettingsError


def unknown_section(section: str, origin: str) -> SettingsError:
    meant = _closest(section, SECTIONS)
    hint = f"did you mean [{meant}]?" if meant else f"expected one of {', '.join(SECTIONS)}"
    return SettingsError(readable(section), origin, f"there is no such section; {hint}")


def unknown_key(section: str, field: str, origin: str) -> SettingsError:
    key = closest_key(section, field)
    hint = f"did you mean {key.name}?" if key else _expected(section)
    return _unknown(section, field, origin, hint)


def unknown_variable(variable: str) -> SettingsError:
    section, _, field = variable.removeprefix("WEFT_").lower().partition("_")
    key = closest_key(section, field)
    hint = f"did you mean {key.variable} for {key.name}?" if key else _expected(section)
    return _unknown(section, field, variable, hint)


def _unknown(section: str, field: str, origin: str, hint: str) -> SettingsError:
    name = ".".join(readable(part) for part in (section, field) if part) or '""'
    what = "setting" if section in SECTIONS else "section"
    return SettingsError(name, origin, f"there is no such {what}; {hint}")


def _expected(section: str) -> str:
    if section in SECTIONS:
        return f"[{section}] has {', '.join(key.field for key in keys_of(section))}"
    return f"expected one of {', '.join(SECTIONS)}"


def closest_key(section: str, field: str) -> Key | None:
    """The key that was probably meant: one of a similar name here, or one of this name elsewhere."""
    nearby = section if section in SECTIONS else _closest(section, SECTIONS)
    if nearby and (meant := _closest(field, [key.field for key in keys_of(nearby)])):
        return KEYS[f"{nearby}.{meant}"]
    # WEFT_QUEUE_LEN and --set queue_len=5 leave out the section.
    without_section = f"{section}_{field}".strip("_")
    return next((key for key in KEYS.values() if key.field in (field, without_section)), None)


def _closest(word: str, known: Iterable[str]) -> str | None:
    # Loaded for a mistake only: difflib would be a good part of the start-up time.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), list(known), n=1)), None)


def readable(name: str) -> str:
    """A name as it was given, quoted when it is odd or long enough to spoil the sentence."""
    plain = name.replace("_", "").replace("-", "").isalnum() and len(name) <= 60
    return name if plain else quoted(name[:60])

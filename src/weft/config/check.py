"""What is refused and why: a wrong value, a name that does not exist, values that do not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from weft.config.keys import Key, Kind, TextTable, Value
from weft.config.settings import KEYS, SECTIONS, Settings, keys_of
from weft.config.text import hide_password, quoted, toml_text
from weft.errors import SettingsError

LONGEST_IN_POSTGRESQL = 2600
"""Links are found by their uri, and PostgreSQL's index takes no longer keys."""

_CONTAINERS: Mapping[Kind, type] = {Kind.INTS: list, Kind.TEXTS: list, Kind.TABLE: dict}
# An integer is a number too. True and false are neither, although Python's isinstance() says so.
_ATOMS: Mapping[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.INTS: (int,),
    Kind.FLOAT: (float, int),
    Kind.TEXT: (str,),
    Kind.TEXTS: (str,),
    Kind.TABLE: (str,),
}
_LONGEST_SHOWN = 60


def checked(key: Key, found: Any, origin: str) -> Value:
    """The value as Settings holds it, or SettingsError with what was expected and what was found."""
    if key.kind in _CONTAINERS and type(found) is not _CONTAINERS[key.kind]:
        raise _refused(key, found, origin)
    for part in _parts(key.kind, found):
        if not _may_be(key, part):
            raise _refused(key, part, origin)
    return _frozen(key.kind, found)


def _parts(kind: Kind, found: Any) -> Iterable[Any]:
    if kind is Kind.TABLE:
        return cast(Iterable[Any], found.items())
    return found if kind in _CONTAINERS else (found,)


def _may_be(key: Key, part: Any) -> bool:
    atom = part[1] if key.kind is Kind.TABLE else part
    if type(atom) not in _ATOMS[key.kind]:
        return False
    return key.facts.allowed is None or key.facts.allowed.holds(part)


def _frozen(kind: Kind, found: Any) -> Value:
    if kind is Kind.FLOAT:
        return float(found)
    if kind is Kind.TABLE:
        return TextTable(found)
    return tuple(found) if kind in _CONTAINERS else cast(Value, found)


def check_together(settings: Settings, places: Mapping[str, str]) -> None:
    """Refuse values that are allowed alone but not together; `places` says where each key is set."""
    timeout, every = settings.urlserver.timeout_spider_status, settings.spider.working_every
    if timeout < 2 * every:
        # One lost WORKING line must not look like a dead spider.
        pair = ("urlserver.timeout_spider_status", "spider.working_every")
        raise _conflict(pair, places, f"at least 2 x {every} = {2 * every} seconds", timeout)
    lease, heartbeat = settings.mgmt.lease, settings.mgmt.heartbeat
    if lease <= heartbeat:
        raise _conflict(("mgmt.lease", "mgmt.heartbeat"), places, f"more than {heartbeat} seconds", lease)
    if settings.mgmt.url.startswith("postgresql:") and settings.url.max_length > LONGEST_IN_POSTGRESQL:
        pair = ("url.max_length", "mgmt.url")
        raise _conflict(pair, places, f"at most {LONGEST_IN_POSTGRESQL} characters", settings.url.max_length)
    if settings.store.url.startswith("cassandra:") and not settings.mgmt.url.startswith("postgresql:"):
        # What an owner is about to write must survive its machine, too.
        pair, found = ("mgmt.url", "store.url"), quoted(hide_password(settings.mgmt.url))
        where = hide_password(settings.store.url)
        raise _conflict(pair, places, f'"postgresql://…", which {where} needs', found)
    _check_tls(settings, places)


def _check_tls(settings: Settings, places: Mapping[str, str]) -> None:
    """A key without a certificate is useless; a node that is dialled by TLS alone must dial by TLS, too."""
    tls = settings.tls
    given = {"tls.certificate": tls.certificate, "tls.key": tls.key, "tls.ca": tls.ca}
    for name, other in (("tls.key", "tls.certificate"), ("tls.certificate", "tls.key"), ("tls.ca", "tls.certificate")):
        if given[other] and not given[name]:
            raise _conflict((name, other), places, "a file", '""')


def _conflict(pair: tuple[str, str], places: Mapping[str, str], expected: str, found: float | str) -> SettingsError:
    name, other = pair
    set_at = [places[key] for key in pair if places[key] != "default"]
    problem = f"expected {expected} because of {other} ({places[other]}), found {found} ({places[name]})"
    return SettingsError(name, set_at[0], problem)


# What was found, in words that hide secrets and stay short.


def _refused(key: Key, found: object, origin: str) -> SettingsError:
    return SettingsError(key.name, origin, f"expected {key.expected}, found {_found_words(key, found)}")


def unreadable(key: Key, text: str, origin: str, reason: str) -> SettingsError:
    """For a text that cannot be read as any value; `reason` as of `toml_value`."""
    found = f"text that {reason}" if key.facts.mask is not None else f"{_short(quoted(text))}, which {reason}"
    return SettingsError(key.name, origin, f"expected {key.expected}, found {found}")


def _found_words(key: Key, found: object) -> str:
    if key.facts.mask is not None:
        return _short(quoted(key.facts.mask(found))) if isinstance(found, str) else "a value that is not text"
    if isinstance(found, dict | list):
        return "a table" if isinstance(found, dict) else "a list"
    if isinstance(found, tuple):
        name, value = found
        return _short(f"{quoted(name)} = {_found_words(key, value)}")
    if isinstance(found, int | float | str):
        return _short(_scalar(found))
    return f"the date or time {found}"


def _scalar(found: float | str) -> str:
    # Python refuses to print integers of thousands of digits, which TOML can give in hexadecimal.
    if isinstance(found, int) and found.bit_length() > 128:
        return "an integer of more than 128 bits"
    return toml_text(found)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


# Names that do not exist, with the one that was probably meant.


def unknown_section(section: str, origin: str) -> SettingsError:
    meant = _closest(section, SECTIONS)
    hint = f"did you mean [{meant}]?" if meant else _expected(section)
    return SettingsError(readable(section), origin, f"unknown section; {hint}")


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
    return SettingsError(name, origin, f"unknown {what}; {hint}")


def _expected(section: str) -> str:
    if section in SECTIONS:
        return f"[{section}] has {', '.join(key.field for key in keys_of(section))}"
    return f"the sections are {', '.join(SECTIONS)}"


def closest_key(section: str, field: str) -> Key | None:
    """The key that was probably meant: a similar name in this section, or this name in another section."""
    nearby = section if section in SECTIONS else _closest(section, SECTIONS)
    if nearby and (meant := _closest(field, [key.field for key in keys_of(nearby)])):
        return KEYS[f"{nearby}.{meant}"]
    # WEFT_QUEUE_LEN and --set queue_len=5 leave out the section.
    without_section = f"{section}_{field}".strip("_")
    return next((key for key in KEYS.values() if key.field in (field, without_section)), None)


def _closest(word: str, known: Iterable[str]) -> str | None:
    # Imported only after a mistake: difflib would take a good part of the start-up time.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), list(known), n=1)), None)


def readable(name: str) -> str:
    """A name as it was given, quoted and cut if it is odd or long enough to spoil the sentence."""
    plain = name.replace("_", "").replace("-", "").isalnum() and len(name) <= 60
    return name if plain else quoted(name[:60])

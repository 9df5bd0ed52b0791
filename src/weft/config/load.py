"""Loading Settings: weft.toml, then the environment, then flags; the later source wins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from weft.config.check import (
    check_together,
    checked,
    readable,
    unknown_key,
    unknown_section,
    unknown_variable,
    unreadable,
)
from weft.config.keys import Key, Kind, Value
from weft.config.settings import KEYS, SECTIONS, Settings, settings_with
from weft.config.text import text_setting, toml_value
from weft.errors import HomeError, SettingsError

DEFAULT = "default"
FILE_NAME = "weft.toml"
FLAG = "--set"

_VARIABLES = {key.variable: key for key in KEYS.values()}
# WEFT_HOME chooses the home, WEFT_DEBUG shows tracebacks, WEFT_LOG is where a role logs; the others are for tests.
_NOT_SETTINGS = {"WEFT_HOME", "WEFT_DEBUG", "WEFT_LOG", "WEFT_FAIL", "WEFT_SUITES", "WEFT_TEST_CASSANDRA"}
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Loaded:
    """`origins` maps every `section.key` to where its value came from: default, weft.toml, a variable or --set."""

    settings: Settings
    origins: Mapping[str, str]


class Given(NamedTuple):
    """A checked value from one source; `origin` is the kind of source, `place` where to go to change it."""

    key: Key
    value: Value
    origin: str
    place: str


def load(home: Path | None, environ: Mapping[str, str], flags: Sequence[str]) -> Loaded:
    """Read all three sources; raises SettingsError for the first wrong value, even if another source overrides it."""
    sources = chain(_from_file(home) if home else (), _from_environment(environ), _from_flags(flags))
    winners: dict[str, Given] = {given.key.name: given for given in sources}
    settings = settings_with({name: given.value for name, given in winners.items()})
    check_together(settings, {name: winners[name].place if name in winners else DEFAULT for name in KEYS})
    origins = {name: winners[name].origin if name in winners else DEFAULT for name in KEYS}
    return Loaded(settings, MappingProxyType(origins))


# weft.toml


def _from_file(home: Path) -> Iterator[Given]:
    """Every value of the home's weft.toml; a home without one gives none."""
    path = home / FILE_NAME
    document = _parsed(_text(path), str(path))
    for section, table in _any_case(document, "", str(path)):
        if section not in SECTIONS:
            raise unknown_section(section, str(path))
        if not isinstance(table, dict):
            raise SettingsError(section, str(path), f"expected a section [{section}] with keys, found a single value")
        yield from _section(section, table, str(path))


def _section(section: str, table: dict[str, Any], origin: str) -> Iterator[Given]:
    for field, found in _any_case(table, f"{section}.", origin):
        key = KEYS.get(f"{section}.{field}")
        if key is None:
            raise unknown_key(section, field, origin)
        yield Given(key, checked(key, found, origin), FILE_NAME, origin)


def _any_case(table: dict[str, Any], prefix: str, origin: str) -> Iterator[tuple[str, Any]]:
    """Names in lower case, with their values; two names that differ only in case are refused."""
    written: dict[str, str] = {}
    for name, value in table.items():
        lower = name.lower()
        if lower in written:
            both = f"as {readable(written[lower])} and as {readable(name)}"
            raise SettingsError(f"{prefix}{readable(lower)}", origin, f"given twice, {both}; case does not matter")
        written[lower] = name
        yield lower, value


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    except NotADirectoryError as error:
        raise HomeError(f"{path.parent}: the home must be a directory, but this is a file") from error
    except OSError as error:
        raise SettingsError("file", str(path), f"cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"line {line}", str(path), "not UTF-8") from error


def _parsed(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), text, origin) from error
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or brackets nested as deeply: tomllib lets Python's own error through.
        raise SettingsError("file", origin, "not valid TOML: a number is too long or brackets too deep") from error


def _not_toml(message: str, text: str, origin: str) -> SettingsError:
    position = _POSITION.search(message)
    line = int(position[1]) if position and position[1] else text.count("\n") + 1
    column = f" at column {position[2]}" if position and position[2] else ""
    reason = _POSITION.sub("", message)
    return SettingsError(f"line {line}", origin, f"not valid TOML{column}: {reason}")


# Environment variables and flags


def _from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for variable in sorted(environ):
        if not variable.startswith("WEFT_") or variable in _NOT_SETTINGS:
            continue
        # A misspelt override that is silently ignored would be a trap.
        if variable not in _VARIABLES:
            raise unknown_variable(variable)
        key = _VARIABLES[variable]
        yield Given(key, _from_text(key, environ[variable], variable), variable, variable)


def _from_flags(flags: Sequence[str]) -> Iterator[Given]:
    """Read `section.key=value` texts; of two for one key the later one wins."""
    for key, text in _split(flags):
        yield Given(key, _from_text(key, text, FLAG), FLAG, FLAG)


def as_variables(flags: Sequence[str]) -> dict[str, str]:
    """The same settings as environment variables: what a process is started with is not for everybody's eyes."""
    return {key.variable: text for key, text in _split(flags)}


def secrets_in(flags: Sequence[str]) -> list[str]:
    """The names of the settings among `flags` that hold a secret."""
    given = {key.name: (key.facts.mask, text) for key, text in _split(flags)}
    return [name for name, (mask, text) in given.items() if mask is not None and mask(text) != text]


def _split(flags: Sequence[str]) -> Iterator[tuple[Key, str]]:
    for flag in flags:
        name, equals, text = flag.partition("=")
        if not equals:
            raise _not_a_pair(name)
        section, _, field = name.strip().lower().partition(".")
        key = KEYS.get(f"{section}.{field}")
        if key is None:
            raise unknown_key(section, field, FLAG)
        yield key, text


def _not_a_pair(name: str) -> SettingsError:
    # Only the first word is repeated: what follows it may be a secret.
    word = next(iter(re.findall(r"[\w.-]+", name)), "")
    return SettingsError(word or "flag", FLAG, "expected section.key=value")


def _from_text(key: Key, text: str, origin: str) -> Value:
    try:
        text.encode()
        found = text_setting(text) if key.kind is Kind.TEXT else toml_value(text)
    except UnicodeEncodeError as error:
        raise SettingsError(key.name, origin, f"expected {key.expected}, found text that is not UTF-8") from error
    except ValueError as error:
        raise unreadable(key, text, origin, str(error)) from error
    return checked(key, found, origin)

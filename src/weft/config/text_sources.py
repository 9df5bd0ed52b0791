"""Reading values given as text: environment variables and `--set` flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from weft.config.check import checked
from weft.config.found import unread_words
from weft.config.given import Given
from weft.config.keys import Key, Kind, Value
from weft.config.settings import KEYS
from weft.config.text import text_setting, toml_value
from weft.config.unknown import unknown_key, unknown_variable
from weft.errors import SettingsError

FLAG = "--set"
_VARIABLES = {key.variable: key for key in KEYS.values()}
# WEFT_HOME chooses the home, WEFT_DEBUG shows tracebacks, WEFT_LOG is where a role logs; the others steer tests.
_NOT_SETTINGS = {"WEFT_HOME", "WEFT_DEBUG", "WEFT_LOG", "WEFT_FAIL", "WEFT_SUITES"}


def from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for variable in sorted(environ):
        if not variable.startswith("WEFT_") or variable in _NOT_SETTINGS:
            continue
        # A misspelt override that is silently ignored would be a trap.
        if variable not in _VARIABLES:
            raise unknown_variable(variable)
        key = _VARIABLES[variable]
        yield Given(key, _from_text(key, environ[variable], variable), variable, variable)


def from_flags(flags: Sequence[str]) -> Iterator[Given]:
    """Read `section.key=value` texts; of two for one key the later one wins."""
    for flag in flags:
        name, equals, text = flag.partition("=")
        if not equals:
            raise _not_a_pair(name)
        section, _, field = name.strip().lower().partition(".")
        key = KEYS.get(f"{section}.{field}")
        if key is None:
            raise unknown_key(section, field, FLAG)
        yield Given(key, _from_text(key, text, FLAG), FLAG, FLAG)


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
        problem = f"expected {key.expected}, found {unread_words(key, text, str(error))}"
        raise SettingsError(key.name, origin, problem) from error
    return checked(key, found, origin)

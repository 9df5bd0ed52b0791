"""Reading `weft.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.config.check import checked
from weft.config.given import Given
from weft.config.settings import KEYS, SECTIONS
from weft.config.unknown import readable, unknown_key, unknown_section
from weft.errors import HomeError, SettingsError

FILE_NAME = "weft.toml"
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def from_file(home: Path) -> Iterator[Given]:
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
    """Names in lower case, with their values; two names that differ in case alone are refused."""
    written: dict[str, str] = {}
    for name, value in table.items():
        lower = name.lower()
        if lower in written:
            both = f"{readable(written[lower])} and {readable(name)}"
            raise SettingsError(f"{prefix}{readable(lower)}", origin, f"expected it once in any case, found {both}")
        written[lower] = name
        yield lower, value


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    except NotADirectoryError as error:
        raise HomeError(f"{path.parent}: expected a directory as the home, found a file") from error
    except OSError as error:
        raise SettingsError("file", str(path), f"it cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"line {line}", str(path), "expected UTF-8, found other bytes") from error


def _parsed(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), text, origin) from error
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or brackets nested as deeply: tomllib lets Python's own error through.
        raise SettingsError("file", origin, "expected TOML, found a number or a nesting too large to read") from error


def _not_toml(message: str, text: str, origin: str) -> SettingsError:
    position = _POSITION.search(message)
    line = int(position[1]) if position and position[1] else text.count("\n") + 1
    column = f" in column {position[2]}" if position and position[2] else ""
    reason = _POSITION.sub("", message)
    return SettingsError(f"line {line}", origin, f"expected TOML, found an error{column}: {reason}")

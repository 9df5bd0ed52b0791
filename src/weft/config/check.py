"""Checking one value: its type, its range, and the sentence when it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from weft.config.found import found_words
from weft.config.keys import Key, Kind, Value
from weft.config.text_table import TextTable
from weft.errors import SettingsError

_CONTAINERS: Mapping[Kind, type] = {Kind.INTS: list, Kind.TEXTS: list, Kind.TABLE: dict}
# An integer is a number too; true and false are neither, although Python's isinstance() says so.
_ATOMS: Mapping[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.INTS: (int,),
    Kind.FLOAT: (float, int),
    Kind.TEXT: (str,),
    Kind.TEXTS: (str,),
    Kind.TABLE: (str,),
}


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


def _refused(key: Key, found: object, origin: str) -> SettingsError:
    return SettingsError(key.name, origin, f"expected {key.expected}, found {found_words(key, found)}")

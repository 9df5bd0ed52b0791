"""A value that one of the sources gives for one key."""

from __future__ import annotations

from typing import NamedTuple

from weft.config.keys import Key, Value

DEFAULT = "default"


class Given(NamedTuple):
    """A checked value; `origin` tells the kind of source, `place` where to go to change it."""

    key: Key
    value: Value
    origin: str
    place: str

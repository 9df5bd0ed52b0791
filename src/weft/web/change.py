"""Something people can change, declared once: for programs with a token, and for the forms of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import msgspec

from weft.web.endpoint import Params
from weft.web.resources import WebResources


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a change came to."""

    sentence: str
    """For people."""
    count: int = 0
    """How many links, nodes or chunks it was about."""


@dataclass(frozen=True, slots=True)
class Change(Generic[Params]):
    path: str
    summary: str
    body: type[Params]
    """JSON of a program, or the fields of a form."""
    act: Callable[[WebResources, Params], Any]
    """Runs in a thread; raises WeftError."""
    answer: type = Done

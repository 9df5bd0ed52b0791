"""What a site pattern is: a server made from a seed, which tells with every answer which page that is in truth."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl


class Answer(NamedTuple):
    """What a server sends, and which page that is in truth; no page where `page` is nothing."""

    page: str
    text: str = ""
    links: Sequence[tuple[str, str]] = ()
    status: int = 200
    location: str = ""


Parameters = list[tuple[str, str]]
Server = Callable[[str, Parameters, int], Answer]
"""(path, parameters, number of the visit) -> answer; the page is the same at every visit."""


class Pattern(NamedTuple):
    name: str
    make: Callable[[random.Random], Server]
    has_duplicates: bool = True
    exempt: str = ""
    """Why the share of avoided duplicates is not bounded; what is hidden wrongly always is."""
    is_steady: bool = True
    """Whether a page says the same at each visit, clocks and counters aside."""

    @property
    def is_promised(self) -> bool:
        return self.has_duplicates and not self.exempt

    @property
    def host(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name) + ".test"

    def server(self, seed: int) -> Server:
        return self.make(random.Random(f"{self.name} {seed}"))  # noqa: S311 - must be the same again


def split_target(target: str) -> tuple[str, Parameters]:
    path, _, query = target.partition("?")
    return path, parse_qsl(query, keep_blank_values=True)


def page_of(server: Server, target: str) -> str:
    """Which page a target is; nothing where it is none."""
    return server(*split_target(target), 1).page

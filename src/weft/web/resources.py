"""What the web app answers from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from weft.answers.budget import Budget
from weft.answers.home_index import HomeIndex
from weft.config import Loaded
from weft.home import Home
from weft.web.control_desk import ControlDesk
from weft.web.fresh_index import FreshIndex
from weft.web.sessions import Sessions


@dataclass(frozen=True, slots=True)
class WebResources:
    loaded: Loaded
    """The settings, with where each value came from."""
    home: Home
    index: FreshIndex
    control: ControlDesk
    sessions: Sessions = field(default_factory=Sessions)
    is_supervised: bool = False
    """Whether it runs together with the roles of `weft up`, and ends with them."""

    budget: Budget | None = None
    """Of the one answer that these are for."""

    def within(self, budget: Budget) -> Self:
        """The same, for one answer."""
        return replace(self, budget=budget)

    @contextmanager
    def borrowed(self) -> Iterator[HomeIndex]:
        """The index, which stands still meanwhile."""
        with self.index.borrowed() as index:
            yield index if self.budget is None else index.within(self.budget)

    def close(self) -> None:
        self.index.close()
        self.control.close()

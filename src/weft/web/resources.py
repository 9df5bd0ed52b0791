"""What the web app answers from."""

from __future__ import annotations

from dataclasses import dataclass, field

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

    def close(self) -> None:
        self.index.close()
        self.control.close()

"""What not to follow: URLs that look like one of endlessly many, each refused with the kind of trap."""

from __future__ import annotations

from weft.dispatcher.traps.shape import trap
from weft.dispatcher.traps.steps import trap_after

__all__ = ["trap", "trap_after"]

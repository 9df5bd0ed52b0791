"""What not to follow: URLs that look like one of endlessly many, each refused with the kind of trap."""

from __future__ import annotations

from weft.dispatcher.traps.shape import trap
from weft.dispatcher.traps.steps import trap_after

__all__ = ["kind_of", "trap", "trap_after"]


def kind_of(reason: str) -> str:
    """What refusals are counted by: a reason without its figures."""
    return reason.partition(",")[0] if reason.startswith("trap:") else reason.partition(":")[0]

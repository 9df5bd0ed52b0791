"""Whether more work may be taken in, and every reason why not."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Gate:
    """Open while nobody has a reason against it."""

    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return not self.reasons

    def close(self, who: str, reason: str) -> None:
        if who not in self.reasons:
            log.warning("no more fetches are begun because %s", reason)
        self.reasons[who] = reason

    def open(self, who: str) -> None:
        if self.reasons.pop(who, ""):
            log.warning("the reason %s is gone; fetches are begun: %s", who, self.is_open)

    def set(self, who: str, reason: str) -> None:
        """Close with a reason, or open without one."""
        if reason:
            self.close(who, reason)
        else:
            self.open(who)

"""Counts what a URL server did since its process started, over all its leases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

RETRY_AFTER: Final = "Retry-After"
BACK_OFF: Final = "back-off"
SLOWED_DOWN: Final = "learned rate"


@dataclass(slots=True)
class ServerTally:
    claimed: int = 0
    """Links that the control plane gave."""
    sent: int = 0
    """URLs to spiders, robots.txt and those sent again too."""
    returned: Counter[str] = field(default_factory=Counter)
    """URLs that are out of a spider's hands, by the reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Links that were never sent, by the class of their error."""
    waits: Counter[str] = field(default_factory=lambda: Counter({RETRY_AFTER: 0, BACK_OFF: 0, SLOWED_DOWN: 0}))
    """How often a host was left alone, or is asked less often, by what decided that."""

    def facts(self) -> dict[str, Any]:
        return {
            "claimed": self.claimed,
            "sent": self.sent,
            "returned": dict(self.returned),
            "refused": dict(self.refused),
            "waits": dict(self.waits),
        }

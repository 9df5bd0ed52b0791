"""When a page that was fetched is due again: sooner if it changed, later if it did not."""

from __future__ import annotations

from typing import Final

from weft.config.sections import DispatcherSettings
from weft.dispatcher.records import LinkRecord

_SECOND: Final = 1000


def interval_after(record: LinkRecord, settings: DispatcherSettings, *, has_changed: bool) -> int:
    """How long to wait after a fetch that succeeded: half as long if the page changed, twice if it did not."""
    shortest, longest = (int(bound * _SECOND) for bound in (settings.refresh_min, settings.refresh_max))
    if not record.interval:
        return min(max(int(settings.refresh_first * _SECOND), shortest), longest)
    wanted = record.interval // 2 if has_changed else record.interval * 2
    return min(max(wanted, shortest), longest)

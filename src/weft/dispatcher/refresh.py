"""When a link is due again: sooner if it changed, later if it did not, and by the kind of failure if it failed."""

from __future__ import annotations

from typing import Final

from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.records import LinkRecord

_SECOND: Final = 1000
_HOUR: Final = 3600 * _SECOND
_DAY: Final = 24 * _HOUR

_WAITS: Final = {
    "lost": 60 * _SECOND,
    "timeout": 10 * 60 * _SECOND,
    "network": 10 * 60 * _SECOND,
    "http": 10 * 60 * _SECOND,
    "tls": _DAY,
    "dns": _HOUR,
    "robots": _DAY,
    "redirect_loop": 7 * _DAY,
    "refused": 7 * _DAY,
}
"""The first wait after a failure of each class; it doubles with each one that follows."""

_OTHERS: Final = _HOUR
_LONGEST_WAIT: Final = 30 * _DAY


def interval_after(record: LinkRecord, settings: DispatcherSettings, *, has_changed: bool) -> int:
    """How long to wait after a fetch that succeeded: half as long if the page changed, twice if it did not."""
    shortest, longest = (int(bound * _SECOND) for bound in (settings.refresh_min, settings.refresh_max))
    if not record.interval:
        return min(max(int(settings.refresh_first * _SECOND), shortest), longest)
    wanted = record.interval // 2 if has_changed else record.interval * 2
    return min(max(wanted, shortest), longest)


def wait_after_failure(error: str, failures: int, retry_after: int = 0) -> int:
    """How long to wait after the `failures`-th failure in a row; never less than the server asked for."""
    first = _WAITS.get(error, _OTHERS)
    return max(retry_after, min(first << min(failures - 1, 20), _LONGEST_WAIT))

"""What a URL server knows about a host, in sentences for `weft why`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from weft.urlserver.view.snapshot import HostView, QueueView

ClockText = Callable[[HostView, QueueView, int], str]

_ONE_DAY: Final = 86_400


def host_text(view: HostView, now: int) -> list[str]:
    """Its clock, its queue, and why no more of it is claimed; `now` in milliseconds since 1970."""
    queue = view.queue
    if queue is None:
        return ["no link of it is queued, and nothing of it is under way"]
    at = f" at {queue.address}" if queue.address else ""
    links = f"{_counted(queue.waiting, 'link waits', 'links wait')}, {len(queue.active)} in spiders' hands"
    lines = [f"{clock_text(view, now)}; {links}{at}"]
    if view.ahead is not None:
        lines.append(f"this URL waits in its queue behind {_counted(view.ahead, 'other', 'others')}")
    return lines + [f"no more of it is claimed: {reason}" for reason in view.rejected]


def clock_text(view: HostView, now: int) -> str:
    """When the host may be asked, and what decides that."""
    if view.queue is None:
        return "not known to the URL server"
    words = _CLOCK_TEXT.get(view.queue.why)
    return words(view, view.queue, now) if words else f"waits for {view.queue.why}"


def seconds_text(seconds: float) -> str:
    """A span with a unit that suits it."""
    if seconds < 120:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _backs_off(view: HostView, queue: QueueView, now: int) -> str:
    failures = _counted(view.failures, "failure", "failures")
    return f"backs off until {_moment(queue, now)}, after {failures} in a row"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _again(queue: QueueView) -> str:
    return f"may be asked again in {seconds_text(queue.next_in or 0.0)}"


def _moment(queue: QueueView, now: int) -> str:
    """The time of day, with the date if it is far."""
    seconds = queue.next_in or 0.0
    at = datetime.fromtimestamp(now / 1000 + seconds, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if seconds > _ONE_DAY / 2 else f"{at:%H:%M:%S} UTC"


_CLOCK_TEXT: Final[dict[str, ClockText]] = {
    "nothing": lambda view, queue, now: "may be asked at once",
    "its turn": lambda view, queue, now: "may be asked now",
    "rate": lambda view, queue, now: f"{_again(queue)}: {seconds_text(view.gap)} between requests",
    "learned rate": lambda view, queue, now: (
        f"{_again(queue)}: it asked us to slow down, {seconds_text(view.gap)} between requests now"
    ),
    "Crawl-delay": lambda view, queue, now: f"{_again(queue)}: Crawl-delay {seconds_text(view.crawl_delay)}",
    "site's delay": lambda view, queue, now: f"{_again(queue)}: its site's delay {seconds_text(view.site_delay)}",
    "its address's rate": lambda view, queue, now: f"{_again(queue)}: its address was just asked for another host",
    "back-off": _backs_off,
    "Retry-After": lambda view, queue, now: f"asked us to wait until {_moment(queue, now)} (Retry-After)",
    "requests to its address": lambda view, queue, now: "waits for answers of other hosts at its address",
    "its address": lambda view, queue, now: "waits for its address (DNS)",
    "a spider": lambda view, queue, now: "waits for a spider with room",
}
"""By what the host waits for; `waits for ...` covers the others."""

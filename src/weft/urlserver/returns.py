"""What becomes of URLs that were sent: settled, sent again, or given up."""

from __future__ import annotations

from enum import Enum, auto

from weft.mgmt.values import Outcome
from weft.model.fetch_error import Fault, FetchError
from weft.urlserver.hosts import Host
from weft.urlserver.packed import PackedLink, is_robots, losses_of, timeouts_of, url_of, with_loss, with_timeout
from weft.urlserver.pending import Pending, Pendings
from weft.urlserver.registry import Registry
from weft.wire import TransId

_BUSY = frozenset({429, 502, 503, 504})
"""Statuses by which a server says that it has too much to do."""
MOST_TIMEOUTS = 3
MOST_LOSSES = 10
"""A URL that was in the hands of so many spiders when they were lost is suspected of it."""


class Why(Enum):
    """Why a URL is out of a spider's hands."""

    DONE = auto()
    SILENT = auto()
    """Neither WORKING nor DONE came for too long."""
    LOST = auto()
    """The connection was lost and is there again: whatever the spider did is over."""
    UNHEARD = auto()
    """The same, and the spider had never said anything."""


class Returns:
    def __init__(self, registry: Registry, pendings: Pendings, most_failures: int) -> None:
        self._registry, self._pendings, self._most_failures = registry, pendings, most_failures

    def take(self, trans_id: TransId, why: Why, outcome: Outcome | None, now: int) -> None:
        """`outcome` is what the control plane holds; None: it does not know the link."""
        pending = self._pendings.find(trans_id)
        if pending is None:
            return
        result = outcome if pending.is_over(outcome) else None
        if why is Why.DONE or result is not None:
            self._settle(pending, result, now)
        elif not pending.done_at:
            # Else DONE came while the outcome was looked for: it is settled by that.
            self._send_again(pending, why, now)

    def refuse(self, trans_id: TransId, error: str, now: int) -> None:
        """The URL cannot be sent at all."""
        pending = self._pendings.find(trans_id)
        if pending is not None:
            self._free(pending, now)
            self._registry.refuse(pending.link, pending.host, error)
            self._go_on(pending, now)

    def _settle(self, pending: Pending, result: Outcome | None, now: int) -> None:
        """It is over; without a result the link is lost."""
        ended = pending.done_at or now
        self._free(pending, ended)
        if result is not None and result.claim == pending.claim:
            self._judge_host(pending.host, result, ended)
        if is_robots(pending.link):
            self._registry.origins.ended(pending.doc_id, url_of(pending.link, pending.host.name), result)
        elif result is None:
            self._registry.errands.lose.append((pending.doc_id, pending.claim))
        self._go_on(pending, now)

    def _send_again(self, pending: Pending, why: Why, now: int) -> None:
        self._free(pending, now)
        link = _counted(pending.link, why)
        if timeouts_of(link) >= MOST_TIMEOUTS:
            self._registry.refuse(link, pending.host, FetchError.TIMEOUT)
        elif losses_of(link) >= MOST_LOSSES:
            self._registry.refuse(link, pending.host, FetchError.LOST)
        elif pending.host.ip is None:
            self._registry.release(link, pending.host)
        else:
            self._registry.put_first(pending.host, link)
        self._go_on(pending, now)

    def _free(self, pending: Pending, now: int) -> None:
        self._pendings.remove(pending.trans_id)
        self._registry.politeness.end(pending.host, pending.ip, pending.place, now)

    def _go_on(self, pending: Pending, now: int) -> None:
        self._registry.step_back(pending.host, now)
        self._registry.go_on(pending.host, now)
        self._registry.schedule.plan(pending.ip)

    def _judge_host(self, host: Host, outcome: Outcome, now: int) -> None:
        registry = self._registry
        if not is_hosts_fault(outcome):
            host.failures = 0
            registry.backing_off.discard(host.name)
            return
        registry.back_off(host, now, outcome.retry_after)
        if host.failures >= self._most_failures:
            registry.refuse_all(host, outcome.error or FetchError.BUSY)
        elif host.wait_until - now > registry.politeness.patience:
            registry.release_all(host)


def is_hosts_fault(outcome: Outcome) -> bool:
    """Whether the host should be left alone for a while."""
    has_failed = bool(outcome.error) and FetchError.of(outcome.error).fault is Fault.SERVER
    return has_failed or outcome.status in _BUSY or outcome.retry_after > 0


def _counted(link: PackedLink, why: Why) -> PackedLink:
    if why is Why.SILENT:
        return with_timeout(link)
    return with_loss(link) if why is Why.LOST else link

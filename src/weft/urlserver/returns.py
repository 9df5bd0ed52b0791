"""What becomes of URLs that were sent: settled, sent again, or given up."""

from __future__ import annotations

from enum import Enum, auto

from weft.mgmt.values import Outcome
from weft.model.fetch_error import Fault, FetchError, is_haste, is_overloaded
from weft.model.wait_reason import wait_reason
from weft.urlserver.in_flight import InFlight, SentUrl
from weft.urlserver.packed_link import PackedLink, is_robots, losses_of, timeouts_of, url_of, with_loss, with_timeout
from weft.urlserver.registry import Registry
from weft.wire import TransId

MOST_TIMEOUTS = 3
MOST_LOSSES = 10
"""A URL that so many spiders had when their connection was lost is suspected of breaking them."""


class ReturnReason(Enum):
    """Why a URL is no longer with a spider."""

    DONE = auto()
    SILENT = auto()
    """Neither WORKING nor DONE came for too long."""
    LOST = auto()
    """The connection was lost and is there again: whatever the spider did is over."""
    NEVER_REPLIED = auto()
    """The same, and the spider had never sent a reply."""


class Returns:
    def __init__(self, registry: Registry, in_flight: InFlight, most_failures: int) -> None:
        self._registry, self._in_flight, self._most_failures = registry, in_flight, most_failures

    def take(self, trans_id: TransId, reason: ReturnReason, outcome: Outcome | None, now: int) -> None:
        """`outcome` is what the control plane holds; None: it does not know the link."""
        sent = self._in_flight.find(trans_id)
        if sent is None:
            return
        self._registry.tally.returned[reason.name.lower()] += 1
        result = outcome if sent.is_over(outcome) else None
        if reason is ReturnReason.DONE or result is not None:
            self._settle(sent, result, now)
        elif not sent.done_at:
            # Else DONE came while the outcome was looked for: it is settled by that.
            self._send_again(sent, reason, now)

    def refuse(self, trans_id: TransId, error: str, now: int) -> None:
        """The URL cannot be sent at all."""
        sent = self._in_flight.find(trans_id)
        if sent is not None:
            self._free(sent, now)
            self._registry.refuse(sent.link, sent.host, error)
            self._proceed(sent, now)

    def _settle(self, sent: SentUrl, result: Outcome | None, now: int) -> None:
        """It is over; without a result the link is lost."""
        ended = sent.done_at or now
        self._free(sent, ended)
        if result is not None and result.claim == sent.claim:
            self._judge_host(sent, result, ended)
        if result is None:
            self._registry.requests.lose.append((sent.doc_id, sent.claim))
        if is_robots(sent.link):
            self._settle_robots(sent, result)
        self._proceed(sent, now)

    def _settle_robots(self, sent: SentUrl, result: Outcome | None) -> None:
        origins, url = self._registry.origins, url_of(sent.link, sent.host.name)
        if result is None:
            origins.lost(sent.doc_id, url)
        elif result.claim != sent.claim:
            origins.given_back(sent.doc_id, sent.host, url)
        else:
            origins.ended(sent.doc_id, url, result)

    def _send_again(self, sent: SentUrl, reason: ReturnReason, now: int) -> None:
        self._free(sent, now)
        link = _counted(sent.link, reason)
        if timeouts_of(link) >= MOST_TIMEOUTS:
            self._registry.refuse(link, sent.host, FetchError.TIMEOUT)
        elif losses_of(link) >= MOST_LOSSES:
            self._registry.refuse(link, sent.host, FetchError.LOST)
        elif sent.host.ip is None:
            self._registry.release(link, sent.host)
        else:
            self._registry.put_first(sent.host, link)
        self._proceed(sent, now)

    def _free(self, sent: SentUrl, now: int) -> None:
        self._in_flight.remove(sent.trans_id)
        self._registry.politeness.end(sent.host, sent.ip, sent.place, sent.sent_at, now)

    def _proceed(self, sent: SentUrl, now: int) -> None:
        self._registry.proceed(sent.host, now)
        self._registry.schedule.plan(sent.ip)

    def _judge_host(self, sent: SentUrl, outcome: Outcome, now: int) -> None:
        registry, host = self._registry, sent.host
        if not is_hosts_fault(outcome):
            host.failures = 0
            registry.backing_off.discard(host.name)
            registry.answered(host)
            return
        is_news = not is_haste(outcome.status) or registry.slow_down(host, sent.sent_at, now)
        # Several that were sent together and refused together are one failure.
        host.failures -= not is_news and host.failures > 0
        reason = wait_reason(outcome.status, outcome.error, outcome.retry_after, is_robots=is_robots(sent.link))
        registry.back_off(host, now, reason, outcome.retry_after)
        if host.failures >= self._most_failures:
            registry.refuse_all(host, outcome.error or FetchError.BUSY)
        elif host.wait_until - now > registry.politeness.patience:
            registry.release_all(host)


def is_hosts_fault(outcome: Outcome) -> bool:
    """Whether the host should be left alone for a while."""
    has_failed = bool(outcome.error) and FetchError.of(outcome.error).fault is Fault.SERVER
    return has_failed or is_overloaded(outcome.status) or outcome.retry_after > 0


def _counted(link: PackedLink, reason: ReturnReason) -> PackedLink:
    if reason is ReturnReason.SILENT:
        return with_timeout(link)
    return with_loss(link) if reason is ReturnReason.LOST else link

"""All hosts that the URL server knows, from their first link until nothing about them matters any more."""

from __future__ import annotations

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import Result
from weft.urlserver.hosts import NEEDS_ROBOTS, UNSEATED, Host, Ip
from weft.urlserver.ip_table import IpTable
from weft.urlserver.mgmt_messages import MgmtRequests
from weft.urlserver.origin_robots import Origins
from weft.urlserver.packed_link import PackedLink, claim_of, doc_id_of, is_robots, url_of
from weft.urlserver.politeness import Politeness
from weft.urlserver.queues import Queues
from weft.urlserver.schedule import Schedule, TimerWheel


class Registry:
    def __init__(self, settings: UrlserverSettings) -> None:
        self.requests = MgmtRequests()
        self.politeness = Politeness.from_settings(settings)
        self.queues = Queues(settings.queue_count, settings.queue_len, settings.leftover_len)
        self.ips = IpTable(settings.max_per_ip, self.politeness.ip_gap)
        self.origins = Origins(self.requests)
        self.schedule = Schedule(self.politeness, self.queues.slots)
        self.hosts: dict[str, Host] = {}
        self.backing_off: set[str] = set()
        self._forgetting: TimerWheel[Host | Ip] = TimerWheel()

    def meet(self, name: str) -> Host:
        """The host of this name; of a new one the address is wanted first."""
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host(name)
            self.requests.resolve.append(name)
        return host

    def put_first(self, host: Host, link: PackedLink) -> None:
        self.queues.put_first(host, link)
        self.ips.count(host, 1)

    def take(self, host: Host) -> PackedLink:
        self.ips.count(host, -1)
        return self.queues.take(host)

    def proceed(self, host: Host, now: int) -> None:
        """Let the host wait for its next turn, or rest when nothing is left."""
        if not host.links:
            if not host.active and not host.needs:
                self._rest(host, now)
            return
        if not self._knows_enough(host):
            return
        if host.slot == UNSEATED and host.name not in self.queues.slotless:
            self.queues.line_up(host)
        if host.slot >= 0 and not host.due and self.politeness.has_place(host):
            self.schedule.enter(host)

    def reschedule(self, host: Host, now: int) -> None:
        """The host's next start may have changed."""
        self.schedule.leave(host)
        self.proceed(host, now)

    def step_back(self, host: Host, now: int) -> None:
        """A host that must wait long lets another one have its slot, if one waits for it."""
        if not self.queues.slotless or host.slot < 0 or not host.links or host.active:
            return
        if self.politeness.next_start(host) - now > self.politeness.patience:
            self.unseat(host, now)

    def unseat(self, host: Host, now: int) -> None:
        """Give the host's slot to the one that has waited longest."""
        if host.slot >= 0:
            self.schedule.leave(host)
            successor = self.queues.unseat(host)
            if successor is not None:
                self.proceed(successor, now)

    def back_off(self, host: Host, now: int, retry_after: int = 0) -> None:
        """Leave the host alone for a while, here and wherever its links are claimed."""
        self.politeness.fail(host, now, retry_after)
        self.backing_off.add(host.name)
        self.requests.defer[host.name] = host.wait_until
        self.reschedule(host, now)

    def refuse(self, link: PackedLink, host: Host, error: str) -> None:
        """A page's link is an error; robots.txt without an answer is one kind of answer."""
        if is_robots(link):
            self.origins.ended(doc_id_of(link), url_of(link, host.name), None)
        self.requests.refuse.append(Result(doc_id=doc_id_of(link), claim=claim_of(link), error=error))

    def refuse_all(self, host: Host, error: str) -> None:
        for link in self._clear(host):
            self.refuse(link, host, error)

    def release(self, link: PackedLink, host: Host) -> None:
        if is_robots(link):
            self.origins.ended(doc_id_of(link), url_of(link, host.name), None)
        self.requests.release.append(doc_id_of(link))

    def release_all(self, host: Host) -> None:
        for link in self._clear(host):
            self.release(link, host)

    def leave_address(self, ip: Ip) -> None:
        """A host moved away; the address is forgotten when its clock has run out."""
        self._forgetting.add(ip.next_start, ip)

    def forget(self, now: int) -> None:
        """Drop hosts and addresses that have rested long enough."""
        while (item := self._forgetting.take(now)) is not None:
            if isinstance(item, Host):
                if self._is_idle(item, now):
                    self._forget(item, now)
            elif not self.ips.forget_idle(item, now):
                self._forgetting.add(max(item.next_start, now + 1000), item)

    def next_moment(self) -> int | None:
        return self._forgetting.next_moment()

    def _clear(self, host: Host) -> list[PackedLink]:
        self.ips.count(host, -len(host.links))
        self.schedule.leave(host)
        return self.queues.clear(host)

    def _knows_enough(self, host: Host) -> bool:
        """Tell whether the host's first link may be sent; a robots.txt may be while the host's own is not known."""
        return not host.needs or (host.needs == NEEDS_ROBOTS and is_robots(host.links[0]))

    def _rest(self, host: Host, now: int) -> None:
        """Nothing waits: the slot is another's, the clock is kept until it does not matter any more."""
        self.unseat(host, now)
        moment = max(self.politeness.next_start(host), host.ip.next_start if host.ip else 0)
        # Who failed is remembered for as long again, so that the next failure is not the first.
        self._forgetting.add(moment + (moment - now if host.failures else 0), host)

    def _is_idle(self, host: Host, now: int) -> bool:
        if host.links or host.active or host.needs or self.hosts.get(host.name) is not host:
            return False
        return self.politeness.next_start(host) <= now

    def _forget(self, host: Host, now: int) -> None:
        del self.hosts[host.name]
        self.backing_off.discard(host.name)
        self.queues.full.discard(host.name)
        ip = host.ip
        self.ips.detach(host)
        if ip is not None and not self.ips.forget_idle(ip, now):
            self.leave_address(ip)

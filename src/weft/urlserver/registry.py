"""All hosts that the URL server knows, from their first link until nothing about them matters any more."""

from __future__ import annotations

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import Result
from weft.urlserver.hosts import NEEDS_ROBOTS, UNSEATED, Host, Ip
from weft.urlserver.ip_table import IpTable
from weft.urlserver.mgmt_messages import Deferral, MgmtRequests
from weft.urlserver.origin_robots import Origins
from weft.urlserver.packed_link import PackedLink, claim_of, doc_id_of, is_robots, url_of
from weft.urlserver.politeness import Politeness
from weft.urlserver.queues import Queues
from weft.urlserver.schedule import Schedule, TimerWheel
from weft.urlserver.server_tally import BACK_OFF, RETRY_AFTER, SLOWED_DOWN, ServerTally


class Registry:
    def __init__(self, settings: UrlserverSettings, tally: ServerTally) -> None:
        self.tally = tally
        self.requests = MgmtRequests()
        self.politeness = Politeness.from_settings(settings)
        self.queues = Queues(settings.queue_count, settings.queue_len, settings.leftover_len)
        self.ips = IpTable(settings.max_per_ip, self.politeness.ip_gap)
        self.origins = Origins(self.requests)
        self.schedule = Schedule(self.politeness, self.queues.slots)
        self.hosts: dict[str, Host] = {}
        self.backing_off: set[str] = set()
        self._forgetting: TimerWheel[Host | Ip] = TimerWheel()
        self._parked: TimerWheel[Host] = TimerWheel()
        """Hosts without a slot that need none before they may be asked."""

    def meet(self, name: str) -> Host:
        """The host of this name; of a new one the address is wanted first."""
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host(name)
            self.requests.resolve.append(name)
        return host

    def append(self, host: Host, link: PackedLink, now: int) -> bool:
        """Put a link behind the host's others; False: it fits nowhere and must be given back."""
        if host.slot == UNSEATED and not host.links:
            self._seek_slot(host, now)  # before: with a slot it has room
        if not self.queues.append(host, link):
            return False
        self.ips.count(host, 1)
        return True

    def admit(self, host: Host, now: int) -> None:
        """The address of an arriving host is known: it gets a slot or waits for one."""
        self.queues.admit(host)
        self.proceed(host, now)
        self._trim(host)

    def put_first(self, host: Host, link: PackedLink) -> None:
        self.queues.put_first(host, link)
        self.ips.count(host, 1)

    def take(self, host: Host) -> PackedLink:
        self.ips.count(host, -1)
        return self.queues.take(host)

    def proceed(self, host: Host, now: int) -> None:
        """Let the host wait for its next turn, or rest when nothing is left."""
        if not (host.links or host.active or host.needs):
            self._rest(host, now)
        elif self._may_be_asked(host):
            self._await_turn(host, now)
        elif host.slot >= 0:
            self._yield_slot(host, now)
        else:
            self.queues.line.discard(host)

    def reschedule(self, host: Host, now: int) -> None:
        """The host's next start may have changed."""
        self.schedule.leave(host)
        self.proceed(host, now)

    def wake(self, now: int) -> None:
        """Let hosts line up for a slot that may be asked from now on."""
        while (host := self._parked.take(now)) is not None:
            if host.slot == UNSEATED and 0 < host.due <= now:
                host.due = 0
                self.proceed(host, now)

    def back_off(self, host: Host, now: int, reason: str, retry_after: int = 0) -> None:
        """Leave the host alone for a while, here and wherever its links are claimed."""
        self.tally.waits[RETRY_AFTER if retry_after else BACK_OFF] += 1
        self.politeness.fail(host, now, reason, retry_after)
        self.backing_off.add(host.name)
        self.requests.defer[host.name] = Deferral(host.wait_until, host.wait_reason)
        self.reschedule(host, now)

    def slow_down(self, host: Host, sent_at: int, now: int) -> bool:
        """The host asked us to; False: what it refused was sent before we last did."""
        is_slower = self.politeness.learned.refused(host, sent_at, now)
        if is_slower:
            self.tally.waits[SLOWED_DOWN] += 1
            self.requests.rates[host.name] = host.rate
        return is_slower

    def answered(self, host: Host) -> None:
        """The host answered and asked for nothing: after some such answers it is asked a little more often."""
        if self.politeness.learned.answered(host):
            self.requests.rates[host.name] = host.rate

    def forget_verdicts(self, host: Host, now: int) -> None:
        """Its settings changed, or a user wants it asked: what failed may succeed. What its server asked for holds."""
        host.http = host.https = None
        host.failures, until = 0, max(now, host.asked_until)
        if host.wait_until > until:
            host.wait_until, host.wait_reason = until, host.asked_reason
        self.backing_off.discard(host.name)

    def refuse(self, link: PackedLink, host: Host, error: str) -> None:
        """A page's link is an error; robots.txt without an answer is one kind of answer."""
        self.tally.refused[error] += 1
        if is_robots(link):
            self.origins.ended(doc_id_of(link), url_of(link, host.name), None, error)
        self.requests.refuse.append(Result(doc_id=doc_id_of(link), claim=claim_of(link), error=error))

    def refuse_all(self, host: Host, error: str) -> None:
        for link in self._clear(host):
            self.refuse(link, host, error)

    def release(self, link: PackedLink, host: Host) -> None:
        if is_robots(link):
            self.origins.given_back(doc_id_of(link), host, url_of(link, host.name))
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

    def next_waking(self) -> int | None:
        return self._parked.next_moment()

    def _clear(self, host: Host) -> list[PackedLink]:
        self.ips.count(host, -len(host.links))
        self.schedule.leave(host)
        return self.queues.clear(host)

    def _may_be_asked(self, host: Host) -> bool:
        """Tell whether only its clock keeps the host waiting; a robots.txt may go before the host's own is known."""
        if not host.links or not self.politeness.has_place(host):
            return False
        return not host.needs or (host.needs == NEEDS_ROBOTS and is_robots(host.links[0]))

    def _await_turn(self, host: Host, now: int) -> None:
        if host.slot < 0:
            self._seek_slot(host, now)
        elif self.politeness.next_start(host) - now > self.politeness.patience:
            self._yield_slot(host, now)
        else:
            self.queues.set_busy(host)
        if host.slot >= 0 and not host.due:
            self.schedule.enter(host)

    def _seek_slot(self, host: Host, now: int) -> None:
        """Let a host have a slot or line up for one; before it may be asked it takes only an empty one."""
        start = self.politeness.next_start(host)
        if host.slot != UNSEATED or host in self.queues.line:
            return
        if start > now and not self.queues.has_empty:
            if host.due != start:
                host.due = start
                self._parked.add(start, host)
            return
        host.due = 0
        loser = self.queues.line_up(host)
        if loser is not None:
            self._go_on_without_slot(loser, now)

    def _yield_slot(self, host: Host, now: int) -> None:
        """Nothing can be sent to the host now: another one may have its slot."""
        successor = self.queues.set_idle(host, now)
        if successor is not None:
            self._go_on_without_slot(host, now)
            self.proceed(successor, now)

    def _go_on_without_slot(self, host: Host, now: int) -> None:
        self.schedule.leave(host)
        self._trim(host)
        self.proceed(host, now)

    def _trim(self, host: Host) -> None:
        """Give the host's last links back if too many are left over."""
        overflow = self.queues.overflow(host)
        self.ips.count(host, -len(overflow))
        self.requests.release += map(doc_id_of, overflow)

    def _rest(self, host: Host, now: int) -> None:
        """Nothing waits: the slot is another's, the clock is kept until it does not matter any more."""
        if host.slot >= 0:
            self.schedule.leave(host)
            successor = self.queues.unseat(host)
            if successor is not None:
                self.proceed(successor, now)
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

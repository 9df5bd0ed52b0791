"""Domain -> IP -> URLs: which hosts are at an address, how many links wait for it, and whether it is ours to ask."""

from __future__ import annotations

from collections.abc import Iterable

from weft.model.host import ADDRESS_SLOTS, slot_of
from weft.urlserver.hosts import NEVER, Host, Ip


class IpTable:
    def __init__(self, max_per_ip: int, ip_gap: int) -> None:
        self._max_per_ip, self._ip_gap = max_per_ip, ip_gap
        self._quiet_since = [NEVER] * ADDRESS_SLOTS
        self._ips: dict[str, Ip] = {}
        self.crowded: set[str] = set()
        """Hosts to reject because too many links wait for their address; until half of them are gone."""

    def __len__(self) -> int:
        return len(self._ips)

    def own(self, parts: Iterable[int], now: int) -> None:
        """From now on these parts are ours; who lives in a new one is treated as just asked by somebody else."""
        owned = set(parts)
        self._quiet_since = [
            min(since, now) if part in owned else NEVER for part, since in enumerate(self._quiet_since)
        ]

    def owns_part(self, part: int) -> bool:
        return self._quiet_since[part] < NEVER

    def is_ours(self, ip_key: str) -> bool:
        return self.owns_part(slot_of(ip_key))

    def owns(self, ip: Ip) -> bool:
        return self._quiet_since[ip.part] < NEVER

    def attach(self, host: Host, ip_key: str) -> None:
        """Let the host live at an address that is ours."""
        ip = self._ips.get(ip_key) or self._meet(ip_key)
        if host.ip is ip:
            return
        self.detach(host)
        host.ip = ip
        host.last = max(host.last, self._quiet_since[ip.part])
        ip.last = max(ip.last, self._quiet_since[ip.part])
        ip.next_start = max(ip.next_start, ip.last + self._ip_gap)
        ip.hosts.append(host)
        if ip.is_crowded:
            self.crowded.add(host.name)
        self.count(host, len(host.links))

    def detach(self, host: Host) -> None:
        ip = host.ip
        if ip is not None:
            self.count(host, -len(host.links))
            ip.hosts.remove(host)
            host.ip = None
            self.crowded.discard(host.name)

    def count(self, host: Host, change: int) -> None:
        """Links of the host were queued or taken."""
        ip = host.ip
        if ip is None:
            return
        ip.queued += change
        if ip.is_crowded:
            if ip.queued <= self._max_per_ip // 2:
                ip.is_crowded = False
                self.crowded.difference_update(host.name for host in ip.hosts)
        elif ip.queued > self._max_per_ip:
            ip.is_crowded = True
            self.crowded.update(host.name for host in ip.hosts)

    def forget_idle(self, ip: Ip, now: int) -> bool:
        """Drop an address where no host is left and nothing is in flight; False: its clock is still needed."""
        if ip.hosts:
            return True  # whoever leaves last comes here again
        if ip.active or ip.next_start > now:
            return False
        if self._ips.get(ip.key) is ip:
            del self._ips[ip.key]
        return True

    def foreign_hosts(self) -> list[Host]:
        """Hosts at addresses that are not ours any more."""
        return [host for ip in self._ips.values() if not self.owns(ip) for host in ip.hosts]

    def _meet(self, ip_key: str) -> Ip:
        ip = self._ips[ip_key] = Ip(ip_key, slot_of(ip_key))
        return ip

"""A clock that is set back, in the memory twin."""

from __future__ import annotations

from msgspec.structs import replace

from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.rules.clock_jumps import has_gone_back, is_to_be_noted
from weft.mgmt.values import ClockJump


class MemoryClock(MemoryCalls):
    def _note_time(self) -> None:
        now = self._clock.now()
        if is_to_be_noted(self._state.newest, now):
            self._state.newest = now

    def _cut_waits(self) -> None:
        """Cut all waits that were set in what is the future now."""
        state, now = self._state, self._clock.now()
        if not has_gone_back(state.newest, now):
            return
        for host in state.web_hosts.values():
            if host.set_at > now:
                asked = now + host.asked_until - host.set_at if host.asked_until > host.set_at else 0
                host.ready_at, host.set_at, host.asked_until = now + host.ready_at - host.set_at, now, asked
        state.wanted = {uri: replace(wish, asked=min(wish.asked, now)) for uri, wish in state.wanted.items()}
        for name, set_at in state.addresses_set.items():
            if set_at > now:
                address = state.addresses[name]
                state.addresses[name] = replace(address, expires=now + address.expires - set_at)
                state.addresses_set[name] = now
        for origin, robots in state.robots.items():
            if robots.fetched > now:
                state.robots[origin] = replace(robots, expires=now + robots.expires - robots.fetched, fetched=now)
        for node in state.nodes.values():
            node.seen = min(node.seen, now)
        state.jump, state.newest = ClockJump(by=state.newest - now, at=now), now

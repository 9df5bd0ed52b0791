"""Laws of the per-host queues: no link lost, none twice, one queue a host, order kept, whatever happens."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from weft.mgmt.values import ClaimedLink, DocId
from weft.urlserver.hosts import ARRIVING, UNSEATED, Host
from weft.urlserver.packed_link import PackedLink, doc_id_of, pack
from weft.urlserver.queues import SHARE, Queues

NAMES = ["a.example", "b.example", "c.example", *(f"h{number}.wild.example" for number in range(4))]
names = st.sampled_from(NAMES)


class QueueMachine(RuleBasedStateMachine):
    """The model is a list of numbers for each host, and which numbers left and how."""

    @initialize(count=st.integers(1, 4), length=st.integers(1, 4), leftover_len=st.integers(0, 6))
    def begin(self, count: int, length: int, leftover_len: int) -> None:
        self.queues = Queues(count, length, leftover_len)
        self.hosts = {name: Host(name) for name in NAMES}
        self.expected: dict[str, list[int]] = {name: [] for name in NAMES}
        self.gone: list[int] = []
        self.given = 0
        self.extra = 0
        """Links that may stand beyond the bound of leftovers: they always fit."""

    def new_link(self, name: str) -> PackedLink:
        self.given += 1
        return pack(ClaimedLink(DocId(self.given), f"https://{name}/{self.given}", name, 1))

    @rule(name=names)
    def append(self, name: str) -> None:
        link = self.new_link(name)
        self.line_up(name)
        if self.queues.append(self.hosts[name], link):
            self.expected[name].append(self.given)
        else:
            assert self.queues.leftovers >= self.queues.leftover_len, "refused although there is room"
            self.gone.append(self.given)

    def line_up(self, name: str) -> None:
        host = self.hosts[name]
        if host.slot == UNSEATED and host not in self.queues.line:
            had_empty, idle = self.queues.has_empty, list(self.queues.idle)
            loser = self.queues.line_up(host)
            if loser is not None:
                assert not had_empty
                assert loser is idle[0] if idle else loser.domain == "wild.example"
                self.extra += len(loser.links)

    @rule(name=names)
    def seek_a_slot(self, name: str) -> None:
        if self.hosts[name].links:
            self.line_up(name)

    @rule(name=names)
    def become_idle(self, name: str) -> None:
        host = self.hosts[name]
        if host.slot >= 0:
            successor = self.queues.set_idle(host, 0)
            assert (host.slot == UNSEATED) == (successor is not None)
            self.extra += len(host.links)

    @rule(name=names)
    def become_busy(self, name: str) -> None:
        self.queues.set_busy(self.hosts[name])

    @rule(name=names)
    def put_first(self, name: str) -> None:
        self.queues.put_first(self.hosts[name], self.new_link(name))
        self.expected[name].insert(0, self.given)
        self.extra += 1

    @rule(name=names)
    def admit(self, name: str) -> None:
        host = self.hosts[name]
        if host.slot == ARRIVING:
            self.queues.admit(host)
            self.line_up(name)
            overflow = [doc_id_of(link) for link in self.queues.overflow(host)]
            kept = len(self.expected[name]) - len(overflow)
            assert overflow == self.expected[name][kept:], "the last that came are the first to go"
            del self.expected[name][kept:]
            self.gone += overflow

    @rule(name=names)
    def take(self, name: str) -> None:
        host = self.hosts[name]
        if host.slot >= 0 and host.links:
            assert doc_id_of(self.queues.take(host)) == self.expected[name][0]
            self.gone.append(self.expected[name].pop(0))

    @rule(name=names)
    def unseat(self, name: str) -> None:
        host = self.hosts[name]
        if host.slot >= 0:
            waited = len(self.queues.line)
            successor = self.queues.unseat(host)
            assert (successor is not None) == (waited > 0)
            self.extra += len(host.links)

    @rule(name=names)
    def clear(self, name: str) -> None:
        links = self.queues.clear(self.hosts[name])
        assert [doc_id_of(link) for link in links] == self.expected[name]
        self.gone += self.expected[name]
        self.expected[name] = []

    @invariant()
    def no_link_is_lost_or_doubled_and_order_is_kept(self) -> None:
        if not hasattr(self, "queues"):
            return
        for name, host in self.hosts.items():
            assert [doc_id_of(link) for link in host.links] == self.expected[name]
        held = [number for numbers in self.expected.values() for number in numbers]
        assert sorted(held + self.gone) == list(range(1, self.given + 1))
        assert self.queues.queued == len(held)

    @invariant()
    def a_host_has_one_queue_and_a_queue_one_host(self) -> None:
        if not hasattr(self, "queues"):
            return
        seated = [host for host in self.queues.slots if host is not None]
        assert len(seated) == len(set(seated)) == self.queues.taken <= self.queues.count
        assert all(self.queues.slots[host.slot] is host for host in seated)
        assert all(host in seated for host in self.hosts.values() if host.slot >= 0)

    @invariant()
    def counts_are_what_they_say(self) -> None:
        if not hasattr(self, "queues"):
            return
        queues, hosts = self.queues, self.hosts.values()
        unseated = sum(len(host.links) for host in hosts if host.slot == UNSEATED)
        too_long = sum(max(0, len(host.links) - queues.length) for host in hosts if host.slot >= 0)
        assert queues.leftovers == unseated + too_long <= queues.leftover_len + self.extra
        assert queues.arriving == sum(len(host.links) for host in hosts if host.slot == ARRIVING)

    @invariant()
    @precondition(lambda self: hasattr(self, "queues"))
    def nobody_waits_while_a_queue_is_empty_or_idle(self) -> None:
        queues = self.queues
        assert not len(queues.line) or not (queues.has_empty or queues.idle)
        without_slot = {name for name, host in self.hosts.items() if host.slot == UNSEATED and host.links}
        assert without_slot == set(queues.slotless)
        assert all(host.slot >= 0 for host in queues.idle)

    @invariant()
    @precondition(lambda self: hasattr(self, "queues"))
    def a_domain_has_more_than_its_share_only_while_no_other_waits(self) -> None:
        seated = sum(host.slot >= 0 and host.domain == "wild.example" for host in self.hosts.values())
        others = [self.hosts[name] in self.queues.line for name in NAMES if not name.endswith(".wild.example")]
        assert seated <= max(1, self.queues.count // SHARE) or not any(others)


TestQueues = QueueMachine.TestCase

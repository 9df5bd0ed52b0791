"""All calls of the control plane in any order, by nodes that live, die and come back as zombies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from support.mgmt_engines import START
from weft.clock import ManualClock
from weft.errors import WeftError
from weft.mgmt.api import Mgmt
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.relations import RELATIONS
from weft.mgmt.rules.leases import is_ended
from weft.mgmt.values import (
    Address,
    BuilderTask,
    ChunkId,
    CrawlerTask,
    DocId,
    Lease,
    LinkState,
    NewLink,
    NodeId,
    NodeState,
    NodeTold,
    NodeType,
    Reopen,
    Result,
    Seed,
    WarcPosition,
    WebToken,
)
from weft.model.site import Site, SiteSettings

HOSTS = [f"h{n}.example" for n in range(5)]
pages = st.tuples(st.sampled_from(HOSTS), st.integers(0, 5))
errors = st.sampled_from(["", "", "", "network", "timeout", "robots", "too_large"])
some = st.integers(0, 30)
"""Which of the things seen so far, counted from the newest."""


def new_link(page: tuple[str, int], priority: int = 0) -> NewLink:
    host, number = page
    return NewLink(f"{host}/{number}", f"https://{host}/{number}", host, priority)


class Machine(RuleBasedStateMachine):
    """`others` are engines that must answer every call as the memory twin does."""

    def others(self, clock: ManualClock) -> list[Mgmt]:
        return []

    @initialize()
    def begin(self) -> None:
        self.clock = ManualClock(START)
        self.twin = MemoryMgmt(self.clock)
        self.engines: list[Mgmt] = [self.twin, *self.others(self.clock)]
        self.leases: list[Lease] = []
        self.claims: list[tuple[DocId, int]] = []
        self.attempts: list[tuple[Lease, ChunkId, int]] = []
        for number, kind in enumerate([NodeType.CRAWLER, NodeType.CRAWLER, NodeType.INDEX_BUILDER]):
            self.leases.append(self.all(lambda mgmt, n=number, k=kind: mgmt.register(k, f"10.0.0.{n}:1")))  # type: ignore[misc]
        self.all(lambda mgmt: mgmt.add([new_link((host, n)) for host in HOSTS[:3] for n in range(2)]))

    def all(self, call: Callable[[Mgmt], Any]) -> Any:
        """The same call on every engine; all must answer alike."""
        answers = [_answer(call, mgmt) for mgmt in self.engines]
        assert all(answer == answers[0] for answer in answers), answers
        return answers[0]

    def lease(self, n: int) -> Lease:
        return self.leases[-1 - n % len(self.leases)]

    def result(self, n: int, error: str, ended: int) -> Result | None:
        if not self.claims:
            return None
        doc_id, claim = self.claims[-1 - n % len(self.claims)]
        position = None if error else WarcPosition("spider:1", "a.warc.gz", doc_id * 1000 + claim, 10)
        return Result(
            doc_id=doc_id,
            claim=claim,
            status=0 if error else 200,
            error=error,
            position=position,
            ended=ended,
            retry_after=2000 if ended == 3 else 0,
        )

    def saw(self, *links: Any) -> None:
        self.claims += [(link.doc_id, link.claim) for link in links if link is not None]

    @rule(given=st.lists(st.tuples(pages, st.integers(0, 2)), max_size=6))
    def add(self, given: list[tuple[tuple[str, int], int]]) -> None:
        self.all(lambda mgmt: mgmt.add([new_link(page, priority) for page, priority in given]))

    @rule(n=some, limit=st.integers(0, 7), reject=st.sets(st.sampled_from(HOSTS), max_size=3))
    def claim(self, n: int, limit: int, reject: set[str]) -> None:
        chunk = self.all(lambda mgmt: mgmt.claim(self.lease(n), limit, reject))
        if chunk and not isinstance(chunk, str):
            self.saw(*chunk.links)
            assert not {link.web_host for link in chunk.links} & reject

    @rule(which=st.lists(st.tuples(some, errors, st.integers(0, 3)), max_size=5))
    def report(self, which: list[tuple[int, str, int]]) -> None:
        results = [result for one in which if (result := self.result(*one))]
        known = [self.twin._state.links[result.doc_id] for result in results]
        chunks = {link.doc_id: link.chunk_id for link in known if link.state is LinkState.CRAWLING}
        answers = self.all(lambda mgmt: mgmt.report(results))
        assert self.all(lambda mgmt: mgmt.report(results)) == answers
        outcomes = self.all(lambda mgmt: mgmt.outcomes([result.doc_id for result in results]))
        for doc_id, outcome in outcomes.items():
            if outcome.replacement:
                self.saw(outcome.replacement)
                if doc_id in chunks:
                    instead = self.twin._state.links[outcome.replacement.doc_id]
                    assert instead.chunk_id == chunks[doc_id], "a replacement keeps the chunk"

    @rule(n=some, which=st.lists(some, max_size=3))
    def lost(self, n: int, which: list[int]) -> None:
        links = [self.claims[-1 - one % len(self.claims)] for one in which if self.claims]
        outcomes = self.all(lambda mgmt: mgmt.lost(self.lease(n), links))
        if not isinstance(outcomes, str):
            self.saw(*[outcome.replacement for outcome in outcomes])

    @rule(n=some, which=some, error=st.sampled_from(["robots", "dns"]))
    def refuse(self, n: int, which: int, error: str) -> None:
        result = self.result(which, error, 0)
        if result:
            outcomes = self.all(lambda mgmt: mgmt.refuse(self.lease(n), [result]))
            if not isinstance(outcomes, str):
                self.saw(*[outcome.replacement for outcome in outcomes])

    @rule(n=some, which=st.none() | st.lists(some, max_size=3), kept=st.lists(some, max_size=3))
    def release(self, n: int, which: list[int] | None, kept: list[int]) -> None:
        keep = {self.claims[-1 - one % len(self.claims)][0] for one in kept if self.claims}
        ids = None if which is None else [self.claims[-1 - one % len(self.claims)][0] for one in which if self.claims]
        self.all(lambda mgmt: mgmt.release(self.lease(n), ids, keep))

    @rule(given=st.lists(st.tuples(pages, st.integers(0, 4)), max_size=4))
    def reopen(self, given: list[tuple[tuple[str, int], int]]) -> None:
        links = [(new_link(page), after) for page, after in given]
        wanted = [
            Reopen(uri=new.uri, url=new.url, web_host=new.web_host, after=after, at_once=after == 4)
            for new, after in links
        ]
        self.all(lambda mgmt: mgmt.reopen(wanted))

    @rule(given=st.lists(pages, max_size=4), scheme=st.sampled_from(["http", "https"]), any_scheme=st.booleans())
    def want(self, given: list[tuple[str, int]], scheme: str, any_scheme: bool) -> None:
        links = [new_link(page) for page in given]
        seeds = [Seed(link.uri, f"{scheme}://{link.uri}", link.web_host, any_scheme) for link in links]
        self.all(lambda mgmt: mgmt.want(seeds))
        self.all(lambda mgmt: mgmt.known([link.uri for link in links]))

    @rule(after=st.sampled_from(["", *HOSTS]), limit=st.integers(0, 5), granted=st.integers(0, 3))
    def settle_wishes(self, after: str, limit: int, granted: int) -> None:
        wishes = self.all(lambda mgmt: mgmt.wishes(after, limit))
        moved = [replace(wish, hops=wish.hops + 1, asked=wish.asked + 1) for wish in wishes[granted:]]
        self.all(lambda mgmt: mgmt.settle_wishes(wishes[:granted], moved))
        self.all(lambda mgmt: mgmt.settle_wishes([replace(wish, asked=0) for wish in wishes]))

    @rule(which=st.lists(pages, max_size=4))
    def known(self, which: list[tuple[str, int]]) -> None:
        self.all(lambda mgmt: mgmt.known([new_link(page).uri for page in which]))

    @rule(host=st.sampled_from(HOSTS), seconds=st.integers(-5, 20), reason=st.sampled_from(["", "dns", "timeout"]))
    def defer(self, host: str, seconds: int, reason: str) -> None:
        self.all(lambda mgmt: mgmt.defer({host: seconds * 1000}, {host: reason} if reason else None))

    @rule(host=st.sampled_from(HOSTS), rate=st.integers(0, 3))
    def save_rates(self, host: str, rate: int) -> None:
        self.all(lambda mgmt: mgmt.save_rates({host: rate}))
        self.all(lambda mgmt: mgmt.rates(HOSTS))

    @rule(seconds=st.integers(-1, 20))
    def resting_hosts(self, seconds: int) -> None:
        self.all(lambda mgmt: mgmt.resting_hosts(seconds * 1000, 2))

    @rule(n=some)
    def seal_finished(self, n: int) -> None:
        self.all(lambda mgmt: mgmt.seal_finished(self.lease(n)))

    @rule(n=some, host=st.sampled_from(HOSTS), hop=st.integers(0, 1))
    def open_robots(self, n: int, host: str, hop: int) -> None:
        opened = self.all(
            lambda mgmt: mgmt.open_robots(self.lease(n), {f"https://{host}": f"https://{host}/robots{hop}.txt"})
        )
        if not isinstance(opened, str):
            self.saw(*opened.values())

    @rule(host=st.sampled_from(HOSTS), ip=st.sampled_from(["", "1.1.1.1", "2.2.2.2"]))
    def save_addresses(self, host: str, ip: str) -> None:
        self.all(lambda mgmt: mgmt.save_addresses([Address(host, ip, ip, self.clock.now() + 1000)]))

    @rule(n=some)
    def own_slots(self, n: int) -> None:
        self.all(lambda mgmt: mgmt.own_slots(self.lease(n)))

    @rule(n=some, most=st.integers(0, 3))
    def take_crawled(self, n: int, most: int) -> None:
        given = self.all(lambda mgmt: mgmt.take_crawled(self.lease(n), most))
        if not isinstance(given, str):
            assert all(link.state in ("crawled", "error") for chunk in given for link in chunk.links)
            self.attempts += [(self.lease(n), chunk.id, chunk.attempt) for chunk in given]

    @rule(n=some, seq=st.integers(0, 6))
    def end_build(self, n: int, seq: int) -> None:
        if self.attempts:
            attempt = self.attempts[-1 - n % len(self.attempts)]
            self.all(lambda mgmt: mgmt.built(*attempt, seq) if seq else mgmt.build_failed(*attempt, "it is broken"))
        chunks = [chunk for _, chunk, _ in self.attempts]
        self.all(lambda mgmt: mgmt.unbuilt([*chunks, ChunkId(1_000)]))

    @rule(n=some, node=st.sampled_from(["a:1", "b:1"]), seconds=st.sampled_from([0, 1, 30, 10_000]))
    def wait_for_records(self, n: int, node: str, seconds: int) -> None:
        if self.attempts:
            attempt = self.attempts[-1 - n % len(self.attempts)]
            self.all(lambda mgmt: mgmt.wait_for_records(*attempt, node, seconds * 1000))

    @rule(n=some, node=st.sampled_from(["a:1", "b:1"]))
    def records_back(self, n: int, node: str) -> None:
        self.all(lambda mgmt: mgmt.records_back(self.lease(n), node))

    @rule(which=st.none() | st.lists(st.integers(1, 5), max_size=2))
    def retry(self, which: list[ChunkId] | None) -> None:
        self.all(lambda mgmt: mgmt.retry(which))

    @rule(after=st.integers(0, 5), limit=st.integers(1, 3))
    def archived(self, after: int, limit: int) -> None:
        self.all(lambda mgmt: mgmt.archived(after, limit))

    @rule(after=st.integers(-1, 6), chunks=st.lists(st.integers(1, 5), max_size=2))
    def offer_built(self, after: int, chunks: list[ChunkId]) -> None:
        self.all(lambda mgmt: mgmt.offer_built(after, chunks))

    @rule(after=st.sampled_from(["", *HOSTS]), limit=st.integers(1, 5))
    def built_links(self, after: str, limit: int) -> None:
        self.all(lambda mgmt: mgmt.built_links(after, limit))

    @rule(n=some, count=st.sampled_from([5, 5, 5, 7, 3]))
    def own_shards(self, n: int, count: int) -> None:
        self.all(lambda mgmt: mgmt.own_shards(self.lease(n), count))

    @rule(n=some, seq=st.integers(0, 7))
    def acknowledge(self, n: int, seq: int) -> None:
        self.all(lambda mgmt: mgmt.acknowledge(self.lease(n), seq))

    @rule(kind=st.sampled_from([NodeType.CRAWLER, NodeType.INDEX_BUILDER, NodeType.INDEX_SERVER]), n=st.integers(0, 4))
    def register(self, kind: NodeType, n: int) -> None:
        self.leases.append(self.all(lambda mgmt: mgmt.register(kind, f"10.0.0.{n}:1", n % 2)))

    @rule(n=some, skew=st.sampled_from([None, 0, -3_600_000]), number=st.integers(0, 2))
    def heartbeat(self, n: int, skew: int | None, number: int) -> None:
        clock = 0 if skew is None else self.clock.now() + skew
        told = NodeTold(clock=clock, figures={"pages": number} if number else {})
        self.all(lambda mgmt: mgmt.heartbeat(self.lease(n), told))

    @rule(n=some, state=st.sampled_from(NodeState))
    def tell(self, n: int, state: NodeState) -> None:
        self.all(lambda mgmt: mgmt.tell(self.lease(n), state))

    @rule(n=st.integers(1, 6), state=st.sampled_from(NodeState))
    def ask(self, n: int, state: NodeState) -> None:
        self.all(lambda mgmt: mgmt.ask(NodeId(n), state))

    @rule(seconds=st.sampled_from([1, 5, 25, 46]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-90_000, -3_600, -86_400, -6, -2, 3_600, 90_000]))
    def set_clock(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def reap(self) -> None:
        self.all(lambda mgmt: mgmt.reap())
        now, lease = self.clock.now(), self.twin._settings.lease
        ended = [n.id for n in self.twin._state.nodes.values() if is_ended(now - n.seen, lease)]
        held = [x for x in self.twin._state.links.values() if x.state is LinkState.CRAWLING and x.node in ended]
        assert not held, "a dead node's work is offered again"

    @rule(host=st.sampled_from(HOSTS), verify=st.booleans())
    def set_site(self, host: str, verify: bool) -> None:
        self.all(lambda mgmt: mgmt.set_sites([Site(name=host, settings=SiteSettings(verify=verify, depth=3))]))
        self.all(lambda mgmt: mgmt.details([doc_id for doc_id, _ in self.claims]))

    @rule(id_=st.sampled_from("ab"), digest=st.sampled_from("abc"), moment=st.integers(1, 3))
    def add_web_token(self, id_: str, digest: str, moment: int) -> None:
        self.all(lambda mgmt: mgmt.add_web_token(WebToken(id_, f"name of {digest}", moment), digest))
        self.all(lambda mgmt: list(mgmt.web_tokens().items()))

    @rule(id_=st.sampled_from("abc"), moment=st.integers(0, 3))
    def use_web_token(self, id_: str, moment: int) -> None:
        self.all(lambda mgmt: mgmt.use_web_token(id_, moment) if moment else mgmt.revoke_web_token(id_))
        self.all(lambda mgmt: list(mgmt.web_tokens().items()))

    @invariant()
    def all_engines_hold_the_same(self) -> None:
        if len(self.engines) > 1:
            for relation in RELATIONS:
                self.all(lambda mgmt, r=relation: mgmt.table(r))  # type: ignore[misc]
            self.all(lambda mgmt: (mgmt.counts(), mgmt.nodes(), mgmt.sites()))

    @invariant()
    def no_link_crawls_without_a_living_node(self) -> None:
        for link in self.twin._state.links.values():
            if link.state is LinkState.CRAWLING:
                assert self.twin._state.nodes[link.node].state is not NodeState.OFFLINE
            assert (link.chunk_id is None) == (link.is_robots or link.state is LinkState.PENDING)

    @invariant()
    def a_chunk_is_crawled_when_none_of_its_links_is_crawling(self) -> None:
        for chunk in self.twin._state.chunks.values():
            states = {link.state for link in self.twin._state.links_of(chunk.id)}
            assert (chunk.task is CrawlerTask.CRAWLED) == (LinkState.CRAWLING not in states)
            if chunk.built is BuilderTask.BUILDING:
                builder = next(n for n in self.twin._state.nodes.values() if n.address == chunk.builder)
                assert builder.state is not NodeState.OFFLINE
            elif chunk.task is CrawlerTask.CRAWLED and states and chunk.built is None:
                assert chunk.is_offered, "what is crawled waits for a builder"

    @invariant()
    def every_slot_has_one_owner_that_lives(self) -> None:
        for pool, slots in self.twin._state.slots.items():
            for owner in {slot.owner for slot in slots if slot.owner is not None}:
                node = self.twin._state.nodes[owner]
                assert node.state is not NodeState.OFFLINE
                assert pool == "addresses" if node.type is NodeType.CRAWLER else pool == f"row {node.row}"

    @invariant()
    def every_index_server_that_lives_has_every_built_chunk(self) -> None:
        built = [chunk.id for chunk in self.twin._state.chunks.values() if chunk.built is BuilderTask.BUILT]
        for node in self.twin._state.nodes.values():
            if node.type is NodeType.INDEX_SERVER and node.state is not NodeState.OFFLINE:
                assert all((node.id, chunk) in self.twin._state.placements for chunk in built)


def _answer(call: Callable[[Mgmt], Any], mgmt: Mgmt) -> Any:
    try:
        return call(mgmt)
    except WeftError as error:
        return str(error)

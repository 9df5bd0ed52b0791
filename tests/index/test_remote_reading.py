"""Fetches whose records lie on other nodes: real sockets, real workers. Nobody waits for a node that is away."""

from __future__ import annotations

import logging
import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from support.built_world import RULES, World
from support.record_node import RawNode, RecordNode, answering, one_request, silent
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import NodeAccess
from weft.archive.record_reader import earlier_record, read_member_bytes
from weft.config import Settings
from weft.index import node_thread
from weft.index.fetch_reader_pool import fetch_reader_pool
from weft.index.node_line import AHEAD_BYTES
from weft.index.open_chunks import LinkTicket
from weft.index.reading_lanes import AskedFetch, ReadingLanes, ReadyFetch
from weft.index.remote_reading import RemoteReading
from weft.mgmt.values import BuildLink, ChunkId

SOON = 20.0
QUICK = NodeAccess(connect_seconds=2.0, read_seconds=0.5)


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingLanes]:
    """Nothing lies in the archive here."""
    with fetch_reader_pool(Settings(), RULES, tmp_path_factory.mktemp("here"), workers=1) as made:
        yield made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


@pytest.fixture
def node(world: World) -> Iterator[RecordNode]:
    with RecordNode(world.place / "warc") as made:
        world.node = made.address
        yield made


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_thread, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(node_thread, "LONGEST_PAUSE", 0.1)


@pytest.fixture
def reading(lanes: ReadingLanes, tmp_path: Path) -> Iterator[RemoteReading]:
    with RemoteReading(lanes, tmp_path / "none", QUICK) as made:
        yield made
    lanes.drop()


def fetched(world: World, **bodies: str) -> list[AskedFetch]:
    """Pages of hosts a.com, b.com …, in the order of the names."""
    world.fetch_chunk({f"https://{name}.com/": body for name, body in bodies.items()})
    (chunk,) = world.mgmt.take_crawled(world.lease)
    links = sorted(chunk.links, key=lambda link: link.url)
    return [AskedFetch(LinkTicket(ChunkId(1), place), link) for place, link in enumerate(links)]


def at(asked: AskedFetch, **changed: object) -> AskedFetch:
    """With another position."""
    link = asked.link
    assert link.result.position is not None
    position = msgspec.structs.replace(link.result.position, **changed)
    result = msgspec.structs.replace(link.result, position=position)
    return asked._replace(link=msgspec.structs.replace(link, result=result))


def taken(reading: RemoteReading, count: int) -> dict[str, str]:
    """Host and error of what is ready."""
    found = {}
    for _ in range(count):
        fetch = reading.take(SOON)
        assert fetch is not None
        found[name_of(fetch.link)] = fetch.read.fetched.error
    return found


def unreachable(reading: RemoteReading, count: int) -> dict[str, str]:
    """Host and node of what cannot be reached."""
    found: dict[str, str] = {}

    def has_all() -> bool:
        found.update({name_of(each.asked.link): each.node for each in reading.take_unreachable()})
        return len(found) >= count

    until(has_all)
    return found


def name_of(link: BuildLink) -> str:
    return link.uri.removeprefix("com.")


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_records_of_another_node_are_read(world: World, node: RecordNode, reading: RemoteReading) -> None:
    reading.give(fetched(world, **{f"h{number}": f"<title>{number}</title>" for number in range(60)}))
    found = [reading.take(SOON) for _ in range(60)]
    assert sorted(fetch.read.title for fetch in found if fetch) == sorted(map(str, range(60)))
    assert (reading.waiting, node.connections, reading._fetching._held) == (0, 1, 0)
    assert reading.take_reachable() == [node.address]
    assert reading.away() == {}


def test_one_connection_is_kept_for_all_records_of_a_node(
    world: World, node: RecordNode, reading: RemoteReading
) -> None:
    for name in "abc":
        reading.give(fetched(world, **{name: name}))
        assert taken(reading, 1) == {name: ""}
        time.sleep(0.02)
    assert node.connections == 1


def test_a_connection_that_nobody_uses_is_closed_and_made_again(
    world: World, node: RecordNode, reading: RemoteReading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.index.record_fetching._KEPT_SECONDS", 0.05)
    for name in "abc":
        reading.give(fetched(world, **{name: name}))
        assert taken(reading, 1) == {name: ""}
        until(lambda: not reading._fetching._lines)
    assert node.connections == 3


def test_a_record_that_lies_here_is_read_here_whatever_its_node_is(
    world: World, lanes: ReadingLanes, reading: RemoteReading
) -> None:
    world.node = "127.0.0.1:1"
    asked = fetched(world, a="<title>A</title>")
    warc = world.place / "warc"
    with fetch_reader_pool(Settings(), RULES, warc, workers=1) as local, RemoteReading(local, warc, QUICK) as here:
        here.give(asked)
        assert taken(here, 1) == {"a": ""}
    reading.give(asked)
    assert unreachable(reading, 1) == {"a": "127.0.0.1:1"}


def test_a_fetch_without_content_needs_no_record(world: World, reading: RemoteReading) -> None:
    world.node = "127.0.0.1:1"
    world.fetch("https://gone.com/", status=404)
    world.fetch("https://moved.com/", status=301, location="https://a.com/")
    world.fetch("https://failed.com/", error="timeout")
    links = [link for chunk in world.mgmt.take_crawled(world.lease) for link in chunk.links]
    reading.give(AskedFetch(LinkTicket(ChunkId(1), place), link) for place, link in enumerate(links))
    assert taken(reading, 3) == {"gone": "", "moved": "", "failed": "timeout"}
    assert reading.take_unreachable() == []


def test_a_revisit_is_read_with_what_it_repeats(world: World, node: RecordNode, reading: RemoteReading) -> None:
    world.crawl("https://a.com/", "<title>The same</title>")
    world.fetch_again("https://a.com/", "<title>The same</title>")
    (chunk,) = world.mgmt.take_crawled(world.lease)
    place = chunk.links[0].result.position
    assert place is not None
    position = RecordPosition(place.file, place.offset, place.length)
    assert earlier_record(read_member_bytes(world.place / "warc", position)) is not None
    reading.give([AskedFetch(LinkTicket(chunk.id, 0), chunk.links[0])])
    found = reading.take(SOON)
    assert found is not None
    assert (found.read.title, found.read.fetched.error, reading._fetching._held) == ("The same", "", 0)


def test_what_is_damaged_or_not_there_is_unreadable_alone(
    world: World, node: RecordNode, reading: RemoteReading
) -> None:
    good, damaged, missing, beyond = fetched(world, a="a", b="b", c="c", d="d")
    assert damaged.link.result.position is not None
    reading.give(
        [
            at(missing, file="other.warc.gz"),
            at(damaged, offset=damaged.link.result.position.offset + 5),
            at(beyond, length=1 << 40),
            good,
        ]
    )
    assert taken(reading, 4) == {"a": "", "b": "archive", "c": "archive", "d": "archive"}
    assert reading.take_unreachable() == []


def test_fetches_of_a_node_that_is_away_come_back_at_once(
    world: World, node: RecordNode, reading: RemoteReading, caplog: pytest.LogCaptureFixture
) -> None:
    asked = fetched(world, a="a", b="b", c="c")
    node.stop()
    with caplog.at_level(logging.WARNING):
        reading.give(asked[:2])
        assert unreachable(reading, 2) == {"a": node.address, "b": node.address}
        reading.give(asked[2:])
        assert [name_of(each.asked.link) for each in reading.take_unreachable()] == ["c"], "without a try"
        assert reading.waiting == 0
        until(lambda: reading.away()[node.address].seconds > 0.3)
        assert reading.away()[node.address].reason == "refuses the connection"
        node.start()
        until(lambda: reading.take_reachable() == [node.address])
        assert reading.away() == {}
        reading.give(asked)
        assert taken(reading, 3) == {"a": "", "b": "", "c": ""}
    said = [record.message for record in caplog.records]
    assert len(said) == 2, said
    assert said[0] == f"node is away, its records wait node={node.address} reason=refuses the connection"
    assert said[1].startswith(f"node is back node={node.address} after=")


def test_a_wrong_token_is_said_with_its_setting(world: World, node: RecordNode, reading: RemoteReading) -> None:
    node.token = "another"
    reading.give(fetched(world, a="a"))
    assert unreachable(reading, 1) == {"a": node.address}
    assert "spider.token" in reading.away()[node.address].reason


def test_nobody_waits_for_a_node_that_is_silent(world: World, node: RecordNode, reading: RemoteReading) -> None:
    with RawNode(silent) as hole:
        here = fetched(world, a="a", b="b")
        world.node = hole.address
        there = fetched(world, x="x", y="y")
        reading.give(there)
        until(lambda: reading._fetching._lines[hole.address].in_flight)
        reading.give(here)
        assert taken(reading, 2) == {"a": "", "b": ""}
        assert unreachable(reading, 2) == {"x": hole.address, "y": hole.address}
        # It is asked again and again, and counts as back while it takes a connection.
        seen: list[str] = []

        def look() -> bool:
            seen.extend(at.reason for at in reading.away().values())
            return bool(seen)

        until(look)
        assert set(seen) == {"does not answer within 0.5 s"}


def test_a_silent_node_is_not_counted_on(world: World, reading: RemoteReading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.index.node_line._STALLED", SOON)
    with RawNode(silent) as hole:
        world.node = hole.address
        reading.give(fetched(world, x="x", y="y"))
        until(lambda: reading.waiting == 2)
        monkeypatch.setattr("weft.index.node_line._STALLED", 0.05)
        until(lambda: reading.waiting == 0)
        assert reading.take_unreachable() == [], "not given up yet"
        assert unreachable(reading, 2)


def test_what_waits_behind_a_slow_record_comes_back_and_the_slow_one_ends_the_wait(
    world: World, node: RecordNode, reading: RemoteReading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.index.node_line._MOST_AHEAD", 1)
    may_go = threading.Event()

    def late(peer: socket.socket) -> None:
        """Answers the first record when it may."""
        host, _, port = node.address.rpartition(":")
        with socket.create_connection((host, int(port))) as server:
            for number in range(10):
                server.sendall(one_request(peer))
                data = server.recv(1 << 16)
                if number == 1:
                    assert may_go.wait(SOON)
                peer.sendall(data)

    with RawNode(late) as slow, RemoteReading(reading._lanes, world.place / "none", NodeAccess()) as patient:
        world.node = slow.address
        patient.give(fetched(world, a="a", b="b", c="c"))
        # Before, a busy machine may need long to dial.
        until(lambda: patient._fetching._lines[slow.address].in_flight)
        monkeypatch.setattr("weft.index.node_line._TOO_SLOW", 0.1)
        assert unreachable(patient, 2) == {"b": slow.address, "c": slow.address}
        assert "too slow" in patient.away()[slow.address].reason
        patient.take_reachable()
        may_go.set()
        assert taken(patient, 1) == {"a": ""}
        assert (patient.away(), patient.take_reachable()) == ({}, [slow.address])


def test_fetches_of_a_node_that_is_dialled_for_long_come_back(
    world: World, reading: RemoteReading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.index.node_line._TOO_SLOW", 0.1)

    def never_greets(peer: socket.socket) -> None:
        while peer.recv(1 << 16):
            pass

    with RawNode(never_greets) as hole, RemoteReading(reading._lanes, world.place / "none", NodeAccess()) as patient:
        world.node = hole.address
        patient.give(fetched(world, a="a"))
        assert unreachable(patient, 1) == {"a": hole.address}
        assert "cannot be dialled in time" in patient.away()[hole.address].reason


def test_a_node_that_was_started_again_was_never_away(
    world: World, node: RecordNode, reading: RemoteReading, caplog: pytest.LogCaptureFixture
) -> None:
    asked = fetched(world, a="a", b="b")
    reading.give(asked[:1])
    taken(reading, 1)
    node.stop()
    node.start()
    reading.give(asked[1:])
    assert taken(reading, 1) == {"b": ""}
    assert "away" not in caplog.text


def test_a_node_that_answers_and_then_breaks_the_connection_every_time_is_away(
    world: World, reading: RemoteReading
) -> None:
    with RawNode(answering()) as broken:
        world.node = broken.address
        reading.give(fetched(world, a="a"))
        assert unreachable(reading, 1) == {"a": broken.address}
        assert reading.away()[broken.address].reason == "closed the connection"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_a_node_that_answers_nonsense_is_away(world: World, reading: RemoteReading, answer: bytes) -> None:
    with RawNode(answering(answer)) as hostile:
        world.node = hostile.address
        reading.give(fetched(world, a="a"))
        assert unreachable(reading, 1) == {"a": hostile.address}


def test_a_record_that_is_not_the_one_it_should_be_is_unreadable(world: World, reading: RemoteReading) -> None:
    (asked,) = fetched(world, a="a")
    assert asked.link.result.position is not None
    length = asked.link.result.position.length
    with RawNode(answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + b"x" * length)) as hostile:
        reading.give([at(asked, node=hostile.address)])
        assert taken(reading, 1) == {"a": "archive"}


class CountingNode:
    """Tells how many bytes of records were asked for."""

    def __init__(self, real: RecordNode) -> None:
        self._real, self.asked = real, 0

    def __call__(self, peer: socket.socket) -> None:
        host, _, port = self._real.address.rpartition(":")
        with socket.create_connection((host, int(port))) as server:
            threading.Thread(target=self._back, args=[server, peer], daemon=True).start()
            while True:
                head = one_request(peer)
                self.asked += int(head.partition(b"length=")[2].partition(b" ")[0])
                server.sendall(head)

    def _back(self, server: socket.socket, peer: socket.socket) -> None:
        while data := server.recv(1 << 16):
            peer.sendall(data)


def test_what_is_fetched_ahead_of_the_workers_is_bounded_in_bytes(
    world: World, node: RecordNode, lanes: ReadingLanes, tmp_path: Path
) -> None:
    counting = CountingNode(node)
    bodies = {f"h{number:02}": noise(20_000, number) for number in range(120)}
    with RawNode(counting) as counted, RemoteReading(lanes, tmp_path / "none", QUICK, ahead=50_000) as reading:
        world.node = counted.address
        asked = fetched(world, **bodies)
        size = size_of(asked[0])
        assert size > 10_000
        lanes._ahead = 1  # nothing is taken: the worker waits with one page in hand
        reading.give(asked)
        until(lambda: reading._fetching._held >= 50_000)
        time.sleep(0.2)
        assert reading._fetching._held < 50_000 + AHEAD_BYTES + size
        assert counting.asked < 50_000 + AHEAD_BYTES + 10 * size
        with lanes._changed:
            lanes._ahead = 16 << 20
            lanes._changed.notify_all()
        assert len(taken(reading, 120)) == 120
        assert reading._fetching._held == 0
    lanes.drop()


def size_of(asked: AskedFetch) -> int:
    assert asked.link.result.position is not None
    return asked.link.result.position.length


def noise(size: int, seed: int) -> str:
    """Text that does not pack well."""
    return "<p>" + "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=size))


def test_large_records_come_one_at_a_time_and_hold_up_no_small_ones(
    world: World, node: RecordNode, reading: RemoteReading
) -> None:
    with RecordNode(world.place / "warc") as other:
        large = fetched(world, a=noise(900_000, 1), b=noise(900_000, 2), c="c")
        world.node = other.address
        more = fetched(world, d=noise(900_000, 3), e="e")
        most: list[int] = []

        def watch() -> None:
            in_flight = [wanted for line in list(reading._fetching._lines.values()) for wanted in list(line.in_flight)]
            most.append(sum(wanted.is_large for wanted in in_flight))

        reading.give([*large, *more])
        found: list[ReadyFetch] = []
        while len(found) < 5:
            watch()
            if (fetch := reading.take(0.001) or reading.take_heavy()) is not None:
                found.append(fetch)
        assert {name_of(fetch.link): fetch.read.fetched.error for fetch in found} == dict.fromkeys("abcde", "")
        assert max(most) <= 1


def test_more_nodes_than_connections_take_turns(world: World, lanes: ReadingLanes, tmp_path: Path) -> None:
    with ExitStack() as nodes, RemoteReading(lanes, tmp_path / "none", QUICK, most_nodes=1) as reading:
        asked = []
        for name in "abc":
            world.node = nodes.enter_context(RecordNode(world.place / "warc")).address
            asked += fetched(world, **{name: name})
        world.node = "127.0.0.1:1"
        asked += fetched(world, d="d")
        reading.give(asked)
        assert taken(reading, 3) == {"a": "", "b": "", "c": ""}
        assert unreachable(reading, 1) == {"d": "127.0.0.1:1"}
    lanes.drop()


def test_what_was_dropped_never_comes(world: World, node: RecordNode, reading: RemoteReading) -> None:
    asked = fetched(world, **{f"h{number}": "x" for number in range(50)}, z="z")
    with RawNode(silent) as hole:
        reading.give([at(asked[0], node=hole.address), *asked[1:50]])
        until(lambda: reading._fetching._lines[hole.address].in_flight)
        reading.drop()
        reading.give(asked[50:])
        assert taken(reading, 1) == {"z": ""}
        until(lambda: hole.address in reading.away())
        assert (reading.take(0.1), reading.take_unreachable()) == (None, [])
        until(lambda: reading._fetching._held == 0)


def test_gathering_waits_for_records_that_are_on_their_way(
    world: World, node: RecordNode, reading: RemoteReading
) -> None:
    reading.give(fetched(world, a="a"))
    taken(reading, 1)
    reading.give(fetched(world, **{f"h{number}": "x" for number in range(30)}))
    reading.gather(500, SOON)
    ready = [reading.take(0) for _ in range(30)]
    assert all(ready)


def test_a_node_far_away_gives_hundreds_of_records_a_second(
    world: World, node: RecordNode, reading: RemoteReading
) -> None:
    with RawNode(Distant(node, 0.025)) as far:
        world.node = far.address
        asked = fetched(world, **{f"h{number}": "x" for number in range(300)})
        reading.give(asked[:1])
        taken(reading, 1)
        began = time.monotonic()
        reading.give(asked[1:])
        taken(reading, 299)
        seconds = time.monotonic() - began
        assert seconds < 299 * 0.05 / 3, "one after the other it takes 15 s"


class Distant:
    """A way to a node that takes so many seconds in each direction, however much is on it."""

    def __init__(self, real: RecordNode, seconds: float) -> None:
        self._real, self._seconds = real, seconds

    def __call__(self, peer: socket.socket) -> None:
        host, _, port = self._real.address.rpartition(":")
        with socket.create_connection((host, int(port))) as server:
            threading.Thread(target=self._carry, args=[server, peer], daemon=True).start()
            self._carry(peer, server)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        on_the_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def deliver() -> None:
            while (arrival := on_the_way.get())[1]:
                time.sleep(max(0.0, arrival[0] - time.monotonic()))
                target.sendall(arrival[1])

        threading.Thread(target=deliver, daemon=True).start()
        while data := source.recv(1 << 16):
            on_the_way.put((time.monotonic() + self._seconds, data))
        on_the_way.put((0.0, b""))

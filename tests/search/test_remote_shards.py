"""All shards over HTTP: which server is asked, what is read here, and where a search is answered at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support.certificates import Authority
from support.free_ports import free_ports
from support.search_servers import page
from support.search_world import STORE, SearchWorld
from support.shards_endpoint import endpoint
from weft.clock import ManualClock
from weft.config.settings import settings_with
from weft.errors import MgmtMissing, SearchMissing
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeState, NodeTold, NodeType
from weft.roles.tls import client_context, server_context
from weft.search import fan_out
from weft.search.local_shards import LocalShards
from weft.search.open import open_shards
from weft.search.query_language import parse
from weft.search.remote_shards import RemoteShards
from weft.search.served_shards import ServedShards
from weft.search.server_connection import Call, ServerAccess, ServerSilent
from weft.search.server_messages import CorrectShards
from weft.search.shard_reader import ShardQuestion
from weft.search.shard_sources import FIRST_HEDGE, DirectorySource, ServerSource, Told

QUESTION = ShardQuestion(query=parse("fox"))
NOWHERE = DirectorySource([], STORE, 2)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "RETRY_SECONDS", 0.2)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SearchWorld]:
    made = SearchWorld(tmp_path / "row", shards=2)
    made.load(*(page(f"http://s{number}.com/", text=f"a fox number{number}") for number in range(10)))
    made.indexer.finish()
    yield made
    made.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def serve(world: SearchWorld, stack: ExitStack, shards: list[int], token: str = "") -> str:
    served = ServedShards(world.indexer.directory)
    served.serve(shards)
    return f"127.0.0.1:{stack.enter_context(endpoint(served, 2, token))}"


def remote(*told: Told, token: str = "", local: DirectorySource = NOWHERE) -> RemoteShards:
    access = ServerAccess(token)
    return RemoteShards(2, lambda: (told, access), local, deadline=5.0)


def totals(shards: RemoteShards) -> list[int | None]:
    return [answer.total if answer else None for answer in shards.ask(QUESTION)]


def test_what_servers_answer_is_what_the_directories_say(world: SearchWorld, stack: ExitStack) -> None:
    here = LocalShards.open(world.path, STORE, 2)
    first, second = serve(world, stack, [0], "t"), serve(world, stack, [1], "t")
    there = remote(Told(first, 1, frozenset([0])), Told(second, 1, frozenset([1])), token="t")
    for text in ('fox -number3 "a fox"', "intitle:fox OR number2", "site:s3.com", "numb*", "nothing"):
        question = ShardQuestion(query=parse(text), facets=True)
        assert there.ask(question) == here.ask(question)
    assert there.correct("nubmer3") == here.correct("nubmer3") != []
    assert there.explain(parse("fox"), "com.s3") == here.explain(parse("fox"), "com.s3") != []
    assert there.explain(parse("fox"), "com.nobody") == []
    there.close()


def test_the_rows_take_turns(world: SearchWorld, stack: ExitStack) -> None:
    both = frozenset([0, 1])
    shards = remote(Told(serve(world, stack, [0, 1]), 1, both), Told(serve(world, stack, [0, 1]), 2, both))
    asked: list[str] = []
    for server in shards._servers.values():
        really = server.ask

        def ask(*args: object, server: ServerSource = server, really: Callable[..., object] = really) -> object:
            asked.append(server.told.address)
            return really(*args)

        server.ask = ask  # type: ignore[method-assign, assignment]
    for _ in range(6):
        assert None not in shards.ask(QUESTION)
    assert {asked.count(address) for address in shards._servers} == {3}


def test_a_server_that_is_gone_is_replaced_by_the_other_row(world: SearchWorld, stack: ExitStack) -> None:
    both = frozenset([0, 1])
    gone = f"127.0.0.1:{free_ports('127.0.0.1', 1)[0]}"
    shards = remote(Told(gone, 1, both), Told(serve(world, stack, [0, 1]), 2, both))
    for _ in range(4):
        assert None not in totals(shards)
    assert shards._servers[gone].has_failed


def test_a_connection_that_was_closed_meanwhile_is_dialled_again(world: SearchWorld) -> None:
    served = ServedShards(world.indexer.directory)
    served.serve([0, 1])
    with endpoint(served, 2) as port:
        server = ServerSource(Told(f"127.0.0.1:{port}", 1), ServerAccess())
        asked = CorrectShards(shards=[0], count=2, word="nubmer")
        assert server.ask(asked, 5, Call())
        server._connections._kept[0].sock.close()
        with suppress(ServerSilent):
            server.ask(asked, 5, Call())
        assert server.ask(asked, 5, Call())
        server.close()


def test_a_shard_that_nobody_serves_is_read_here_if_it_is_here(world: SearchWorld, stack: ExitStack) -> None:
    address = serve(world, stack, [0])
    assert totals(remote(Told(address, 1, frozenset([0]))))[1] is None
    here = DirectorySource([world.path], STORE, 2)
    assert None not in totals(remote(Told(address, 1, frozenset([0])), local=here))


def test_a_server_with_another_token_is_as_good_as_none(world: SearchWorld, stack: ExitStack) -> None:
    address = serve(world, stack, [0, 1], "theirs")
    assert totals(remote(Told(address, 1, frozenset([0, 1])), token="ours")) == [None, None]


def test_no_server_and_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SearchMissing):
        remote().ask(QUESTION)


def test_the_best_of_the_rows_here_is_read(world: SearchWorld, tmp_path: Path) -> None:
    world.indexer.close()
    (tmp_path / "row-1").mkdir()
    world.path.rename(tmp_path / "row-2")
    source = DirectorySource([tmp_path / "row-1", tmp_path / "row-2"], STORE, 2)
    assert source.has(0)
    assert not DirectorySource([tmp_path / "row-2"], "another-store", 2).has(0)


def test_a_server_is_waited_for_as_long_as_it_usually_takes() -> None:
    server = ServerSource(Told("127.0.0.1:1", 1), ServerAccess())
    assert server.hedge_after == FIRST_HEDGE
    server._seconds.extend([0.2] * 99 + [3.0])
    assert server.hedge_after == 0.2
    server._seconds.extend([9.0] * 50)
    assert server.hedge_after == 1.0
    server._seconds.extend([0.001] * 100)
    assert server.hedge_after == FIRST_HEDGE


def test_one_that_is_slower_than_others_twice_is_asked_last() -> None:
    server = ServerSource(Told("127.0.0.1:1", 1), ServerAccess())
    server.lost()
    assert not server.has_failed
    server.lost()
    assert server.has_failed


# Where a search is answered.


class Plane:
    """A control plane with an index server, as a home has it."""

    def __init__(self) -> None:
        self.mgmt = MemoryMgmt(ManualClock(1_000_000))
        self.opened = 0

    def server(self, address: str, **figures: object) -> None:
        lease = self.mgmt.register(NodeType.INDEX_SERVER, address, 1)
        self.mgmt.heartbeat(lease, NodeTold(figures=dict(figures)))

    def open(self) -> Mgmt:
        self.opened += 1
        return self.mgmt


def home_with(world: SearchWorld, row: int = 1) -> Home:
    """Nobody has written its store, so that it has no name."""
    home = Home(world.path.parent / "home")
    home.search_row(row).parent.mkdir(parents=True)
    world.indexer.close()
    world.path.rename(home.search_row(row))
    for file in home.search_row(row).glob("*/current"):
        file.write_text(file.read_text().replace(STORE, ""))
    return home


SETTINGS = settings_with({"indexserver.shards": 2})


def test_without_servers_the_directories_of_a_whole_row_answer(world: SearchWorld) -> None:
    home = home_with(world, row=3)
    shards = open_shards(SETTINGS, home, "", Plane().open)
    assert isinstance(shards, LocalShards)
    assert None not in shards.ask(QUESTION)


def test_without_a_control_plane_too(world: SearchWorld) -> None:
    def open_lost() -> Mgmt:
        raise MgmtMissing("it is gone")

    assert None not in open_shards(SETTINGS, home_with(world), "", open_lost).ask(QUESTION)


def test_with_servers_they_are_asked_as_they_divide_the_index(world: SearchWorld, stack: ExitStack) -> None:
    plane, address = Plane(), serve(world, stack, [0, 1])
    plane.server(address, count=2, shards=[0, 1])
    # Settings of somebody who has not heard of the division yet.
    shards = open_shards(settings_with({}), Home(world.path / "nowhere"), "", plane.open)
    assert isinstance(shards, RemoteShards)
    assert None not in shards.ask(QUESTION)
    shards.close()


def test_a_server_that_has_left_or_tells_nonsense_is_not_asked(world: SearchWorld) -> None:
    plane = Plane()
    lease = plane.mgmt.register(NodeType.INDEX_SERVER, "127.0.0.1:1", 1)
    plane.mgmt.heartbeat(lease, NodeTold(figures={"count": 2, "shards": [0, 1]}))
    plane.mgmt.tell(lease, NodeState.OFFLINE)
    plane.server("127.0.0.1:2", count="many")
    plane.server("127.0.0.1:3")
    assert isinstance(open_shards(SETTINGS, home_with(world), "", plane.open), LocalShards)


def test_servers_that_died_without_a_word_are_no_reason_not_to_answer(world: SearchWorld) -> None:
    plane = Plane()
    plane.server(f"127.0.0.1:{free_ports('127.0.0.1', 1)[0]}", count=2, shards=[0, "nonsense"], lag_ms="nonsense")
    shards = open_shards(SETTINGS, home_with(world), "", plane.open)
    began = time.monotonic()
    assert None not in shards.ask(QUESTION)
    assert time.monotonic() - began < 2


def test_with_tls_a_server_is_asked_by_nothing_else(world: SearchWorld, stack: ExitStack, tmp_path: Path) -> None:
    settings = settings_with({**Authority(tmp_path).tls("127.0.0.1"), "spider.token": "t"})
    served = ServedShards(world.indexer.directory)
    served.serve([0, 1])
    port = stack.enter_context(endpoint(served, 2, "t", server_context(settings, "127.0.0.1")))
    told = Told(f"127.0.0.1:{port}", 1, frozenset([0, 1]))
    access = ServerAccess("t", lambda host: client_context(settings, host))
    shards = RemoteShards(2, lambda: ([told], access), NOWHERE)
    assert None not in totals(shards)
    shards.close()
    assert totals(remote(told, token="t")) == [None, None]

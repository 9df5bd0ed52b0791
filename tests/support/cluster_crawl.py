"""Machines whose index is in a cluster of Cassandra, and what must hold when they have crawled a web."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from support.cassandra import connected
from support.machines import Machines
from support.machines_proof import WEB, check_archive, check_manners, check_truth, crawling_machines, one_machine
from support.mgmt_engines import Server
from support.weft_command import weft
from weft.answers.search_servers import search_servers
from weft.demo.web.judge.judge import Report

SMALL_WEB = replace(WEB, hosts=6, pages=6, links=(3, 10))
CRAWLERS = ("spider1", "urlserver2", "spider2")
ROLES = ("index1", "indexserver1", *CRAWLERS)
SMALL_STEPS: dict[str, object] = {
    # Many small rounds instead of a few large ones, so that there is always one to break.
    "dispatcher__outstanding": 4,
    "dispatcher__segment_size": 2,
    "mgmt__chunk_linger": 0.1,
    "mgmt__lease": 10.0,
    "mgmt__heartbeat": 1.0,
    "indexserver__commit_every": 2.0,
    "indexserver__anchors_every": 1.0,
    "indexserver__memory": 16 << 20,
}


@contextmanager
def crawling_cluster(place: Path, server: Server, hosts: Sequence[str], **changes: object) -> Iterator[Machines]:
    """As `crawling_machines`, with a keyspace of its own in this cluster."""
    with (
        new_keyspace(place, server, hosts) as url,
        crawling_machines(place, server, SMALL_WEB, store__url=url, **{**SMALL_STEPS, **changes}) as machines,
    ):
        yield machines


@contextmanager
def new_keyspace(place: Path, server: Server, hosts: Sequence[str]) -> Iterator[str]:
    """Its address, for store.url: every cell is on all three nodes; with one shard there is little to walk."""
    name = f"weft_{uuid.uuid4().hex[:12]}"
    url = f"cassandra://{','.join(hosts)}/{name}"
    settings = [f'store.url="{url}"', f'mgmt.url="{server.url()}"']
    sets = [word for setting in settings for word in ("--set", setting)]
    # Nodes that have just started do not all know of each other yet.
    for _ in range(30):
        done = weft("schema", "cassandra", "--apply", "--replication", "3", "--shards", "1", *sets, cwd=place)
        if done.returncode == 0:
            break
        time.sleep(1)
    assert done.returncode == 0, done.stderr
    yield url
    with connected(list(hosts)) as session:
        session.execute(f"DROP KEYSPACE {name}")


def last_seq(machines: Machines) -> int:
    """Of the last batch that was registered; 0: there is none."""
    with psycopg.connect(machines.url) as connection:
        found = connection.execute("SELECT seq FROM bucket").fetchone()
    return int(found[0]) if found else 0


def check_cluster(machines: Machines, refetches: int = 0) -> Report:
    """The index, the archive, search, the digest of an embedded index, the truth, and the manners."""
    wait_for_search(machines)
    found = machines.told("verify", "--archive", "--search")
    check_archive(found)
    assert found["search"]["row-1"]["behind"] == 0, found["search"]
    assert machines.told("digest")["digest"] == one_machine(SMALL_WEB).digest
    check_truth(machines)
    return check_manners(machines, refetches)


def wait_for_search(machines: Machines) -> None:
    """Until the index server has everything."""
    goal = last_seq(machines)

    def is_complete() -> bool:
        servers = search_servers(machines.mgmt.nodes(), machines.machines[1].home)
        return any(min(server.content, server.references) >= goal for server in servers)

    machines.wait_for(is_complete, "search to have everything")


def wait_for_batches(machines: Machines, more: int) -> None:
    """Until so many more have been registered."""
    goal = last_seq(machines) + more
    machines.wait_for(lambda: last_seq(machines) >= goal, f"batch {goal}")

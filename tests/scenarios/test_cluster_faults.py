"""An index in three nodes of Cassandra, with faults around it: it is the index of a machine without any."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.breaking_proxy import BreakingProxy
from support.cluster_crawl import (
    CRAWLERS,
    ROLES,
    check_cluster,
    crawling_cluster,
    last_seq,
    wait_for_batches,
)
from support.index_owner import is_frozen, owner, seconds_until_owned, wait_for_owner, wait_until_standing_by
from support.machines import Machines
from support.mgmt_engines import Server
from tools.cassandra.cluster import Cluster

LEASE = 6.0


def test_who_stands_by_takes_over_and_an_owner_that_stood_still_changes_nothing(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    changes: dict[str, object] = {"mgmt__lease": LEASE, "mgmt__heartbeat": 1.0}
    with crawling_cluster(tmp_path, own_postgres, shared_nodes.hosts, **changes) as machines:
        machines.start("indexserver1", *CRAWLERS)
        # In the middle of a batch that is registered.
        machines.start("index1", fail="store.apply:20:stop")
        wait_for_owner(machines, ["index1"])
        machines.start("index2", "index3")
        machines.wait_for(lambda: is_frozen(machines, "index1"), "index1 to stand still")
        second = wait_for_owner(machines, ["index2", "index3"])
        wait_for_batches(machines, 2)
        machines.thaw("index1")
        wait_until_standing_by(machines, "index1")

        machines.kill(second)
        others = {"index1", "index2", "index3"} - {second}
        third, seconds = seconds_until_owned(machines, others)
        print(f"after a kill: {seconds:.1f} s with a lease of {LEASE:.0f} s")
        assert seconds < LEASE + 5 + LEASE, "the promise, and a lease for a busy machine"
        wait_until_standing_by(machines, *others - {third})
        machines.start(second)
        wait_until_standing_by(machines, second)

        machines.processes[third].terminate()
        assert machines.wait_for_death(third) == 0, machines.logs()
        fourth, seconds = seconds_until_owned(machines, {"index1", "index2", "index3"} - {third})
        print(f"after a stop in order: {seconds:.1f} s")
        assert seconds < LEASE, "nobody waits for the end of a lease that was given back"

        machines.wait_for_the_end()
        assert owner(machines) == fourth
        assert not machines.dead(), machines.logs()
        check_cluster(machines, refetches=0)
        for name in {"index1", "index2", "index3"} - {third}:
            machines.processes[name].terminate()
            assert machines.wait_for_death(name) == 0, machines.logs()


def break_postgres(place: Path, server: Server, nodes: Cluster, short_path: Path, restarts: int, cuts: int) -> None:
    dice = random.Random(cuts)
    with crawling_cluster(place, server, nodes.hosts) as machines:
        proxy = BreakingProxy(machines.url, short_path)
        machines.start("indexserver1", *CRAWLERS)
        machines.start("index1", WEFT_MGMT_URL=proxy.url)
        in_flight, faults = 0, ["cut"] * cuts + ["restart"] * restarts
        dice.shuffle(faults)
        for fault in faults:
            wait_for_batches(machines, 1)
            if fault == "cut":
                proxy.break_next = dice.choice(["before", "after"])
                machines.wait_for(lambda: not proxy.break_next, "a COMMIT")
            else:
                server.control("restart", "-m", dice.choice(["fast", "immediate"]))
                in_flight += machines.in_flight()
        machines.wait_for_the_end()
        assert not machines.dead(), machines.logs()
        assert proxy.broken == cuts
        check_cluster(machines, refetches=in_flight)
        machines.stop()
        proxy.close()


def test_restarts_of_postgresql_and_commits_without_an_answer_do_no_harm(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster, short_path: Path
) -> None:
    break_postgres(tmp_path, own_postgres, shared_nodes, short_path, restarts=2, cuts=6)


@pytest.mark.long
def test_many_restarts_of_postgresql_and_commits_without_an_answer_do_no_harm(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster, short_path: Path
) -> None:
    break_postgres(tmp_path, own_postgres, shared_nodes, short_path, restarts=6, cuts=16)


def test_checks_and_exports_during_a_crawl_hold_writing_and_find_nothing_wrong(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    with crawling_cluster(tmp_path, own_postgres, shared_nodes.hosts) as machines:
        machines.start(*ROLES)
        for command in (["verify"], ["digest"], ["export", "links", "--output", "links.jsonl"]):
            wait_for_batches(machines, 2)
            done = machines.weft(*command)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "writing to the index is held" in done.stderr
        wait_for_batches(machines, 1)
        machines.wait_for_the_end()
        check_cluster(machines, refetches=0)


@pytest.mark.long
def test_a_hold_whose_holder_was_killed_ends_by_itself(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    with crawling_cluster(tmp_path, own_postgres, shared_nodes.hosts) as machines:
        machines.start(*ROLES)
        for command in (["verify"], ["digest"], ["export", "links", "--output", "links.jsonl"]):
            wait_for_batches(machines, 2)
            kill_while_it_holds(machines, *command)
            machines.wait_for(lambda: "`weft " in machines.index_facts().get("waits_for", ""), "index1 to wait")
            began = time.monotonic()
            wait_for_batches(machines, 1)
            print(f"{command[0]}: written again after {time.monotonic() - began:.0f} s")
        machines.wait_for_the_end()
        check_cluster(machines, refetches=0)


def kill_while_it_holds(machines: Machines, *command: str) -> None:
    said = machines.place / "holder.said"
    words = [sys.executable, "-m", "weft", *command, "--home", str(machines.machines[1].home)]
    with said.open("w") as output, subprocess.Popen(words, cwd=machines.place, stderr=output) as process:
        machines.wait_for(lambda: "is held" in said.read_text(), "writing to be held")
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.long
def test_a_lost_node_is_noticed_by_nobody_and_without_a_quorum_everything_waits(
    tmp_path: Path, own_postgres: Server, three_nodes: Cluster
) -> None:
    second, third = three_nodes.node(2), three_nodes.node(3)
    # Not over before the last fault, however fast the machine is.
    slow: dict[str, object] = {"urlserver__req_host_per_sec": 0.4}
    with crawling_cluster(tmp_path, own_postgres, three_nodes.hosts, **slow) as machines:
        machines.start(*ROLES)
        wait_for_batches(machines, 2)
        third.kill()
        wait_for_batches(machines, 2)
        assert machines.weft("top").returncode == 0
        third.start()

        second.kill()
        third.kill()
        wait_until_it_waits(machines)
        # A request that met the first loss may be answered after all; the next one waits until it has no quorum.
        machines.wait_for(lambda: "cannot write now" in machines.weft("status").stdout, "status to say why")
        begun = last_seq(machines)
        check_that_readers_give_up(machines)
        second.start()
        machines.wait_for(lambda: last_seq(machines) > begun, "writing to go on")
        third.start()

        second.pause()
        third.pause()
        wait_until_it_waits(machines)
        machines.processes["index1"].terminate()
        assert machines.wait_for_death("index1") == 0, machines.logs()
        second.resume()
        third.resume()
        machines.start("index1")
        machines.wait_for_the_end()
        assert not machines.dead(), machines.logs()
        check_cluster(machines, refetches=0)


def check_that_readers_give_up(machines: Machines) -> None:
    """With a sentence, each after its own patience."""
    commands = [("top",), ("page", machines.web.url(0)), ("verify",)]
    with ThreadPoolExecutor(len(commands)) as pool:
        for refused in pool.map(lambda command: machines.weft(*command), commands):
            assert refused.returncode == 2, refused.stdout + refused.stderr
            assert "does not answer" in refused.stderr.splitlines()[-1]


def wait_until_it_waits(machines: Machines) -> None:
    machines.wait_for(lambda: "does not answer" in machines.index_facts().get("waits_for", ""), "index1 to wait")

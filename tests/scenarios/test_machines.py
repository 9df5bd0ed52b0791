"""Three machines crawl one web: the index is the one that a single machine makes, and there is only one."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.machines import NUMBERS, Machines
from support.machines_proof import check_all, crawling_machines
from support.mgmt_engines import Server
from support.weft_command import one_sentence


def test_three_machines_find_what_one_finds_and_a_lost_index_is_built_again_from_their_archives(
    tmp_path: Path, own_postgres: Server
) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        machines.start_all()
        machines.wait_for_the_end()
        assert all(machines.fetched_by(number) for number in NUMBERS), "every spider has fetched some pages"
        check_all(machines)
        names = {item["machine"] for item in machines.told("nodes", machine=2)["items"]}
        assert names == {machine.name for machine in machines.machines.values()}
        lose_the_index(machines)
        machines.start("index1")
        machines.wait_for_the_end()
        check_all(machines, refetches=0)


def lose_the_index(machines: Machines) -> None:
    machines.kill("index1")
    shutil.rmtree(machines.machines[1].home / "store")
    machines.wait_for(lambda: machines.is_given_up("index1"), "the lease of the lost one to end")
    done = machines.weft("restore", "--new-index")
    assert done.returncode == 0, done.stderr


def test_a_second_index_is_refused_whether_the_first_one_runs_or_not(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        machines.start("index1")
        machines.wait_for(lambda: machines.node("index1"), "the index process to register")
        second = machines.weft("run", "index", machine=2)
        assert second.returncode == 2, second.stdout + second.stderr
        assert "machine1" in one_sentence(second)
        machines.kill("index1")
        later = machines.weft("run", "index", machine=3)
        assert later.returncode == 2, later.stdout + later.stderr
        assert "machine1" in one_sentence(later)

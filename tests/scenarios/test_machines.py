"""Three machines crawl one web: the index is the one that a single machine makes."""

from __future__ import annotations

from pathlib import Path

from support.machines import NUMBERS
from support.machines_proof import check_all, crawling_machines
from support.mgmt_engines import Server


def test_three_machines_find_what_one_finds(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        machines.start_all()
        machines.wait_for_the_end()
        assert all(machines.fetched_by(number) for number in NUMBERS), "every spider has fetched some pages"
        check_all(machines)

"""Which of several index processes owns the index of a cluster, and who stands by."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import psycopg

from support.machines import NUMBERS, Machines

_OWNER = """
SELECT host.machine FROM bucket JOIN host ON host."index" = bucket.node
WHERE host.epoch = bucket.node_epoch AND host.state <> 'offline'
"""


def owner(machines: Machines) -> str:
    """`index2`; empty: nobody."""
    with psycopg.connect(machines.url) as connection:
        found = connection.execute(_OWNER).fetchone()
    return next((f"index{number}" for number in NUMBERS if found and found[0] == machines.machines[number].name), "")


def stands_by(machines: Machines, name: str) -> bool:
    return bool(machines.index_facts(machines.of(name).number).get("stands_by"))


def wait_until_standing_by(machines: Machines, *names: str) -> None:
    for name in names:
        machines.wait_for(lambda name=name: stands_by(machines, name), f"{name} to stand by")  # type: ignore[misc]


def wait_for_owner(machines: Machines, names: Iterable[str]) -> str:
    """Until one of these owns the index."""
    wanted = set(names)
    machines.wait_for(lambda: owner(machines) in wanted, f"one of {sorted(wanted)} to own the index")
    return owner(machines)


def is_frozen(machines: Machines, name: str) -> bool:
    """Whether the operating system has stopped it."""
    pid = machines.processes[name].pid
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def seconds_until_owned(machines: Machines, names: Iterable[str]) -> tuple[str, float]:
    """The next owner, and how long that took."""
    began = time.monotonic()
    return wait_for_owner(machines, names), time.monotonic() - began

"""What every test may use: settings of hypothesis for two cores, and a fresh home."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

import weft
from support.archive_tools import jwarc, pywb  # noqa: F401 - fixtures
from support.cassandra import cassandra_hosts, found_cassandra, found_nodes, shared_nodes, three_nodes  # noqa: F401 - fixtures
from support.mgmt_engines import engine, mgmt, own_postgres, postgres_server, postgres_url  # noqa: F401 - fixtures
from support.nginx_program import nginx_program  # noqa: F401 - a fixture

# Programs that tests start import `support` too, and run the same weft as the tests.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), str(Path(weft.__file__).parents[1])])
# A shell starts background jobs with Ctrl-C ignored; processes would inherit that, and tests interrupt some of them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("quick", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the scenarios evenly among all other files: they wait for leases and polite delays while others compute.

    Whole files are moved, so that what a file shares is made once.
    """
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    waiting = [file for file in files if file[0].path.parent.name == "scenarios"]
    computing = [test for file in files if file[0].path.parent.name != "scenarios" for test in file]
    if not waiting or not computing:
        return
    # A scenario's place is how many of the other tests come before it.
    spread = [(number * len(computing) // len(waiting), file) for number, file in enumerate(waiting)]
    ordered, done = [], 0
    for place, file in spread:
        while done < len(computing) and (done < place or (done and computing[done].path == computing[done - 1].path)):
            ordered.append(computing[done])
            done += 1
        ordered += file
    items[:] = ordered + computing[done:]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """For a socket: the operating system takes no long ones."""
    with TemporaryDirectory(prefix="weft-") as directory:
        yield Path(directory)


@pytest.fixture
def make_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of its own of some size, such as 8m: for filling up."""
    made: list[Path] = []

    def make(size: str) -> Path:
        disk = tmp_path / f"disk{len(made)}"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a small tmpfs (root)")
        made.append(disk)
        return disk

    yield make
    for disk in made:
        subprocess.run(["umount", "--lazy", disk], check=True)

"""A supervisor that is killed: its roles finish what they hold and end, and the next crawl continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.whole_crawl import (
    SETS,
    check_against_the_truth,
    check_manners,
    check_proof,
    crawl,
    logs,
    role_processes,
    served_for,
)
from weft.roles.status_file import last_status

PATIENCE = 120.0
# Slow enough that much is left to do when the supervisor dies.
SLOW = ["--set", "urlserver.req_host_per_sec=2.0"]
GONE_WITHIN = 30.0
"""Ten seconds to stop in order and eight to stop at once, on a machine that other tests keep busy."""


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


@pytest.mark.parametrize("command", ["crawl", "up"])
def test_roles_end_with_a_supervisor_that_is_killed_and_nothing_is_lost(tmp_path: Path, command: str) -> None:
    with served_for(tmp_path) as served:
        home = tmp_path / "home"
        if command == "up":
            crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "1")
        words = [served.url(0), "--scope", "any"] if command == "crawl" else []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        with (tmp_path / "crawl.out").open("wb") as output:
            supervisor = subprocess.Popen(
                [sys.executable, "-m", "weft", command, *words, "--home", str(home), *SETS, *SLOW],
                env=clean,
                stdout=output,
                stderr=output,
            )
        try:
            asked = served.count()
            wait_until(lambda: (last_status(home, "index") or {}).get("pages"), PATIENCE, "pages")
            wait_until(lambda: served.count() > asked + 5, PATIENCE, "requests")
            assert len(role_processes(tmp_path)) == 5
            os.kill(supervisor.pid, signal.SIGKILL)
            supervisor.wait()
            wait_until(lambda: not role_processes(tmp_path), GONE_WITHIN, f"the roles to end\n{logs(tmp_path)}")
        finally:
            supervisor.kill()
            for pid in role_processes(tmp_path).values():
                os.kill(pid, signal.SIGKILL)
        for role in ("urlserver", "spider", "index"):
            assert "the supervisor is gone" in (home / f"logs/{role}.log").read_text()
        assert (last_status(home, "index") or {})["ended"], "in order, not by force"
        crawl(tmp_path, "--scope", "any")
        check_against_the_truth(served, tmp_path)
        check_manners(served, tmp_path)
        check_proof(tmp_path)

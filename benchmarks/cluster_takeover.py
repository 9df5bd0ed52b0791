"""How long an index has no owner: the owner is killed, and the process that stands by takes over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from cluster_places import Place
from weft.clock import SystemClock
from weft.store.cassandra.address import parse_address
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.schema import make_keyspace

LEASE, HEARTBEAT = 5.0, 1.0
_PATIENCE = 90.0
_OWNS = "index runs from seq"


class Owner:
    """An index process in a home of its own."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "weft.toml").touch()
        self.said = home / f"said-{time.monotonic_ns()}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        environment = {**clean, **settings, "WEFT_MGMT_MACHINE": home.name}
        command = [sys.executable, "-m", "weft", "run", "index", "--home", str(home), "--workers", "1"]
        with self.said.open("wb") as output:
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    def wait_for(self, words: str) -> float:
        """The moment at which it said so."""
        until = time.monotonic() + _PATIENCE
        while words not in self.said.read_text(errors="replace"):
            if time.monotonic() > until or self.process.poll() is not None:
                raise SystemExit(f"an index process never said {words!r}:\n{self.said.read_text()[-2000:]}")
            time.sleep(0.02)
        return time.monotonic()

    def kill(self) -> float:
        self.process.kill()
        self.process.wait()
        return time.monotonic()


def takeovers(place: Place, times: int) -> list[float]:
    """Seconds from the kill to the next owner, one after the other."""
    url = place.new_store_url()
    session = ClusterSession(parse_address(url), patience=60.0)
    settings = {
        "WEFT_STORE_URL": url,
        "WEFT_MGMT_URL": place.new_mgmt_url(),
        "WEFT_MGMT_LEASE": str(LEASE),
        "WEFT_MGMT_HEARTBEAT": str(HEARTBEAT),
    }
    homes = [place.directory / "owner-a", place.directory / "owner-b"]
    running: list[Owner] = []
    try:
        make_keyspace(session, place.replication, SystemClock().now())
        running.append(Owner(homes[0], settings))
        running[0].wait_for(_OWNS)
        found = []
        for number in range(times):
            running.append(Owner(homes[(number + 1) % 2], settings))
            running[-1].wait_for("standing by")
            killed = running[-2].kill()
            found.append(running[-1].wait_for(_OWNS) - killed)
        return found
    finally:
        for each in running:
            each.kill()
        session.run(f"DROP KEYSPACE IF EXISTS {session.address.keyspace}")
        session.close()

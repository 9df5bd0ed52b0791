"""One node of a cluster, which can be stopped, killed, paused and started again on its own."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tools.cassandra.addresses import MANAGEMENT_PORT, NATIVE_PORT, STORAGE_PORT, accepts
from tools.cassandra.kept_process import KeptProcess
from tools.cassandra.problems import NoCassandraError

_HERE = Path(__file__).parent
_PATIENCE = 240.0


@dataclass(frozen=True)
class Launch:
    """How nodes are started. They end when the process `owner` ended; 0: only when they are stopped."""

    java: str
    jars: Path
    heap: int
    owner: int = 0
    remove: Path | None = None  # a directory that goes when the owner ended
    is_brief: bool = False


class Node:
    """Its log and its data are in `place`. `peers` are the other nodes."""

    def __init__(self, place: Path, address: str) -> None:
        self.place = place
        self.address = address
        self.log = place / "system.log"
        self.peers: list[Node] = []
        self._process = KeptProcess(place)
        self._launch: Launch | None = None
        self._paused = False
        # Where each log ended when this node was started: only what it says afterwards counts.
        self._since: dict[Path, int] = {}

    @property
    def launched(self) -> Launch:
        """How it was started."""
        assert self._launch is not None
        return self._launch

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def start(self) -> None:
        """Start it as before, and return when it is up."""
        self.launch(self.launched)
        self.wait_until_up()

    def launch(self, launch: Launch) -> None:
        """Start it and return at once."""
        self._launch, self._paused = launch, False
        self._since = {node.log: _size(node.log) for node in (self, *self.peers)}
        (self.place / "tmp").mkdir(exist_ok=True)
        self._process.start(self._command(launch), launch.owner, launch.remove)

    def ask_to_stop(self) -> None:
        self.resume()
        self._process.send(signal.SIGTERM)

    def stop(self, patience: float = 60.0) -> None:
        """Ask it to stop and wait; kill it after `patience` seconds. Harmless if it does not run."""
        self._process.end(signal.SIGTERM, patience)

    def kill(self) -> None:
        self._process.end(signal.SIGKILL, _PATIENCE)

    def pause(self) -> None:
        self._paused = True
        self._process.send(signal.SIGSTOP)

    def resume(self) -> None:
        self._paused = False
        self._process.send(signal.SIGCONT)

    def wait_until_up(self, patience: float = _PATIENCE) -> None:
        """Until it accepts clients, and the other running nodes and it see each other."""
        until = time.monotonic() + patience
        while not self._is_up():
            if not self.is_running:
                raise NoCassandraError(f"Node {self.address} ended while it started: {self._last_words()}")
            if time.monotonic() > until:
                raise NoCassandraError(f"Node {self.address} is not up after {patience:.0f} s; its log is {self.log}.")
            time.sleep(0.1)

    def wait_until_down(self, patience: float = _PATIENCE) -> None:
        """Until the other running nodes take it for dead, some 20 s after it was killed or paused.

        Before that they still wait for its answers, and a query may time out that had enough replicas.
        """
        until = time.monotonic() + patience
        while any(peer.sees(self) for peer in self._others()):
            if time.monotonic() > until:
                raise NoCassandraError(f"Node {self.address} is not seen as down after {patience:.0f} s.")
            time.sleep(0.1)

    def sees(self, peer: Node) -> bool:
        """Whether it takes the peer for alive, by its log since both were started."""
        start = max(self._since.get(self.log, 0), peer._since.get(self.log, 0))
        said = rf"InetAddress /{re.escape(peer.address)}:{STORAGE_PORT} is now (UP|DOWN)"
        return re.findall(said, _text(self.log, start))[-1:] == ["UP"]

    def nodetool(self, *words: str) -> str:
        """What Cassandra's own tool prints, for example for `flush` or `repair`; takes a second or two."""
        tool = [self.launched.java, f"@{_HERE}/modules.options", "-Xmx64M", f"-Duser.home={self.place}"]
        tool += ["-cp", f"{self.launched.jars}/*", "org.apache.cassandra.tools.NodeTool"]
        tool += ["-h", self.address, "-p", str(MANAGEMENT_PORT), *words]
        done = subprocess.run(tool, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        if done.returncode:
            raise NoCassandraError(f"nodetool {' '.join(words)} failed at {self.address}: {done.stdout}{done.stderr}")
        return done.stdout

    def tables(self, keyspace: str) -> list[Path]:
        """Directories with the files of each table."""
        return sorted((self.place / "data" / keyspace).iterdir())

    def _is_up(self) -> bool:
        if not accepts(self.address, NATIVE_PORT):
            return False
        return all(self.sees(peer) and peer.sees(self) for peer in self._others())

    def _others(self) -> list[Node]:
        return [peer for peer in self.peers if peer.is_running and not peer._paused]

    def _command(self, launch: Launch) -> list[str]:
        return [
            launch.java,
            f"@{_HERE}/modules.options",
            f"@{_HERE}/node.options",
            f"-Xms{launch.heap}M",
            f"-Xmx{launch.heap}M",
            *(["-XX:TieredStopAtLevel=1"] if launch.is_brief else []),
            f"-Dcassandra.config=file://{self.place}/cassandra.yaml",
            f"-Dcassandra.storagedir={self.place}",
            f"-Dlogback.configurationFile={_HERE}/logback.xml",
            f"-Dweft.log={self.log}",
            f"-Djava.io.tmpdir={self.place}/tmp",
            f"-Djava.rmi.server.hostname={self.address}",
            # Java's own agent, because Cassandra's listens on 127.0.0.1 alone, where nodes would clash.
            f"-Dcom.sun.management.jmxremote.host={self.address}",
            f"-Dcom.sun.management.jmxremote.port={MANAGEMENT_PORT}",
            f"-Dcom.sun.management.jmxremote.rmi.port={MANAGEMENT_PORT}",
            "-cp",
            f"{launch.jars}/*",
            "org.apache.cassandra.service.CassandraDaemon",
        ]

    def _last_words(self) -> str:
        said = [line for line in _text(self.log, self._since.get(self.log, 0)).splitlines() if " ERROR " in line]
        said = said or _text(self._process.output, 0).splitlines() or ["nothing"]
        return f"{said[-1][:300]} (logs in {self.place})"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _text(path: Path, start: int) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")

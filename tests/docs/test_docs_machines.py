"""docs/machines.md is followed from top to bottom, with the page's own settings, on three loopback addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machines_proof import WEB, one_machine
from support.mgmt_engines import Server
from support.page_reader import MACHINES, Reader, blocks
from support.weft_command import weft
from weft.demo.web.server.serving import serving

PAGE = (Path(__file__).resolve().parents[2] / "docs/machines.md").read_text(encoding="utf-8")


@pytest.fixture
def reader(tmp_path: Path, own_postgres: Server) -> Iterator[Reader]:
    one_machine(WEB)  # before the same port is taken here
    with serving(WEB, tmp_path / "web.log") as web:
        made = Reader(PAGE, tmp_path, own_postgres, web, ("127.0.0.2", "127.0.0.3", "127.0.0.4"))
        made.make_database()
        yield made
        made.end()


def test_whoever_follows_the_page_has_three_machines_that_crawl(reader: Reader, tmp_path: Path) -> None:
    make, start, start_others, look, check = blocks(PAGE, "sh")
    reader.follow(make)
    reader.write_settings()
    reader.follow(start)
    reader.follow(start_others)
    reader.wait_for_the_end(tmp_path / "crawl1")
    reader.follow(look)
    reader.follow(check)
    for machine in MACHINES:
        listed = reader.printed[f"{machine}: nodes"]
        assert all(name in listed for name in MACHINES), listed
        assert listed.count("Spider") == 3, listed
    assert weft("digest", "--home", "crawl1", cwd=tmp_path).stdout.strip() == one_machine(WEB).digest
    done = weft("stop", "--all", "--home", "crawl1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: process.wait(30) for name, process in reader.roles.items()} == dict.fromkeys(reader.roles, 0)

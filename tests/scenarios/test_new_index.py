"""A lost index is built again from the archive, without a single request; a run ends when it is asked to drain."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from support.weft_command import one_sentence, weft
from support.whole_crawl import SETS, check_against_the_truth, check_proof, crawl, served_for, told
from weft.demo.web.server.serving import Served


def digest(place: Path) -> str:
    return str(told(place, "digest")["digest"])


def test_a_lost_index_is_built_again_from_the_archive(tmp_path: Path) -> None:
    with served_for(tmp_path) as served:
        crawl(tmp_path, served.url(0), "--scope", "any")
        before, requests = digest(tmp_path), served.count()
        shutil.move(tmp_path / "home/store", tmp_path / "damaged")

        refused = weft("crawl", "--home", "home", *SETS, cwd=tmp_path)
        assert refused.returncode == 2, refused.stdout
        assert "is not the index of sqlite:" in refused.stderr
        assert "weft restore --new-index" in refused.stderr

        done = weft("restore", "--new-index", "--home", "home", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "will be built again from the archives" in done.stdout
        crawl(tmp_path)
        assert digest(tmp_path) == before
        assert served.count() == requests, "nothing was fetched"
        check_against_the_truth(served, tmp_path)
        check_proof(tmp_path)

        again = weft("restore", "--new-index", "--home", "home", cwd=tmp_path)
        assert again.returncode == 2
        assert "is not empty" in one_sentence(again)


def test_a_run_ends_when_its_processes_are_asked_to_drain(tmp_path: Path) -> None:
    with served_for(tmp_path) as served:
        running = begin(served, tmp_path)
        try:
            wait_for_pages(tmp_path)
            done = weft("stop", "--all", "--home", "home", cwd=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
            assert running.wait(60) == 0
            assert "its processes were asked to drain" in (tmp_path / "crawl.out").read_text()
        finally:
            running.kill()
            running.wait()
        crawl(tmp_path)  # the request is over
        check_against_the_truth(served, tmp_path)


def begin(served: Served, place: Path) -> subprocess.Popen[bytes]:
    slow = ["--set", "urlserver.req_host_per_sec=1.0"]
    words = ["crawl", served.url(0), "--scope", "any", "--home", "home", *SETS, *slow]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with (place / "crawl.out").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "weft", *words], cwd=place, env=clean, stdout=output, stderr=output
        )


def wait_for_pages(place: Path) -> None:
    end = time.monotonic() + 60
    while not told(place, "status")["index"]["pages"]:
        assert time.monotonic() < end
        time.sleep(0.2)

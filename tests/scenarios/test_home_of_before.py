"""A home that an earlier weft made, and the way out of it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from support.weft_command import weft
from support.whole_crawl import crawl, served_for, told
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.store.directory import MARKER


def test_a_home_of_before_is_refused_and_its_archive_makes_a_new_one(tmp_path: Path) -> None:
    with served_for(tmp_path, WebPlan(seed=3, hosts=1, pages=4, profile=PROFILES["plain"])) as served:
        crawl(tmp_path, served.url(0))
    digest, pages = told(tmp_path, "digest"), told(tmp_path, "top")["items"]
    (tmp_path / "home/store" / MARKER).write_text(json.dumps({"weft": "store", "engine": "rocksdb", "format": 1}))
    for command in ("top", "crawl"):
        refused = weft(command, "--home", "home", cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    found = re.search("`weft (.*)`", refused.stderr)
    assert found
    *arguments, files = shlex.split(found[1])
    archive = [str(file) for file in tmp_path.glob(files)]
    done = weft(*arguments, *archive, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "home").rename(tmp_path / "before")
    (tmp_path / "NEW").rename(tmp_path / "home")
    assert told(tmp_path, "digest")["digest"] == digest["digest"]
    assert told(tmp_path, "top")["items"] == pages

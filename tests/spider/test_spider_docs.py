"""docs/spider.md and docs/archive.md say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from weft.archive import cdxj
from weft.config import KEYS
from weft.model.fetch_error import FetchError

DOCS = Path(__file__).parents[2] / "docs"
SPIDER, ARCHIVE = ((DOCS / name).read_text(encoding="utf-8") for name in ("spider.md", "archive.md"))
SOURCES = [file for name in ("spider", "archive") for file in (DOCS.parent / "src/weft" / name).glob("*.py")]


def test_every_class_of_an_end_is_listed_once_with_whether_it_is_archived():
    rows = dict(re.findall(r"^\| `(\w+)` \| (yes|no|the head|the part received) \|", SPIDER, re.MULTILINE))
    assert set(rows) <= set(map(str, FetchError))
    archived = {name for name, archived in rows.items() if archived != "no"}
    assert archived == {FetchError.TOO_LARGE, FetchError.UNWANTED_TYPE, FetchError.BOMB, FetchError.BAD_ENCODING}


def test_every_setting_that_is_named_exists():
    named = re.findall(r"`\[(\w+)\] (\w+)`", SPIDER + ARCHIVE)
    assert named
    assert [pair for pair in named if ".".join(pair) not in KEYS] == []


def test_the_failpoints_are_those_in_the_code():
    listed = re.findall(r"`((?:spider|archive)\.\w+)`", SPIDER.partition("## Failpoints")[2])
    source = "".join(file.read_text() for file in SOURCES)
    assert sorted(listed) == sorted(re.findall(r'failpoints\.point\("([\w.]+)"\)', source))


def test_the_index_line_is_one_that_the_archive_writes():
    (example,) = re.findall(r"^    (com,example\).*)$", ARCHIVE, re.MULTILINE)
    key, moment, text = example.split(" ", 2)
    fields = json.loads(text)
    capture = cdxj.Capture(fields["url"], moment, fields["mime"], int(fields["status"]), fields["digest"])
    position = cdxj.RecordPosition(fields["filename"], int(fields["offset"]), int(fields["length"]))
    assert cdxj.line(capture, position) == f"{example}\n".encode()
    assert key == "com,example)/a?b=1"

"""What grows, how fast, and what bounds it: said before anything is dropped."""

from __future__ import annotations

import time
from pathlib import Path

from weft.answers.growth import growth, growth_lines, home_sizes, note_sizes
from weft.config import Settings
from weft.config.sections import ArchiveSettings, IndexSettings, SpiderSettings
from weft.roles.status_file import last_status, write_status

DAY = 86_400
GB = 10**9


def settings(**archive: int) -> Settings:
    spider = SpiderSettings(min_free=0)
    return Settings(archive=ArchiveSettings(**archive), spider=spider, index=IndexSettings(keep_bytes=2000))


def archive_of(home: Path, size: int) -> None:
    (home / "warc").mkdir(exist_ok=True)
    (home / "warc" / "weft-20260101000000-00001-1-a.warc.gz").write_bytes(b"x" * size)


def noted(home: Path, *notes: tuple[float, dict[str, int]]) -> None:
    """So many days ago, the parts had these sizes."""
    now = time.time()
    write_status(home, "growth", {"notes": [{"at": now - ago * DAY, "sizes": sizes} for ago, sizes in notes]})


def test_growth_is_what_came_a_day_and_tells_when_the_bound_is_reached(tmp_path: Path) -> None:
    archive_of(tmp_path, 3000)
    noted(tmp_path, (2, {"archive": 1000}), (1, {"archive": 2000, "history": 500}))
    found = growth(tmp_path, settings(keep_bytes=5000), free=7000)
    part = found.parts["archive"]
    assert (part.bytes, round(part.per_day or 0), part.bound, part.limit) == (3000, 1000, "archive.keep_bytes", 5000)
    assert round((part.reached_in or 0) / DAY, 2) == 2
    assert round(found.days_left or 0, 1) == 7
    lines = list(growth_lines(found))
    assert (
        "archive 3 kB, grows 1 kB a day; archive.keep_bytes (5 kB) is reached in 2 days, then the oldest captures go"
        in lines
    )
    assert "disk is full in 7 days if all grows on" in lines


def test_what_was_dropped_on_purpose_is_no_shrinking(tmp_path: Path) -> None:
    archive_of(tmp_path, 3000)
    noted(tmp_path, (2, {"archive": 1000}), (1.5, {"archive": 4000}), (1.4, {"archive": 2000}))
    assert round(growth(tmp_path, settings(), 1).parts["archive"].per_day or 0) == 2000


def test_a_bound_that_is_reached_is_told_as_such(tmp_path: Path) -> None:
    archive_of(tmp_path, 3000)
    noted(tmp_path, (1, {"archive": 3000, "history": 2500}))
    write_status(tmp_path, "index", {"store": {"history_bytes": 2500}})
    found = growth(tmp_path, settings(keep_bytes=2000, keep_days=90, keep_captures=5), 1)
    assert found.parts["archive"].reached_in == 0
    lines = list(growth_lines(found))
    assert "archive 3 kB, grows 0 kB a day; archive.keep_bytes (2 kB) is reached, the oldest captures go" in lines
    assert "history 2 kB, grows 0 kB a day; index.keep_bytes (2 kB) is reached, the oldest changes go" in lines
    assert any(line.startswith("archive.keep_days is 90: the oldest file was begun ") for line in lines)
    assert "archive.keep_captures is 5: older captures of a page go" in lines


def test_nothing_is_foretold_before_anything_was_measured(tmp_path: Path) -> None:
    archive_of(tmp_path, 3000)
    noted(tmp_path, (0.0001, {"archive": 1}))
    found = growth(tmp_path, settings(keep_bytes=5000), 10)
    assert (found.parts["archive"].per_day, found.days_left, found.measured) == (None, None, 0)
    assert "archive 3 kB; archive.keep_bytes (5 kB) bounds it" in list(growth_lines(found))


def test_notes_stay_few_however_long_weft_runs(tmp_path: Path) -> None:
    archive_of(tmp_path, 10)
    noted(tmp_path, *((6 - number / 1000, {"archive": number}) for number in range(1000)))
    for _ in range(3):
        note_sizes(tmp_path, home_sizes(tmp_path, tmp_path / "warc"))
    facts = last_status(tmp_path, "growth")
    assert facts is not None
    assert len(facts["notes"]) <= 300
    assert facts["notes"][-1]["sizes"]["archive"] == 10


def test_what_a_file_says_that_is_no_note_is_passed_over(tmp_path: Path) -> None:
    archive_of(tmp_path, 10)
    write_status(tmp_path, "growth", {"notes": [1, {"at": 5}, None]})
    assert growth(tmp_path, settings(), 10).parts["archive"].bytes == 10

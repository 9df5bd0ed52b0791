"""Free space on the disk that the archive is on."""

from __future__ import annotations

from pathlib import Path

from weft.answers.disk import Disk, look_at_disk, size


def test_the_disk_is_low_below_the_setting_and_says_so(tmp_path: Path) -> None:
    found = look_at_disk(tmp_path / "not" / "there" / "yet", 0)
    assert (found.is_low, found.free > 0) == (False, True)
    assert str(Disk(5_000_000, 512 << 20)) == "5.0 MB free, fetching waits until there are 536.9 MB (spider.min_free)"
    assert [size(n) for n in (1500, 2_500_000, 7_310_000_000)] == ["2 kB", "2.5 MB", "7.3 GB"]

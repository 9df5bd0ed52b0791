"""Pages that take the parser long: others get into the index beside them; over the deadline they are put aside."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from support.crawled_home import WatchedIndex, fill_home, index_process
from weft.errors import NotKnown

SLOW = b"<a>" * 2_500_000
"""Takes the parser about two seconds."""
GOOD_A_SLOW_ONE = 4


def pages(slow: int) -> Iterator[tuple[str, bytes]]:
    """Every chunk has slow pages of one host, and they come first."""
    for number in range(slow):
        yield f"https://a-slow.com/{number}", SLOW
        for other in range(GOOD_A_SLOW_ONE):
            yield f"https://good{number}.com/{other}", b"<title>Good</title><a href=/>up</a>"


def loaded(home: Path, urls: list[str]) -> int:
    """How many of these pages are in the answers now."""
    found = 0
    with weft.open(home) as index:
        for url in urls:
            try:
                found += index.page(url).crawled
            except NotKnown:
                continue
    return found


def wait_for_all(home: Path, urls: list[str], index: WatchedIndex, seconds: float) -> None:
    index.until_built(len(urls), seconds)
    end = time.monotonic() + seconds
    while loaded(home, urls) < len(urls):
        assert time.monotonic() < end, "the good pages are not all there"
        time.sleep(0.2)


@pytest.mark.long
def test_sixty_slow_pages_hold_up_no_other_page(tmp_path: Path) -> None:
    home = tmp_path / "home"
    count = fill_home(home, pages(60))
    slow = [f"https://a-slow.com/{number}" for number in range(60)]
    good = [f"https://good{number}.com/{other}" for number in range(60) for other in range(GOOD_A_SLOW_ONE)]
    with index_process(home) as index:
        wait_for_all(home, good, index, 200.0)
        assert loaded(home, slow) < 30
        assert index.until_built(count, 400.0)["pages"] == count


@pytest.mark.long
def test_slow_pages_over_the_deadline_are_put_aside_and_the_others_are_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    count = fill_home(home, pages(10))
    with index_process(home, "--set", "limits.parse_seconds=0.5") as index:
        facts = index.until_built(count, 200.0)
    assert (facts["results"], facts["pages"]) == (count, count - 10)

"""Pages that are made to cost the index much: its process stays within its memory, and other pages get in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.crawled_home import fill_home, index_process
from support.weft_command import weft

MOST = 600 << 20
"""Bytes that the index process may hold."""


def heavy(number: int, links: int, length: int) -> tuple[str, bytes]:
    """A page whose links are long and lead to pages that no other page links to."""
    hrefs = (f"https://t{number}.com/{n}-".ljust(length, "x") for n in range(links))
    return f"https://heavy{number}.com/", "".join(f"<a href={href}>w</a>" for href in hrefs).encode()


def webs(pages: int, links: int, length: int) -> Iterator[tuple[str, bytes]]:
    for number in range(pages):
        yield heavy(number, links, length)
        yield f"https://innocent{number}.com/", b"<title>Innocent</title><a href=/x>x</a>"


@pytest.mark.long
def test_sixty_pages_of_nine_megabytes_do_not_fill_the_memory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    count = fill_home(home, webs(60, 10_000, 900))
    with index_process(home) as index:
        facts = index.until_built(count, 280.0)
        assert facts["pages"] == count
        assert index.peak < MOST, f"{index.peak >> 20} MB"
    assert '"differences": 0' in weft("verify", "--json", "--home", "home", cwd=tmp_path).stdout


def test_heavy_pages_are_cut_and_loaded_with_their_neighbours(tmp_path: Path) -> None:
    home = tmp_path / "home"
    count = fill_home(home, webs(2, 5_000, 900))
    with index_process(home) as index:
        assert index.until_built(count, 120.0)["pages"] == count
    shown = weft("page", "https://heavy0.com/", "--home", "home", cwd=tmp_path).stdout
    assert "left_out" in shown
    assert weft("page", "https://innocent1.com/x", "--home", "home", cwd=tmp_path).returncode == 0

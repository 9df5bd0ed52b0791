"""`weft import --bulk`: the same index as page by page, and nothing of it before all of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Pages that come twice, change, vanish and link to each other."""
    dice = random.Random(1)
    names = [f"https://site{n % 7}.com/{n}" for n in range(120)]
    lines = []
    for day in (1, 2, 3):
        for name in names:
            fetched = f"2026-01-0{day}T00:00:00Z"
            if dice.random() < 0.05:
                lines.append({"url": name, "fetched": fetched, "deleted": True})
            elif day == 1 or dice.random() < 0.5:
                links = [{"url": dice.choice(names), "text": f"words {dice.randrange(9)}"} for _ in range(8)]
                lines.append({"url": name, "fetched": fetched, "title": name, "links": links})
    dice.shuffle(lines)
    file = tmp_path / "pages.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def digest(place: Path, home: str) -> str:
    verified = weft("verify", "--search", "--home", home, cwd=place)
    assert verified.returncode == 0, verified.stdout
    return weft("digest", "--home", home, cwd=place).stdout


def test_bulk_and_page_by_page_give_the_same_index(pages: Path, tmp_path: Path) -> None:
    whole = weft("import", str(pages), "--bulk", "--home", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    weft("import", str(pages), "--incremental", "--home", "single", cwd=tmp_path)
    assert digest(tmp_path, "whole") == digest(tmp_path, "single")
    assert json.loads(weft("changes", "--json", "--home", "whole", cwd=tmp_path).stdout)["baseline"]["references"] > 0


def test_a_large_input_into_an_empty_index_is_taken_in_at_once(pages: Path, tmp_path: Path) -> None:
    small = ("--set", "index.bulk_bytes=1000")
    first = weft("import", str(pages), "--home", "home", *small, cwd=tmp_path)
    assert "building the index" in first.stderr
    again = weft("import", str(pages), "--home", "home", *small, cwd=tmp_path)
    assert "building the index" not in again.stderr
    assert again.returncode == 0


@pytest.mark.parametrize("point", ["store.ingest.before:1:kill", "store.ingest.after:1:kill"])
def test_a_kill_leaves_nothing_or_all_and_the_next_import_is_exact(pages: Path, tmp_path: Path, point: str) -> None:
    killed = weft("import", str(pages), "--bulk", "--home", "home", cwd=tmp_path, WEFT_FAIL=point)
    assert killed.returncode == -9
    weft("import", str(pages), "--home", "home", cwd=tmp_path)
    weft("import", str(pages), "--incremental", "--home", "single", cwd=tmp_path)
    assert digest(tmp_path, "home") == digest(tmp_path, "single")


def test_an_index_with_pages_is_refused(pages: Path, tmp_path: Path) -> None:
    weft("import", str(pages), "--limit", "1", "--home", "home", cwd=tmp_path)
    refused = weft("import", str(pages), "--bulk", "--home", "home", cwd=tmp_path)
    assert refused.returncode == 2
    assert "needs an empty index" in one_sentence(refused)


def test_a_full_disk_leaves_the_index_empty(pages: Path, make_disk) -> None:
    disk = make_disk("3m")
    lines = pages.read_text().splitlines()
    large = disk.parent / "large.jsonl"
    noise = random.Random(2)
    with large.open("w") as file:
        for number in range(4000):
            line = json.loads(lines[number % len(lines)])
            file.write(
                json.dumps({**line, "url": f"https://x.com/{number}", "text": noise.randbytes(700).hex()}) + "\n"
            )
    refused = weft("import", str(large), "--bulk", "--home", str(disk / "home"), cwd=disk.parent)
    assert refused.returncode == 2
    assert "disk is full" in refused.stderr
    top = weft("top", "--home", str(disk / "home"), cwd=disk.parent)
    assert top.returncode == 2 or "0 pages known" in top.stdout

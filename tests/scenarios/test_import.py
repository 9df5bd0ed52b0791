"""Imports as a user runs them: killed and resumed, fed with rubbish, cut off, repeated."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from support.import_kills import leave_unfinished
from support.weft_command import one_sentence, weft

SAMPLE: list[dict[str, Any]] = [
    {"url": "https://a.com/page1", "links": [{"url": "https://c.com/", "text": "C"}, {"url": "https://b.com/"}]},
    {"url": "https://b.com/", "links": [{"url": "https://c.com/page1"}, {"url": "https://c.com"}]},
    {"url": "https://d.com/", "fetched": "2026-01-31T12:00:00Z", "links": [{"url": "https://c.com/"}]},
]


def lines(pages: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(page) + "\n" for page in pages)


def generated(count: int, seed: int = 1) -> str:
    """Pages that come again and again in other versions, some of them deleted."""
    chance = random.Random(seed)
    made: list[dict[str, object]] = []
    for _ in range(count):
        url = f"https://s{chance.randrange(20)}.com/{chance.randrange(40)}"
        at = f"2026-01-01T00:00:{chance.randrange(60):02d}Z"
        if chance.random() < 0.1:
            made.append({"url": url, "deleted": True, "fetched": at})
            continue
        targets = [f"http://s{chance.randrange(20)}.com/{chance.randrange(40)}" for _ in range(chance.randrange(9))]
        links = [{"url": target, "text": chance.choice("xyz")} for target in targets]
        made.append({"url": url, "fetched": at, "title": chance.choice("TU"), "text": "words " * 20, "links": links})
    return lines(made)


def answer(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def digest(cwd: Path) -> object:
    return answer(weft("digest", "--json", cwd=cwd))["digest"]


def test_the_documents_sample_is_imported_and_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "sample.jsonl").write_text(lines(SAMPLE))
    first = answer(weft("import", "sample.jsonl", "--json", cwd=tmp_path))
    assert (first["pages"], first["changed"], first["links"], first["skipped"]) == (3, 3, 5, 0)
    before = digest(tmp_path)
    second = answer(weft("import", "sample.jsonl", "--json", cwd=tmp_path))
    assert (second["changed"], second["unchanged"], second["ignored"]) == (0, 2, 1)
    assert digest(tmp_path) == before
    top = answer(weft("top", "--json", cwd=tmp_path))
    assert [(item["uri"], item["references"]) for item in top["items"]] == [
        ("com.c", 3),
        ("com.b", 1),
        ("com.c/page1", 1),
        ("com.a/page1", 0),
        ("com.d", 0),
    ]


def test_every_packing_and_way_of_naming_files_gives_the_same(tmp_path: Path) -> None:
    text = generated(50).encode()
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "plain.jsonl").write_bytes(text)
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(text))
    (folder / "packed.jsonl.zst").write_bytes(zstandard.compress(text))
    digests = set()
    for number, arguments in enumerate((["in"], ["in/*.gz"], ["in/packed.jsonl.zst"], ["in/plain.jsonl"])):
        home = {"WEFT_HOME": str(tmp_path / f"home{number}")}
        assert weft("import", *arguments, cwd=tmp_path, **home).returncode == 0
        digests.add(weft("digest", cwd=tmp_path, **home).stdout)
    home = {"WEFT_HOME": str(tmp_path / "home-stdin")}
    assert weft("import", "-", cwd=tmp_path, stdin=text.decode(), **home).returncode == 0
    digests.add(weft("digest", cwd=tmp_path, **home).stdout)
    assert len(digests) == 1


def kill_imports(tmp_path: Path, kills: int, pages: int) -> None:
    """Kill an import at random moments and at failpoints, let it end, and compare with one that was left alone."""
    (tmp_path / "pages.jsonl").write_text(generated(pages))
    chance = random.Random(kills)
    points = ["import.round.before", "import.round.after", "store.write.before", "store.write.after"]
    command = [sys.executable, "-m", "weft", "import", "pages.jsonl", "--set", "index.round_pages=20"]
    for number in range(kills):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        if number % 2:
            environment["WEFT_FAIL"] = f"{chance.choice(points)}:{chance.randrange(2, 5)}:kill"
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as run:
            if not number % 2:
                time.sleep(chance.uniform(0.2, 0.45))
                run.kill()
    leave_unfinished(command, tmp_path)
    last = answer(weft("import", "pages.jsonl", "--json", "--set", "index.round_pages=20", cwd=tmp_path))
    assert last["resumed"]
    verified = answer(weft("verify", "--search", "--json", cwd=tmp_path))
    assert verified["differences"] == 0
    assert weft("import", "pages.jsonl", cwd=tmp_path, WEFT_HOME="alone").returncode == 0
    assert weft("digest", cwd=tmp_path, WEFT_HOME="alone").stdout.strip() == digest(tmp_path)


def test_an_import_killed_ten_times_ends_exact_and_does_not_begin_anew(tmp_path: Path) -> None:
    kill_imports(tmp_path, kills=10, pages=2500)


@pytest.mark.long
def test_an_import_killed_a_hundred_times_ends_exact(tmp_path: Path) -> None:
    kill_imports(tmp_path, kills=100, pages=20_000)


def test_an_import_goes_on_where_it_was_and_a_changed_file_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text(generated(100))
    small = ("--set", "index.round_pages=20")
    assert weft("import", "pages.jsonl", *small, cwd=tmp_path, WEFT_FAIL="import.round.after:3:kill").returncode == -9
    again = answer(weft("import", "pages.jsonl", "--json", *small, cwd=tmp_path))
    assert again["pages"] == 40
    assert again["resumed"] == ["pages.jsonl: resuming at line 61"]
    assert weft("import", "pages.jsonl", *small, cwd=tmp_path, WEFT_FAIL="import.round.after:3:kill").returncode == -9
    file.write_text(generated(101))
    changed = answer(weft("import", "pages.jsonl", "--json", *small, cwd=tmp_path))
    assert (changed["pages"], changed["resumed"]) == (101, [])


BAD_LINES = [
    ("{", "JSON"),
    ("[]", "object"),
    ('{"url": 5}', "url"),
    ('{"title": "x"}', "url"),
    ('{"url": "ftp://x/"}', "scheme"),
    ('{"url": "https://a.com/", "fetched": "yesterday"}', "fetched"),
    ('{"url": "https://a.com/", "links": [{"url": 7}]}', "links"),
]


@pytest.mark.parametrize(("bad", "said"), BAD_LINES)
def test_a_bad_line_is_skipped_counted_and_listed(tmp_path: Path, bad: str, said: str) -> None:
    (tmp_path / "pages.jsonl").write_text(lines(SAMPLE[:1]) + bad + "\n" + lines(SAMPLE[1:]))
    run = weft("import", "pages.jsonl", "--json", cwd=tmp_path)
    assert (answer(run)["pages"], answer(run)["skipped"]) == (3, 1)
    listed = [line for line in run.stderr.splitlines() if "pages.jsonl:2: " in line]
    assert len(listed) == 1
    assert any(word in listed[0] for word in said.split("|"))


def test_strict_stops_before_anything_of_the_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text(lines(SAMPLE[:1]))
    (tmp_path / "bad.jsonl").write_text(lines(SAMPLE[1:]) + "{\n")
    run = weft("import", "--strict", "good.jsonl", "bad.jsonl", cwd=tmp_path)
    assert run.returncode == 2
    assert "bad.jsonl:3: " in run.stderr
    assert "nothing of this file was loaded" in run.stderr
    assert answer(weft("top", "--json", cwd=tmp_path))["total"] == 3
    assert weft("page", "d.com", cwd=tmp_path).returncode == 1


def test_bytes_that_are_no_text_and_a_line_without_end_are_skipped(tmp_path: Path) -> None:
    huge = b'{"url": "https://big.com/", "text": "' + b"x" * (100 << 20) + b'"}\n'
    (tmp_path / "pages.jsonl").write_bytes(b'{"url": "\xff"}\n' + huge + lines(SAMPLE).encode())
    run = weft("import", "pages.jsonl", "--json", cwd=tmp_path)
    assert (answer(run)["pages"], answer(run)["skipped"]) == (3, 2)
    assert "pages.jsonl:1: " in run.stderr
    assert "pages.jsonl:2: " in run.stderr


def test_a_page_with_a_million_links_is_cut_and_says_so(tmp_path: Path) -> None:
    page: dict[str, Any] = {"url": "https://a.com/", "links": [f"https://b.com/{n}" for n in range(1_000_000)]}
    (tmp_path / "pages.jsonl").write_text(lines([page]))
    run = weft("import", "pages.jsonl", "--json", "--set", "limits.line_bytes=100000000", cwd=tmp_path)
    assert (answer(run)["pages"], answer(run)["skipped"]) == (1, 0)
    page = answer(weft("page", "a.com", "--json", cwd=tmp_path))
    assert 10_000 < page["outlinkcount"] <= 50_000
    assert page["outlinkcount"] + page["left_out"] == 1_000_000


def test_a_file_cut_off_keeps_the_whole_pages_before_the_break(tmp_path: Path) -> None:
    packed = gzip.compress(generated(2000).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    run = weft("import", "cut.jsonl.gz", "--json", "--set", "index.round_pages=50", cwd=tmp_path)
    assert run.returncode == 2
    assert "weft: cut.jsonl.gz: it ends inside a gzip member" in run.stderr
    assert 0 < json.loads(run.stdout)["pages"] < 2000
    assert answer(weft("verify", "--search", "--json", cwd=tmp_path))["differences"] == 0
    again = weft("import", "cut.jsonl.gz", "--json", cwd=tmp_path)
    assert (again.returncode, json.loads(again.stdout)["pages"]) == (2, 0)


@pytest.mark.parametrize("name", ["missing.jsonl", "*.nothing", "empty-folder"])
def test_what_cannot_be_read_is_said_before_anything_is_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    run = weft("import", name, cwd=tmp_path)
    assert run.returncode == 2
    assert name in one_sentence(run)
    assert not (tmp_path / "weft-data").exists()


def test_a_directory_without_rights_is_said(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        wrapper = ["setpriv", "--reuid=65534", "--clear-groups"]
        if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
            pytest.skip("root may read everything, and there is no setpriv to be somebody else")
    else:
        wrapper = []
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "pages.jsonl").write_text(lines(SAMPLE))
    closed.chmod(0)
    code = f"from weft.intake.import_source import expand; expand([{str(closed)!r}])"
    readable = subprocess.run([*wrapper, sys.executable, "-c", "import weft"], capture_output=True, check=False)
    if readable.returncode:
        pytest.skip("somebody else may not run this Python")
    run = subprocess.run([*wrapper, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    closed.chmod(0o755)
    assert "Permission denied" in run.stderr


def test_limit_stops_after_so_many_pages(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(lines(SAMPLE))
    assert answer(weft("import", "pages.jsonl", "--limit", "2", "--json", cwd=tmp_path))["pages"] == 2
    assert answer(weft("import", "pages.jsonl", "--json", cwd=tmp_path))["resumed"] == []


def test_a_disk_that_fills_up_is_said_and_the_index_stays_exact(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(generated(100))
    small = ("--set", "index.round_pages=20")
    run = weft("import", "pages.jsonl", *small, cwd=tmp_path, WEFT_FAIL="store.write.before:3:enospc")
    assert run.returncode == 2
    assert "disk is full" in run.stderr
    assert answer(weft("verify", "--json", cwd=tmp_path))["differences"] == 0
    assert answer(weft("import", "pages.jsonl", "--json", *small, cwd=tmp_path))["pages"] == 60

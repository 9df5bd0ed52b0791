"""Archives imported as a user does it: every packing, damage, hostile pages, kills, a full disk."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from support import warcs
from support.import_kills import leave_unfinished
from support.suites import suite_file
from support.weft_command import one_sentence, weft

SMALL_ROUNDS = ("--set", "index.round_pages=20")


def answer(run: subprocess.CompletedProcess[str], status: int = 0) -> dict[str, object]:
    assert run.returncode == status, run.stderr
    found: dict[str, object] = json.loads(run.stdout)
    return found


def digest(cwd: Path, **environment: str) -> object:
    return answer(weft("digest", "--json", cwd=cwd, **environment))["digest"]


def differences(cwd: Path, *options: str, **environment: str) -> object:
    return answer(weft("verify", *options, "--json", cwd=cwd, **environment))["differences"]


def write(path: Path, records: list[bytes], pack: Callable[[bytes], bytes] = bytes) -> None:
    path.write_bytes(b"".join(pack(one) for one in records))


def test_a_published_archive_is_imported_and_counted(tmp_path: Path) -> None:
    run = answer(weft("import", str(suite_file("warc/iana.warc.gz")), "--json", cwd=tmp_path))
    # 48 responses: 16 pages, 28 files that are no pages, 3 redirects elsewhere, and one from http to https.
    assert (run["pages"], run["removed"], run["changed"], run["links"], run["skipped"]) == (47, 31, 16, 2653, 0)
    assert run["passed"] == {"warcinfo": 1, "request": 171, "revisit": 123, "redirect to itself": 1}
    assert differences(tmp_path) == 0
    page = answer(weft("page", "http://www.iana.org/about", "--json", cwd=tmp_path))
    assert (page["crawled"], page["references"], page["fetched"]) == (True, 16, "2014-01-26T20:07:06Z")


def test_every_packing_and_way_of_naming_files_gives_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    records = warcs.pages(40)
    for number, pack in enumerate(warcs.PACKINGS.values()):
        (folder / f"{number}.warc{['', '.gz', '.zst'][number % 3]}").write_bytes(pack(records))
    arc = warcs.arc(*(arc_of(record) for record in records[1::2]))
    write(folder / "a.arc.gz", arc, gzip.compress)
    (folder / "a.warc.wet.gz").write_bytes(b"not read")
    arguments = [
        ["in"],
        ["in/*.arc*"],
        ["in/1.warc.gz"],
        ["in/2.warc.zst", "in/5.warc.zst"],
        ["in/0.warc", "in/4*"],
        ["in/6.warc"],
    ]
    digests = set()
    for number, files in enumerate(arguments):
        home = {"WEFT_HOME": str(tmp_path / f"home{number}")}
        answer(weft("import", "--json", *files, cwd=tmp_path, **home))
        digests.add(digest(tmp_path, **home))
    with (folder / "1.warc.gz").open("rb") as file:
        command = [sys.executable, "-m", "weft", "import", "-", "--home", "piped"]
        assert subprocess.run(command, stdin=file, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    digests.add(digest(tmp_path, WEFT_HOME="piped"))
    assert len(digests) == 1


def arc_of(record: bytes) -> bytes:
    head, _, rest = record.partition(b"\r\n\r\n")
    uri = head.partition(b"WARC-Target-URI: ")[2].partition(b"\r\n")[0].decode()
    return warcs.arc_record(uri, rest.removesuffix(b"\r\n\r\n"))


def test_a_wat_file_gives_the_references_and_anchors_of_its_archive(tmp_path: Path) -> None:
    bodies = {
        f"https://s{n}.com/p{n}": warcs.page(n, [f"/{n}", f"https://s{n + 1}.com/p{n + 1}", "x?a=1"]) for n in range(40)
    }
    write(tmp_path / "a.warc.gz", [warcs.response(uri, body) for uri, body in bodies.items()], gzip.compress)
    write(tmp_path / "a.wat.gz", [warcs.wat_of(uri, body) for uri, body in bodies.items()], gzip.compress)
    for name in ("warc", "wat"):
        answer(weft("import", f"a.{name}.gz", "--json", "--home", name, cwd=tmp_path))
    tables = [
        weft("scan", "query", "--home", name, "--limit", "100000", cwd=tmp_path).stdout for name in ("warc", "wat")
    ]
    assert tables[0] == tables[1]
    assert "to x?a=1" in tables[0]


def test_the_published_wat_file_is_imported(tmp_path: Path) -> None:
    run = answer(weft("import", str(suite_file("warc/webindex/wat-18.warc")), "--json", cwd=tmp_path))
    assert (run["pages"], run["removed"], run["links"], run["skipped"]) == (5, 1, 306, 0)
    assert differences(tmp_path) == 0


def test_an_import_goes_on_at_the_record_where_it_was(tmp_path: Path) -> None:
    for name in ("gzip, a member per record", "gzip, one member"):
        (tmp_path / "a.warc").write_bytes(warcs.PACKINGS[name](warcs.pages(100)))
        home = {"WEFT_HOME": str(tmp_path / name)}
        cut = weft("import", "a.warc", *SMALL_ROUNDS, cwd=tmp_path, WEFT_FAIL="import.round.after:3:kill", **home)
        assert cut.returncode == -9
        again = answer(weft("import", "a.warc", "--json", *SMALL_ROUNDS, cwd=tmp_path, **home))
        # Each page stands behind its request.
        assert (again["pages"], again["resumed"]) == (40, ["a.warc: resuming at record 121"])
        assert differences(tmp_path, **home) == 0


def kill_imports(tmp_path: Path, kills: int, count: int) -> None:
    """Kill an import at random moments and at failpoints, let it end, and compare with one that was left alone."""
    chance = random.Random(kills)
    records = warcs.pages(count)
    (tmp_path / "a.warc.gz").write_bytes(warcs.PACKINGS["gzip, a member per record"](records[: count // 2 * 2]))
    (tmp_path / "b.warc.gz").write_bytes(warcs.PACKINGS["gzip, one member"](records[count // 2 * 2 :]))
    command = [sys.executable, "-m", "weft", "import", "a.warc.gz", "b.warc.gz", "--workers", "2", *SMALL_ROUNDS]
    points = ["import.round.before", "import.round.after", "store.write.before", "store.write.after"]
    for number in range(kills):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        if number % 2:
            environment["WEFT_FAIL"] = f"{chance.choice(points)}:{chance.randrange(1, 4)}:kill"
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as run:
            if not number % 2:
                time.sleep(chance.uniform(0.5, 1.2))
                run.kill()
    leave_unfinished(command, tmp_path)
    last = answer(weft("import", "a.warc.gz", "b.warc.gz", "--json", *SMALL_ROUNDS, cwd=tmp_path))
    assert last["resumed"]
    assert differences(tmp_path, "--search") == 0
    assert weft("import", "a.warc.gz", "b.warc.gz", cwd=tmp_path, WEFT_HOME="alone").returncode == 0
    assert digest(tmp_path, WEFT_HOME="alone") == digest(tmp_path)


def test_an_import_killed_six_times_ends_exact(tmp_path: Path) -> None:
    kill_imports(tmp_path, kills=6, count=200)


@pytest.mark.long
def test_an_import_killed_a_hundred_times_ends_exact(tmp_path: Path) -> None:
    kill_imports(tmp_path, kills=100, count=2500)


def children_of(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for listed in lists for child in listed.read_text().split()]


def wait_for_pages(cwd: Path) -> None:
    deadline = time.monotonic() + 60
    while not (cwd / "weft-data" / "store").exists() or not answer(weft("top", "--json", cwd=cwd))["total"]:
        assert time.monotonic() < deadline, "nothing was loaded"
        time.sleep(0.1)


@pytest.mark.parametrize(("name", "status"), [("SIGKILL", -9), ("SIGINT", 130)])
def test_an_import_that_is_ended_leaves_no_process_behind(tmp_path: Path, name: str, status: int) -> None:
    (tmp_path / "a.warc.gz").write_bytes(warcs.PACKINGS["gzip, a member per record"](warcs.pages(300)))
    command = [sys.executable, "-m", "weft", "import", "a.warc.gz", "--rate", "10", "--workers", "2"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        wait_for_pages(tmp_path)
        workers = children_of(run.pid)
        run.send_signal(signal.Signals[name])
        run.communicate()
    assert run.returncode == status
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{worker}/cwd").exists() for worker in workers):
        assert time.monotonic() < deadline, "workers outlived the import"
        time.sleep(0.02)
    assert differences(tmp_path) == 0
    again = answer(weft("import", "a.warc.gz", "--json", cwd=tmp_path))
    assert again["resumed"]


def test_a_file_cut_off_keeps_the_whole_pages_before_the_break(tmp_path: Path) -> None:
    records = warcs.pages(60)
    for name in ("plain", "gzip, one member", "zstd, a frame per record"):
        packed = warcs.PACKINGS[name](records)
        (tmp_path / "cut.warc").write_bytes(packed[: int(len(packed) * 0.6)])
        home = {"WEFT_HOME": str(tmp_path / name)}
        run = weft("import", "cut.warc", "--json", *SMALL_ROUNDS, cwd=tmp_path, **home)
        found = answer(run, status=2)
        assert 10 < int(str(found["pages"])) < 60, name
        assert "weft: cut.warc: it ends inside a" in run.stderr
        assert differences(tmp_path, **home) == 0
        again = weft("import", "cut.warc", "--json", cwd=tmp_path, **home)
        assert answer(again, status=2)["pages"] == 0


def test_a_damaged_member_costs_its_page_and_is_listed(tmp_path: Path) -> None:
    members = [gzip.compress(record) for record in warcs.pages(30)]
    members[9] = members[9][:40] + bytes(20) + members[9][60:]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(members))
    run = weft("import", "a.warc.gz", "--json", cwd=tmp_path)
    assert (answer(run)["pages"], answer(run)["skipped"], answer(run)["reasons"]) == (29, 1, {"damaged": 1})
    assert f"skipped a.warc.gz: record 10 (byte {len(b''.join(members[:9])):,}): it is damaged: " in run.stderr
    assert answer(weft("page", "https://s4.com/4", "--json", cwd=tmp_path))["crawled"] is False
    strict = weft("import", "a.warc.gz", "--strict", "--home", "strict", cwd=tmp_path)
    assert strict.returncode == 2
    assert strict.stderr.endswith("; nothing of this file was loaded\n")
    assert answer(weft("top", "--json", "--home", "strict", cwd=tmp_path))["total"] == 0


def bomb(name: str) -> bytes:
    pack = {"gzip": gzip.compress, "br": lambda data: brotli.compress(data, quality=1), "zstd": zstandard.compress}
    return pack[name](bytes(16 << 20))


def test_bombs_wrong_lengths_and_rubbish_are_skipped_counted_and_listed(tmp_path: Path) -> None:
    bombs = [
        warcs.response(f"https://bomb.com/{name}", bomb(name), headers=f"Content-Encoding: {name}\r\n")
        for name in ("gzip", "br", "zstd")
    ]
    short = warcs.record("response", "https://short.com/", warcs.http(warcs.page(1)), length=30)
    rubbish = warcs.record("response", "https://rubbish.com/", b"rubbish")
    large = warcs.record("response", "https://large.com/", bytes(20 << 20))
    date = warcs.record("response", "https://date.com/", warcs.http(warcs.page(1)), date="yesterday")
    write(tmp_path / "a.warc", [*warcs.pages(3), *bombs, short, rubbish, large, date, *warcs.pages(4)])
    run = weft("import", "a.warc", "--json", cwd=tmp_path)
    found = answer(run)
    assert (found["pages"], found["skipped"]) == (7, 7)
    reasons = found["reasons"]
    assert isinstance(reasons, dict)
    assert reasons.pop("bomb", 0) + reasons.pop("too large", 0) == 4
    assert reasons == {"wrong length": 1, "not HTTP": 1, "bad time": 1}
    assert run.stderr.count("skipped a.warc: record ") == 7
    assert "7 records skipped (" in weft("import", "a.warc", cwd=tmp_path).stdout
    assert differences(tmp_path) == 0


def test_hostile_pages_are_skipped_and_the_others_loaded(tmp_path: Path) -> None:
    slow = warcs.response("https://slow.com/", b"<a>" * 600_000)
    large = warcs.response("https://large.com/", b"<li>x" * 1_500_000)
    records = warcs.pages(40)
    write(tmp_path / "a.warc.gz", [*records[:20], slow, *records[20:60], large, *records[60:]], gzip.compress)
    limits = ("--set", "limits.parse_seconds=0.2", "--set", "limits.parse_bytes=201326592")
    run = weft("import", "a.warc.gz", "--json", *limits, cwd=tmp_path)
    found = answer(run)
    assert (found["pages"], found["skipped"]) == (40, 2)
    reasons = found["reasons"]
    assert isinstance(reasons, dict)
    assert set(reasons) <= {"too slow", "too much memory"}
    assert "skipped a.warc.gz: record 21 (byte " in run.stderr
    assert "skipped a.warc.gz: record 62 (byte " in run.stderr
    assert "reading it takes more " in run.stderr
    assert differences(tmp_path) == 0


def test_many_skipped_records_are_listed_up_to_a_hundred(tmp_path: Path) -> None:
    write(tmp_path / "a.warc", [warcs.record("response", "https://a.com/", b"rubbish")] * 130)
    run = weft("import", "a.warc", cwd=tmp_path)
    assert run.stderr.count("skipped a.warc: record ") == 100
    assert "skipped 30 more records" in run.stderr
    assert run.stdout.startswith("Imported 0 pages: ")
    assert "130 records skipped (130 not HTTP)" in run.stdout


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.arc", "picture.png"])
def test_what_is_no_archive_is_said_before_anything_is_made(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    run = weft("import", name, cwd=tmp_path)
    assert run.returncode == 2
    assert one_sentence(run).startswith(f"weft: {name}: it begins with b'\\x89PNG")
    assert "expected an archive (WARC, WAT, ARC) or lines of JSON (JSONL)" in run.stderr
    assert not (tmp_path / "weft-data").exists()


def test_limit_and_rate_and_workers_are_obeyed(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", warcs.pages(60), gzip.compress)
    assert answer(weft("import", "a.warc.gz", "--limit", "7", "--json", cwd=tmp_path))["pages"] == 7
    assert weft("page", "https://s6.com/6", cwd=tmp_path).returncode == 0
    assert weft("page", "https://s0.com/7", cwd=tmp_path).returncode == 1
    whole = answer(weft("import", "a.warc.gz", "--json", "--workers", "3", "--rate", "20", cwd=tmp_path))
    assert (whole["pages"], whole["ignored"], whole["resumed"]) == (60, 7, [])
    # A round for each second's pages, beside the two that end a run.
    assert int(str(whole["seq"])) >= 4


def test_a_disk_that_fills_up_is_said_and_what_was_loaded_is_exact(
    tmp_path: Path, make_disk: Callable[[str], Path]
) -> None:
    chance = random.Random(1)
    bodies = [warcs.page(n, [f"https://s{n}.com/{chance.randrange(10**9)}" for _ in range(30)]) for n in range(700)]
    write(tmp_path / "a.warc.gz", [warcs.response(f"https://s{n}.com/", body) for n, body in enumerate(bodies)])
    small = make_disk("4m")
    tiny = [f"--set={name}=1048576" for name in ("store.write_buffer_bytes", "store.wal_bytes")]
    tiny += ["--set=index.round_pages=100"]
    run = weft("import", "a.warc.gz", "--home", str(small / "home"), *tiny, cwd=tmp_path)
    assert run.returncode == 2
    assert "disk is full" in run.stderr
    assert "Traceback" not in run.stderr
    # Where there is room again, everything is exact and the import goes on.
    shutil.copytree(small / "home", tmp_path / "home")
    home = {"WEFT_HOME": str(tmp_path / "home")}
    assert differences(tmp_path, **home) == 0
    again = answer(weft("import", "a.warc.gz", "--json", cwd=tmp_path, **home))
    assert again["resumed"]
    assert 0 < int(str(again["pages"])) < 700
    assert weft("import", "a.warc.gz", "--home", "alone", cwd=tmp_path).returncode == 0
    assert digest(tmp_path, WEFT_HOME="alone") == digest(tmp_path, **home)


@pytest.mark.parametrize("options", [(), ("--bulk",)], ids=["rounds", "bulk"])
def test_a_revisit_moves_the_time_of_its_page(tmp_path: Path, options: tuple[str, ...]) -> None:
    def revisit(uri: str, date: str, original: str) -> bytes:
        fields = f"WARC-Refers-To-Target-URI: {uri}\r\nWARC-Refers-To-Date: {original}\r\n"
        block = warcs.http(b"", status="304 Not Modified")
        return warcs.record("revisit", uri, block, date=date, fields=fields)

    records = [
        warcs.response("https://a.com/", warcs.page(1)),
        revisit("https://a.com/", "2026-02-01T12:00:00Z", warcs.DATE),
        revisit("https://a.com/", "2026-02-02T12:00:00Z", warcs.DATE),
        warcs.response("https://b.com/", warcs.page(2)),
        revisit("https://b.com/", "2026-02-03T12:00:00Z", "2026-02-01T00:00:00Z"),
        revisit("https://c.com/", "2026-02-03T12:00:00Z", warcs.DATE),
    ]
    write(tmp_path / "a.warc", records)
    run = answer(weft("import", "a.warc", "--json", *options, cwd=tmp_path))
    assert (run["pages"], run["changed"], run["skipped"], run["passed"]) == (2, 2, 0, {"revisit": 4})
    fetched = [answer(weft("page", f"https://{name}.com/", "--json", cwd=tmp_path))["fetched"] for name in "ab"]
    assert fetched == ["2026-02-02T12:00:00Z", warcs.DATE]
    assert differences(tmp_path) == 0

"""`weft export` as a user runs it: beside a writer, killed, interrupted, on a full disk, asked for nonsense."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest

from support import page_versions as versions
from support.exported_rows import small_blocks
from support.page_versions import REFERENCES, RULES, URLS, store_of
from support.weft_command import one_sentence, weft
from weft.cli.export_progress import ExportProgress
from weft.cli.main import main
from weft.config.sections import IndexSettings
from weft.export.plan import plan
from weft.export.request import ExportRequest, Subject
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.store.rocksdb import RocksReader

SAMPLE: list[dict[str, Any]] = [
    {"url": "https://a.com/page1", "links": [{"url": "https://c.com/", "text": "C"}, {"url": "https://b.com/"}]},
    {"url": "https://b.com/", "links": [{"url": "https://c.com/page1"}, {"url": "https://c.com", "rel": "nofollow"}]},
    {"url": "https://d.com/", "fetched": "2026-01-31T12:00:00Z", "links": ["https://c.com/", "/self"]},
]


def lines(pages: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(page) + "\n" for page in pages)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes with the documents' sample and one internal link, by what counts."""
    directory = tmp_path_factory.mktemp("homes")
    for count in ("all", "external"):
        arguments = ("import", "-", "--home", count, "--set", f"index.count={count}")
        assert weft(*arguments, cwd=directory, stdin=lines(SAMPLE)).returncode == 0
    return directory


@pytest.fixture
def here(homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, empty; the sample is the home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_HOME", str(homes / "all"))
    return tmp_path


class Ran(NamedTuple):
    """Like a finished process."""

    returncode: int
    stdout: str
    stderr: str


def run_here(capfd: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """A command in this process, in which libraries are loaded once."""
    with pytest.raises(SystemExit) as ended:
        main(["export", *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return Ran(code, *capfd.readouterr())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home that holds 60,000 references: more than one block."""
    directory = tmp_path_factory.mktemp("large")
    store_of(directory / "weft-data", version=1).close()
    return directory


def exported(cwd: Path) -> list[str]:
    """The files beside the home."""
    return sorted(entry.name for entry in cwd.iterdir() if entry.name != "weft-data")


@pytest.mark.parametrize(("subject", "rows"), [("links", 6), ("pages", 6), ("domains", 4)])
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_every_subject_and_format_is_written_and_told(
    here: Path, capfd: pytest.CaptureFixture[str], subject: str, rows: int, form: str
) -> None:
    run = run_here(capfd, subject, "--format", form)
    file = here / f"{subject}.{form}"
    assert run == (0, f"Exported {rows} {subject} to {subject}.{form}, {file.stat().st_size:,} bytes (seq 1)\n", "")
    assert duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall() == [(rows,)]


def test_the_summary_as_json_has_the_seq_that_the_file_has(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run_here(capfd, "links", "--output", "x.parquet", "--json").stdout)
    about = {"subject": "links", "output": "x.parquet", "format": "parquet", "counting": "all"}
    assert told == {**about, "rows": 6, "bytes": (here / "x.parquet").stat().st_size, "seq": 1}
    assert pyarrow.parquet.read_metadata(here / "x.parquet").metadata[b"weft.seq"] == b"1"


@pytest.mark.parametrize(("count", "rows"), [("all", 6), ("external", 5)])
def test_rows_are_references_whatever_counts(homes: Path, count: str, rows: int) -> None:
    links = weft("export", "links", "--output", "-", "--format", "jsonl", "--home", count, cwd=homes)
    domains = weft("domains", "--json", "--home", count, cwd=homes)
    assert len(links.stdout.splitlines()) == rows
    assert sum(item["references"] for item in json.loads(domains.stdout)["items"]) == rows
    assert ("counting external" in links.stderr) == (count == "external")


@pytest.mark.parametrize(
    ("arguments", "targets"),
    [
        (["--domain", "www.c.com"], ["com.c", "com.c/page1", "com.c", "com.c"]),
        (["--domain", "b.com", "--domain", "https://d.com/x"], ["com.b", "com.d/self"]),
        (["--domain", "d.com", "--direction", "out"], ["com.c", "com.d/self"]),
        (["--since", "1h"], ["com.c", "com.b", "com.c/page1", "com.c"]),
        (["--since", "2026-02-01", "--domain", "d.com"], []),
        (["--limit", "3"], ["com.c", "com.b", "com.c/page1"]),
    ],
)
def test_a_domain_a_time_and_a_limit_choose_rows(
    here: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], targets: list[str]
) -> None:
    run = run_here(capfd, "links", "--output", "out.jsonl", *arguments)
    assert run.returncode == 0, run.stderr
    assert [json.loads(line)["target_uri"] for line in (here / "out.jsonl").read_bytes().splitlines()] == targets


def test_standard_output_holds_the_rows_alone(homes: Path, tmp_path: Path) -> None:
    arguments = ("export", "domains", "--output", "-", "--format", "csv", "--json")
    run = weft(*arguments, cwd=tmp_path, WEFT_HOME=str(homes / "all"))
    assert run.stdout == '"domain","pagecount","references"\n"c.com",2,4\n"d.com",2,1\n"a.com",1,0\n"b.com",1,1\n'
    assert json.loads(run.stderr)["bytes"] == len(run.stdout)
    assert exported(tmp_path) == []


def test_a_reader_that_has_seen_enough_is_no_error(large: Path) -> None:
    command = f"{sys.executable} -m weft export links --output - --format jsonl | head -n 1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], cwd=large, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["anchor"] == "version 1"


def test_an_empty_index_gives_a_whole_file_without_rows(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weft("init", "--home", "empty", cwd=here)
    run = run_here(capfd, "links", "--home", "empty")
    assert (run.returncode, run.stdout.split(" to ")[0]) == (0, "Exported 0 links")
    assert pyarrow.parquet.read_table(here / "links.parquet").num_rows == 0


def test_an_unknown_domain_is_the_answer_no(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = run_here(capfd, "links", "--domain", "x.com")
    assert run.returncode == 1
    assert run.stderr == "weft: no pages of x.com are known; `weft domains` lists the known domains\n"
    assert exported(here) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["links", "--output", "links.txt"], "unknown format; use one of the endings .parquet, .csv"),
        (["links", "--output", "-"], "unknown format"),
        (["links", "--output", "-", "--format", "parquet"], "Parquet cannot be written to standard output"),
        (["links", "--output", "l.csv", "--compression", "zstd"], "--compression works only with Parquet"),
        (["domains", "--since", "7d"], "domains have no time"),
        (["links", "--since", "soon"], "not a time"),
        (["pages", "--direction", "out"], "--direction needs `links` and --domain"),
        (["links", "--direction", "in"], "--direction needs `links` and --domain"),
        (["links", "--limit", "0"], "--limit"),
        (["links", "--domain", "ftp://x"], "its scheme is ftp"),
        (["links", "--output", "no/links.csv"], "No such file or directory"),
        (["links", "--output", "..", "--format", "csv"], "not an ordinary file"),
        (["words"], "'words' is not one of 'links', 'pages', 'domains'"),
        (["links", "--home", "nowhere"], "no weft home here"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    here: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    run = run_here(capfd, *arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.startswith("weft: ")
    assert run.stderr.count("\n") == 1
    assert exported(here) == []


def test_a_file_that_is_there_is_replaced_by_force_only(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "links.parquet").write_text("mine")
    run = run_here(capfd, "links")
    assert run.returncode == 2
    assert "this file exists" in run.stderr
    assert (here / "links.parquet").read_text() == "mine"
    assert run_here(capfd, "links", "--force").returncode == 0
    assert pyarrow.parquet.read_table(here / "links.parquet").num_rows == 6


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_a_full_disk_is_said_and_leaves_nothing(large: Path, make_disk: Callable[[str], Path], form: str) -> None:
    small_disk = make_disk("64k")
    compression = ["--compression", "none"] if form == "parquet" else []
    run = weft("export", "links", "--output", str(small_disk / f"links.{form}"), *compression, cwd=large)
    assert run.returncode == 2
    assert f"links.{form}: the disk is full; make room and try again; the export was cancelled" in one_sentence(run)
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_full_standard_output_is_said(large: Path, form: str) -> None:
    command = f"{sys.executable} -m weft export links --output - --format {form} > /dev/full"
    run = subprocess.run(["bash", "-c", command], cwd=large, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    assert run.stderr == "weft: standard output: the disk is full; make room and try again; the export was cancelled\n"


def started(cwd: Path, *arguments: str, fail: str = "") -> subprocess.Popen[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    command = [sys.executable, "-m", "weft", "export", *arguments]
    environment = {**clean, "WEFT_FAIL": fail}
    return subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def rows_in(file: Path, form: str) -> int:
    source = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_ndjson"}[form]
    [(found,)] = duckdb.sql(f"SELECT count(*) FROM {source}('{file}')").fetchall()
    return int(found)


def kill_exports(home: Path, cwd: Path, kills: int) -> None:
    """Kill exports at every step and at random moments; no half file has the final name, and the next one is whole."""
    chance = random.Random(kills)
    steps = ["export.block:1", "export.block:2", "export.write:2", "export.rename:1"]
    file, killed = cwd / "links.out", 0
    for number in range(kills):
        form, is_random = ("parquet", "csv", "jsonl")[number % 3], number >= len(steps)
        fail = "" if is_random else f"{steps[number]}:kill"
        with started(cwd, "links", "--home", str(home), "--output", file.name, "--format", form, fail=fail) as run:
            if is_random:
                time.sleep(chance.uniform(0.3, 1.2))
                run.kill()
            run.wait(timeout=60)
        killed += run.returncode == -signal.SIGKILL
        assert is_random or exported(cwd) == [f"{file.name}.weft-part"]
        if file.exists():  # the kill came too late
            assert rows_in(file, form) == REFERENCES
            file.unlink()
    assert killed >= len(steps), "the kills came too late; this test proved nothing"
    with started(cwd, "links", "--home", str(home), "--output", file.name, "--format", "csv") as done:
        assert done.wait(timeout=60) == 0
    assert exported(cwd) == [file.name]
    assert rows_in(file, "csv") == REFERENCES


def test_a_kill_at_any_step_leaves_no_file_of_that_name(large: Path, tmp_path: Path) -> None:
    kill_exports(large / "weft-data", tmp_path, kills=6)


@pytest.mark.long
def test_forty_kills_leave_no_file_of_that_name(large: Path, tmp_path: Path) -> None:
    kill_exports(large / "weft-data", tmp_path, kills=40)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_interrupt_leaves_nothing(large: Path, tmp_path: Path, form: str) -> None:
    arguments = ("links", "--home", str(large / "weft-data"), "--output", f"x.{form}")
    with started(tmp_path, *arguments, fail="export.block:2:sleep=30") as run:
        while not any(tmp_path.glob("*.weft-part")):
            assert run.poll() is None
            time.sleep(0.01)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=20)
        assert (run.returncode, said) == (130, b"weft: interrupted\n")
    assert exported(tmp_path) == []


def test_rows_are_of_one_seq_while_a_writer_goes_on(tmp_path: Path) -> None:
    """The reader has begun when every page gets another version, and files are flushed and merged beneath it."""
    store_of(tmp_path / "home", version=1, urls=URLS[:60]).close()
    for subject in Subject:
        with RocksReader(tmp_path / "home" / "store") as reader, small_blocks(100):
            began = plan(reader, ExportRequest(subject), tmp_path)
            blocks = [next(began.blocks)]
            with store_of(tmp_path / "home", version=began.seq + 1, urls=URLS[:60]) as store:
                store.flush()
            blocks += began.blocks
            rows = [row for block in blocks for row in zip(*block.columns, strict=True)]
            assert len(rows) == began.total
        if subject is Subject.LINKS:
            assert {row[4] for row in rows} == {f"version {began.seq}"}
        elif subject is Subject.DOMAINS:
            assert {row[0] for row in rows} >= {f"t{began.seq}.com"}
            assert sum(row[2] for row in rows) == 6000


def test_exports_beside_a_writer_in_another_process_are_of_one_seq_each(tmp_path: Path) -> None:
    home = tmp_path / "weft-data"
    store_of(home, version=1).close()
    command = [sys.executable, versions.__file__, str(home)]
    seqs = []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(3):
            told = int(writer.stdout.readline())
            run = weft("export", "links", "--json", "--force", cwd=tmp_path, WEFT_FAIL="export.block:2:sleep=0.2")
            assert run.returncode == 0, run.stderr
            seqs.append(json.loads(run.stdout)["seq"])
            assert seqs[-1] >= told
            table = pyarrow.parquet.read_table(tmp_path / "links.parquet")
            assert table.num_rows == REFERENCES
            assert table.column("anchor").unique().to_pylist() == [f"version {seqs[-1]}"]
            assert table.schema.metadata[b"weft.seq"] == b"%d" % seqs[-1]
        writer.kill()
    assert seqs == sorted(set(seqs)), "the writer stood still; this test proved nothing"


def test_a_terminal_shows_rows_and_rate(large: Path, tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "weft", "export", "links", "--output", str(tmp_path / "x.csv")]
    slow = {**os.environ, "WEFT_FAIL": "export.block:2:sleep=0.5"}
    with subprocess.Popen(command, cwd=large, env=slow, stdout=subprocess.DEVNULL, stderr=end) as run:
        os.close(end)
        shown = b""
        with suppress(OSError):  # what a terminal says when the last writer has gone
            while piece := os.read(terminal, 4096):
                shown += piece
        assert run.wait(timeout=60) == 0
    os.close(terminal)
    assert re.search(rb"50,000 links, [0-9,]+/s", shown)
    assert b"83%" in shown, "the index knows how many there are"


def test_elsewhere_a_line_now_and_then_tells_how_far_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.cli.export_progress.LINE_EVERY", 0)
    with ExportProgress("links") as progress:
        progress.move(1000, 2000, 4000)
        progress.move(2000, 3000, None)
    first, second = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"1,000 links, [0-9,]+/s, 50%, about [0-9]+ s left", first)
    assert re.fullmatch(r"2,000 links, [0-9,]+/s", second)


def test_help_does_not_wait_for_the_libraries_of_exports(tmp_path: Path) -> None:
    looked = "import sys, weft.cli.export; sys.exit(any(name in sys.modules for name in ('pyarrow', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", looked], timeout=60, check=False).returncode == 0
    assert weft("export", "--help", cwd=tmp_path).returncode == 0


MEASURED = """
import resource, sys
from weft.cli.export_progress import ExportProgress
from weft.cli.main import main
try:
    main(["export", "links", "--output", "-", *sys.argv[1:]])
except SystemExit:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, form: str) -> None:
    home = tmp_path / "weft-data"
    with store_of(home, version=1) as store:
        index = LinkIndex(store, IndexSettings(history=False))
        targets = [RawLink(f"https://t{number % 7}.com/{number}", "words " * 5) for number in range(100)]
        for part in range(10):
            urls = [f"https://more{part}.com/{number}" for number in range(600)]
            index.apply([load_page(RULES, RULES.identify(url), 1, targets, Doc()) for url in urls])

    def peak(*arguments: str) -> int:
        command = [sys.executable, "-c", MEASURED, "--format", form, *arguments]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
        return int(run.stderr.splitlines()[-1])

    assert peak() - peak("--limit", "120000") < 40_000, "660,000 rows take 40 MB more than 120,000"

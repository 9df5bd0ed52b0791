"""Torn files, full disks, damage: what was synced stays, what was not is not told."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import shutil
import subprocess
import sys
import textwrap
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.exchanges import exchange
from weft import failpoints
from weft.archive.archive_errors import ArchiveUnwritable, RecordUnreadable
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.cdxj import RecordPosition
from weft.archive.crash_recovery import recover
from weft.archive.record_reader import read_record
from weft.archive.warc_file import WarcFile


def abandoned(directory, count: int = 6):
    """An archive whose writer vanished without finishing; what it had stored, and where."""
    writer = ArchiveWriter(directory)
    positions = writer.store([exchange(f"http://a.test/{n}", b"body %d" % n * 50) for n in range(count)])
    os.close(writer._file._handle)  # as the operating system does for a process that was killed
    (file,) = directory.glob("*.warc.gz")
    return file, positions


def index_lines(file):
    return file.with_name(file.name.removesuffix(".warc.gz") + ".cdxj").read_text().splitlines()


@given(st.floats(0, 1), st.booleans())
def test_a_file_torn_at_any_byte_is_cut_at_a_record_and_indexed(tmp_path_factory, share, has_notes):
    directory = tmp_path_factory.mktemp("torn")
    file, positions = abandoned(directory)
    if not has_notes:
        next(directory.glob("*.part")).unlink()
    size = round(file.stat().st_size * share)
    os.truncate(file, size)
    whole = [position for position in positions if position.offset + position.length <= size]
    recovered = recover(directory)
    if not whole:
        assert not file.exists() or file.stat().st_size <= size
        return
    assert [(one.file, one.records) for one in recovered] == [(file.name, len(whole))]
    assert len(index_lines(file)) == len(whole)
    gzip.decompress(file.read_bytes())
    for number, position in enumerate(whole):
        assert read_record(directory, position).url == f"http://a.test/{number}"


@pytest.mark.parametrize("has_notes", [True, False])
def test_a_file_of_nothing_but_304s_is_kept(tmp_path, has_notes):
    writer = ArchiveWriter(tmp_path)
    positions = writer.store([exchange(f"http://a.test/{n}", b"", status=304) for n in range(3)])
    os.close(writer._file._handle)
    if not has_notes:
        next(tmp_path.glob("*.part")).unlink()
    (recovered,) = recover(tmp_path)
    assert (recovered.records, recovered.cut) == (3, 0)
    assert index_lines(tmp_path / recovered.file) == []
    assert [read_record(tmp_path, position).status for position in positions] == [304] * 3


@given(st.binary(min_size=1, max_size=300))
def test_rubbish_at_the_end_is_cut(tmp_path_factory, rubbish):
    directory = tmp_path_factory.mktemp("rubbish")
    file, _ = abandoned(directory, 2)
    before = file.read_bytes()
    with file.open("ab") as stream:
        stream.write(rubbish)
    ((_, records, cut),) = recover(directory)
    assert (records, cut, file.read_bytes()) == (2, len(rubbish), before)


def test_damage_in_the_middle_costs_no_record_behind_it(tmp_path, caplog):
    file, positions = abandoned(tmp_path)
    next(tmp_path.glob("*.part")).unlink()
    with file.open("r+b") as stream:
        stream.seek(positions[2].offset + 40)
        stream.write(b"\xff" * 20)
    ((_, records, cut),) = recover(tmp_path)
    assert (records, cut) == (5, 0)
    assert "damaged stretch" in caplog.text
    assert read_record(tmp_path, positions[5]).url == "http://a.test/5"
    with pytest.raises(RecordUnreadable, match="damaged"):
        read_record(tmp_path, positions[2])


def test_recovery_again_changes_nothing(tmp_path):
    file, _ = abandoned(tmp_path)
    assert len(recover(tmp_path)) == 1
    before = file.read_bytes(), index_lines(file)
    assert recover(tmp_path) == []
    assert (file.read_bytes(), index_lines(file)) == before


def test_the_index_of_a_recovered_file_is_the_one_it_would_have_had(tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    file, _ = abandoned(torn)
    shutil.copytree(torn, whole)
    next(whole.glob("*.part")).unlink()
    recover(torn)
    recover(whole)
    assert index_lines(file) == index_lines(whole / file.name)


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    writer = ArchiveWriter(tmp_path)
    (first,) = writer.store([exchange()])
    assert recover(tmp_path) == []
    (second,) = writer.store([exchange("http://a.test/2")])
    writer.close()
    assert read_record(tmp_path, first).url == "http://a.test/"
    assert read_record(tmp_path, second).url == "http://a.test/2"


def test_files_of_others_are_not_touched(tmp_path):
    (tmp_path / "theirs.warc.gz").write_bytes(b"something else")
    (tmp_path / "weft-large-and-odd.warc.gz").write_bytes(bytes(65 << 20))
    assert recover(tmp_path) == []
    assert (tmp_path / "theirs.warc.gz").read_bytes() == b"something else"
    assert (tmp_path / "weft-large-and-odd.warc.gz").stat().st_size == 65 << 20


def test_a_writer_killed_at_any_moment_leaves_what_it_acknowledged(tmp_path):
    """A process that prints a line for each synced record, killed while it writes as fast as it can."""
    program = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        from support.exchanges import exchange
        from weft.archive.archive_writer import ArchiveWriter
        writer = ArchiveWriter(Path({str(tmp_path)!r}))
        for number in range(100_000):
            (place,) = writer.store([exchange(f"http://a.test/{{number}}", bytes([number % 251]) * 30_000)])
            print(number, *place, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    acknowledged = [process.stdout.readline().split() for _ in range(40)]
    process.kill()
    rest, _ = process.communicate()
    acknowledged += [line.split() for line in rest.splitlines() if line.count(" ") == 3]
    recover(tmp_path)
    for number, file, offset, length in acknowledged:
        found = read_record(tmp_path, RecordPosition(file, int(offset), int(length)))
        assert found.url == f"http://a.test/{number}"


@pytest.mark.parametrize("where", ["write", "sync", "begin"])
def test_a_full_disk_is_told_and_nothing_is_half_stored(tmp_path, monkeypatch, where):
    writer = ArchiveWriter(tmp_path)
    (before,) = writer.store([exchange("http://a.test/before")])
    one = writer.render(exchange("http://a.test/lost"))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if where == "write":
        monkeypatch.setattr(WarcFile, "_flush", full)
    elif where == "sync":
        failpoints.arm("archive.written:1:enospc")
    else:
        writer.close()
        monkeypatch.setattr(WarcFile, "__init__", full)
    with pytest.raises(ArchiveUnwritable, match="the disk is full; make room"):
        writer.store([one])
    monkeypatch.undo()
    (after,) = writer.store([one])
    writer.close()
    assert len(list(tmp_path.glob("*.warc.gz"))) == 2, "files without a record are not left behind"
    recover(tmp_path)
    assert read_record(tmp_path, before).url == "http://a.test/before"
    assert read_record(tmp_path, after).url == "http://a.test/lost"
    indexed = [line for file in tmp_path.glob("*.warc.gz") for line in index_lines(file)]
    assert len(indexed) == 2


def test_a_disk_that_takes_only_a_part_loses_nothing_that_was_told(tmp_path):
    """The operating system lets the file grow to a limit and then fails in the middle of a write."""
    stored: list[Any] = []
    writer, size = ArchiveWriter(tmp_path), 0
    exchanges = [exchange(f"http://a.test/{n}", Random(n).randbytes(20_000)) for n in range(20)]
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limit[1]))
    try:
        while size < 120_000:
            stored += writer.store(exchanges[len(stored) :][:1])
            size = stored[-1].offset + stored[-1].length
        with pytest.raises(ArchiveUnwritable, match="File too large"):
            writer.store(exchanges[len(stored) :])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    (file,) = tmp_path.glob("*.warc.gz")
    assert file.stat().st_size == size, "what was written in part is taken back"
    stored += writer.store(exchanges[len(stored) :])
    writer.close()
    recover(tmp_path)
    assert [read_record(tmp_path, position).url for position in stored] == [one.url for one in exchanges]


@pytest.mark.parametrize("ending", [".warc.gz", ""])
def test_a_file_that_somebody_removed_takes_no_more_records(tmp_path, ending):
    writer = ArchiveWriter(tmp_path)
    writer.store([exchange("http://a.test/before")])
    for file in tmp_path.glob(f"*{ending}"):
        file.unlink()
    with pytest.raises(ArchiveUnwritable, match="its file was removed"):
        writer.store([exchange("http://a.test/after")])
    (after,) = writer.store([exchange("http://a.test/after")])
    writer.close()
    assert read_record(tmp_path, after).url == "http://a.test/after"


def test_no_record_refers_to_one_that_somebody_removed(tmp_path):
    writer, same = ArchiveWriter(tmp_path), exchange("http://a.test/", b"the same again")
    writer.store([same])
    writer.close()
    for file in tmp_path.glob("*.warc.gz"):
        file.unlink()
    (after,) = writer.store([writer.render(same)])
    assert read_record(tmp_path, after).body == b"the same again"


def test_a_directory_that_somebody_removed_takes_records_once_it_is_there_again(tmp_path):
    writer = ArchiveWriter(tmp_path / "warc")
    writer.store([exchange("http://a.test/before")])
    shutil.rmtree(tmp_path / "warc")
    for _ in range(2):
        with pytest.raises(ArchiveUnwritable):
            writer.store([exchange("http://a.test/after")])
    (tmp_path / "warc").mkdir()
    (after,) = writer.store([exchange("http://a.test/after")])
    assert read_record(tmp_path / "warc", after).url == "http://a.test/after"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ArchiveUnwritable, match="Permission denied"):
        ArchiveWriter(tmp_path / "warc")


def test_a_place_that_is_no_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveUnwritable, match="cannot be written"):
        ArchiveWriter(tmp_path / "file")


@pytest.mark.parametrize(
    "position",
    [
        RecordPosition("none.warc.gz", 0, 10),
        RecordPosition("../x.warc.gz", 0, 10),
        RecordPosition("x", 0, 10),
        RecordPosition("FILE", 0, 10**9),
        RecordPosition("FILE", 10**9, 10),
        RecordPosition("FILE", 3, 100),
        RecordPosition("FILE", 0, 0),
        RecordPosition("FILE", -1, 10),
        RecordPosition("FILE", 0, -1),
    ],
)
def test_a_position_without_a_record_is_refused(tmp_path, position):
    writer = ArchiveWriter(tmp_path)
    (real,) = writer.store([exchange()])
    writer.close()
    name = real.file if position.file == "FILE" else position.file
    with pytest.raises(RecordUnreadable):
        read_record(tmp_path, position._replace(file=name))


def test_a_request_is_not_taken_for_a_response(tmp_path):
    writer = ArchiveWriter(tmp_path)
    (real,) = writer.store([exchange()])
    writer.close()
    data = (tmp_path / real.file).read_bytes()
    start = data.index(b"\x1f\x8b", 10)
    with pytest.raises(RecordUnreadable, match="no response"):
        read_record(tmp_path, RecordPosition(real.file, start, real.offset - start))

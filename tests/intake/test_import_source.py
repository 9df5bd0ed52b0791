import gzip
import os
import tempfile
from pathlib import Path

import pytest
import zstandard

from weft.intake.import_source import ImportSource, expand
from weft.intake.source_format import SourceFormat, SourceRefused
from weft.intake.unpack.compression import Compression, compression_of

LINE = b'{"url": "https://a.com/"}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *names, data=LINE):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def names(sources):
    return [source.name for source in sources]


def test_a_file_is_described_as_it_is(folder):
    write(folder, "a.jsonl")
    facts = (folder / "a.jsonl").stat()
    described = ImportSource(Path("a.jsonl"), len(LINE), facts.st_mtime_ns, Compression.NONE, SourceFormat.JSONL)
    assert expand(["a.jsonl"]) == [described]


def test_a_named_file_needs_no_known_suffix(folder):
    write(folder, "pages.txt", ".hidden")
    assert names(expand(["pages.txt", ".hidden"])) == ["pages.txt", ".hidden"]


def test_standard_input_is_a_source_of_which_nothing_is_known():
    assert expand(["-"]) == [ImportSource(None, None, None, None)]
    assert expand(["-"])[0].name == "standard input"


def test_a_directory_means_all_pages_below_it_sorted(folder):
    write(folder, "d/b.jsonl", "d/a.NDJSON.zst", "d/sub/c.jsonl.gz", "d/sub/deep/d.ndjson", "d/a-b.jsonl.zst")
    write(
        folder, "d/readme.md", "d/x.json", "d/.hidden.jsonl", "d/.git/e.jsonl", "d/jsonl", "d/.jsonl", "d/y.jsonl.bz2"
    )
    assert names(expand(["d"])) == [
        "d/a-b.jsonl.zst",
        "d/a.NDJSON.zst",
        "d/b.jsonl",
        "d/sub/c.jsonl.gz",
        "d/sub/deep/d.ndjson",
    ]


def test_a_link_to_a_directory_inside_is_not_followed(folder):
    write(folder, "d/a.jsonl")
    (folder / "d" / "again").symlink_to(folder / "d")
    assert names(expand(["d"])) == ["d/a.jsonl"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.jsonl", ["a.jsonl", "b.jsonl"]),
        ("[b-z].jsonl", ["b.jsonl"]),
        ("d/**/*.jsonl", ["d/c.jsonl", "d/sub/e.jsonl"]),
        ("d/s?b", ["d/sub/e.jsonl"]),
        ("**/e.jsonl", ["d/sub/e.jsonl"]),
        ("*", ["a.jsonl", "b.jsonl", "d/c.jsonl", "d/sub/e.jsonl", "notes.txt"]),
    ],
)
def test_a_pattern_names_files_and_directories(folder, pattern, found):
    write(folder, "a.jsonl", "b.jsonl", "d/c.jsonl", "d/sub/e.jsonl", ".hidden.jsonl", "notes.txt")
    (folder / "empty").mkdir()
    assert names(expand([pattern])) == found
    assert names(expand([str(folder / pattern)])) == [str(folder / name) for name in found]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    write(folder, "a[1].jsonl", "a1.jsonl")
    assert names(expand(["a[1].jsonl"])) == ["a[1].jsonl"]


def test_a_file_named_twice_is_read_once_where_it_came_first(folder):
    write(folder, "d/b.jsonl", "d/a.jsonl")
    (folder / "link.jsonl").symlink_to("d/b.jsonl")
    arguments = ["d/b.jsonl", "-", "./d/../d/b.jsonl", "d", "link.jsonl", "d/*", "-", str(folder / "d")]
    assert names(expand(arguments)) == ["d/b.jsonl", "standard input", "d/a.jsonl"]


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("missing.jsonl", "'missing.jsonl': No such file or directory; expected a file, a directory, a pattern, or"),
        ("", "'': No such file or directory; expected a file"),
        ("a.jsonl/b", "'a.jsonl/b': Not a directory; expected a file"),
        ("nul\0", "embedded null byte; expected a file"),
        ("x" * 5000, "File name too long; expected a file"),
        ("*.nothing", "*.nothing: no file matches this pattern; expected a file"),
        ("empt?", "empt?: no file matches this pattern"),
        ("empty", "empty: no pages in this directory; expected *.warc, *.wat, *.arc, *.jsonl or *.ndjson in it"),
        ("pipe", "pipe: not a regular file; expected a file"),
        ("p?pe", "pipe: not a regular file; expected a file"),
        ("/dev/null", "/dev/null: not a regular file"),
        ("broken", "broken/gone.jsonl: No such file or directory; expected a file that can be read"),
        ("circle", "circle/self.jsonl: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(folder, argument, sentence):
    write(folder, "a.jsonl")
    for name in ("empty", "broken", "circle"):
        (folder / name).mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "broken" / "gone.jsonl").symlink_to("nowhere")
    (folder / "circle" / "self.jsonl").symlink_to("self.jsonl")
    with pytest.raises(SourceRefused) as refused:
        expand(["a.jsonl", argument])
    assert sentence in str(refused.value)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


@pytest.fixture
def open_folder():
    """A folder that everybody can enter, for somebody without rights: root itself may read everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in folder.iterdir():
            path.chmod(0o755)


@pytest.fixture
def nobody(open_folder):
    is_root = os.geteuid() == 0
    yield lambda: os.seteuid(65534) if is_root else None
    if is_root:
        os.seteuid(0)


def test_a_file_without_rights_is_refused(open_folder, nobody):
    write(open_folder, "a.jsonl")
    (open_folder / "a.jsonl").chmod(0)
    nobody()
    for argument in (str(open_folder / "a.jsonl"), str(open_folder), str(open_folder / "*")):
        with pytest.raises(SourceRefused, match=r"a\.jsonl: Permission denied; expected a file that can be read"):
            expand([argument])


def test_a_directory_without_rights_is_refused(open_folder, nobody):
    write(open_folder, "a.jsonl", "closed/b.jsonl")
    (open_folder / "closed").chmod(0)
    nobody()
    for argument in (str(open_folder / "closed"), str(open_folder)):
        with pytest.raises(SourceRefused, match=r"closed: Permission denied; expected a directory that can be read"):
            expand([argument])


def test_a_disk_that_fails_is_a_sentence(folder, monkeypatch):
    write(folder, "a.jsonl")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(SourceRefused, match=r"a\.jsonl: Input/output error; expected a file that can be read"):
        expand(["a.jsonl"])


def test_the_content_tells_the_compression(folder):
    write(folder, "plain.jsonl.gz", "plain.jsonl.zst")
    write(folder, "packed.jsonl", data=gzip.compress(LINE))
    write(folder, "packed2.jsonl.gz", data=zstandard.compress(LINE))
    assert [source.compression for source in expand(["plain.jsonl.gz", "plain.jsonl.zst"])] == ["none", "none"]
    assert [source.compression for source in expand(["packed.jsonl", "packed2.jsonl.gz"])] == ["gzip", "zstd"]


@pytest.mark.parametrize(
    ("head", "name", "compression"),
    [
        (b"", "a.jsonl", "none"),
        (b"", "a.jsonl.gz", "gzip"),
        (b"\x1f", "a.jsonl.GZ", "gzip"),
        (b"\x1f", "a.jsonl", "none"),
        (b"\x28\xb5\x2f", "a.zst", "zstd"),
        (b"\x28\xb5\x2f", "a.gz", "none"),
        (b"\x50\x2a\x4d\x18", "", "zstd"),
        (b"\x5f\x2a\x4d\x18", "", "zstd"),
        (b"\x60\x2a\x4d\x18", "", "none"),
        (b"{}", "a.gz", "none"),
    ],
)
def test_a_name_counts_where_the_file_ends_too_early(head, name, compression):
    assert compression_of(head, name) == compression


def test_a_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SourceRefused, match="standard input is closed"):
        ImportSource().open()

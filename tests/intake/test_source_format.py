import gzip

import pytest

from weft.intake.import_source import expand
from weft.intake.source_format import SourceFormat, SourceRefused, format_of, is_named_for_pages


@pytest.mark.parametrize(
    ("head", "name", "found"),
    [
        (b"WARC/1.0\r\n", "pages.jsonl", SourceFormat.WARC),
        (b"\r\n\r\nWARC/1.1\r\n", "x", SourceFormat.WARC),
        (b"\xef\xbb\xbfWARC/1.1\r\n", "x", SourceFormat.WARC),
        (b"WAR", "x.warc", SourceFormat.WARC),
        (b"filedesc://a.arc 0 20260131 text/plain 7\n", "x.warc", SourceFormat.ARC),
        (b"http://a.com/ 127.0.0.1 20260131120000 text/html 7\n", "x", SourceFormat.ARC),
        (b'{"url": "https://a.com/"}\n', "x.warc.gz", SourceFormat.JSONL),
        (b"\xef\xbb\xbf{", "x", SourceFormat.JSONL),
        (b"[]", "x.jsonl", SourceFormat.JSONL),
        (b"rubbish", "x.NDJSON.zst", SourceFormat.JSONL),
        (b"", "x.warc", SourceFormat.WARC),
        (b"", "x.arc.gz", SourceFormat.ARC),
        (b" \n", "x", SourceFormat.JSONL),
    ],
)
def test_the_content_decides_and_the_name_where_there_is_none(head, name, found):
    assert format_of(head, name) is found


@pytest.mark.parametrize("head", [b"<html>", b"%PDF", b"WAR", b"PK\x03\x04", b"[]", b"\0\0"])
def test_a_file_that_is_none_of_them_is_refused_in_a_sentence(tmp_path, head):
    path = tmp_path / "x.warc.gz" if head != b"WAR" else tmp_path / "x"
    for data in (head, gzip.compress(head)):
        path.write_bytes(data)
        with pytest.raises(SourceRefused) as refused:
            expand([str(path)])
        assert str(refused.value).startswith(
            f"{path}: it begins with {head!r}; expected an archive (WARC, WAT, ARC) or"
        )


def test_a_packed_file_that_cannot_be_unpacked_is_what_it_is_called(tmp_path):
    damaged = gzip.compress(b"WARC/1.0\r\n")[:9]
    (tmp_path / "a.warc.gz").write_bytes(damaged)
    assert expand([str(tmp_path / "a.warc.gz")])[0].format is SourceFormat.WARC
    (tmp_path / "a.gz").write_bytes(damaged)
    with pytest.raises(SourceRefused, match="it ends inside a gzip member; expected an archive"):
        expand([str(tmp_path / "a.gz")])


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("CC-MAIN-1.warc.gz", True),
        ("CC-MAIN-1.warc.wat.gz", True),
        ("CC-MAIN-1.warc.wet.gz", False),
        ("a.arc", True),
        ("a.WARC.ZST", True),
        ("a.jsonl", True),
        ("a.warc.bz2", False),
        ("a.gz", False),
        (".a.warc", False),
        ("warc", False),
    ],
)
def test_names_tell_which_files_of_a_directory_are_read(name, is_read):
    assert is_named_for_pages(name) is is_read

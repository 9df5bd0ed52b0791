"""Records of links in the store: homes of 0.1.0 can be opened, and what is written is what it wrote."""

from __future__ import annotations

import pytest

from weft.dispatcher.link_records import LinkPhase, LinkRecord, decode_record, encode_record
from weft.mgmt.values import WarcPosition

WRITTEN_BY_0_1_0 = [
    (
        b"\xde\x00\t\xa3url\xaehttps://a.com/\xa5place\xa3due\xa3due\x05\xa7fetched\x04\xa6status\xcd\x01-"
        b"\xa8position\x84\xa4node\xa1n\xa4file\xaeweft-1.warc.gz\xa6offset\x07\xa6length\t"
        b"\xa6turned\xc3\xa7claimed\x03\xa7nesting\x01",
        LinkRecord(
            url="https://a.com/",
            phase=LinkPhase.DUE,
            due=5,
            fetched=4,
            status=301,
            position=WarcPosition("n", "weft-1.warc.gz", 7, 9),
            self_redirect=True,
            announced=3,
            nesting=1,
        ),
    ),
    (
        b"\xde\x00\x04\xa3url\xb2https://a.com/?s=1\xa5place\xa6hidden"
        b"\xa6reason\xd9 parameters: s on com.a/ -> com.a\xa9canonical\xa5com.a",
        LinkRecord(
            url="https://a.com/?s=1",
            phase=LinkPhase.HIDDEN,
            reason="parameters: s on com.a/ -> com.a",
            canonical="com.a",
        ),
    ),
    (b"\xde\x00\x01\xa3url\xaehttps://a.com/", LinkRecord(url="https://a.com/")),
]


@pytest.mark.parametrize(("stored", "record"), WRITTEN_BY_0_1_0)
def test_a_record_of_0_1_0_is_read_and_written_again_as_it_was(stored: bytes, record: LinkRecord) -> None:
    assert decode_record(stored) == record
    assert encode_record(record) == stored

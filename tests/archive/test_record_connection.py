"""Records of other nodes: what is read, what is not there, and what cannot be reached are three different things."""

from __future__ import annotations

import socket
import ssl
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from support.certificates import Authority
from support.exchanges import exchange
from support.record_node import RawNode, RecordNode, answering, one_request, silent
from weft.archive.archive_errors import ConnectionBroken, NodeUnreachable, RecordUnreadable
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import LARGEST, NodeAccess, RecordConnection
from weft.archive.record_reader import earlier_record, parse_record, read_member_bytes, read_record
from weft.archive.remote_reader import RemoteRecords

QUICK = NodeAccess(connect_seconds=2.0, read_seconds=0.3)
POSITION = RecordPosition("a.warc.gz", 0, 10)


def archived(directory: Path, *bodies: bytes) -> list[RecordPosition]:
    """Each was the answer to another request for the same page."""
    writer = ArchiveWriter(directory)
    found = [writer.store([exchange(body=body)])[0] for body in bodies]
    writer.close()
    return found


def test_a_record_is_read_there_as_it_is_read_here(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    with RecordNode(tmp_path, "s3cret") as node:
        records = RemoteRecords(NodeAccess("s3cret"))
        assert records.read(node.address, position) == read_record(tmp_path, position)
        records.close()


def test_a_revisit_is_read_with_the_record_that_it_repeats(tmp_path: Path) -> None:
    first, again = archived(tmp_path, b"hello " * 10, b"hello " * 10)
    with RecordNode(tmp_path) as node:
        found = RemoteRecords().read(node.address, again)
        assert (found.is_revisit, found.body) == (True, b"hello " * 10)
    assert earlier_record(read_member_bytes(tmp_path, again)) == first
    assert earlier_record(read_member_bytes(tmp_path, first)) is None


def test_a_node_with_an_ipv6_address_is_asked(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    with RecordNode(tmp_path, host="::1") as node:
        assert node.address.startswith("[::1]:")
        assert RemoteRecords().read(node.address, position).body == b"hello"


def test_a_node_is_asked_over_tls_and_only_with_a_good_certificate(tmp_path: Path) -> None:
    (position,) = archived(tmp_path / "warc", b"hello")
    authority = Authority(tmp_path)
    trusting = ssl.create_default_context(cafile=str(authority.file))
    with RecordNode(tmp_path / "warc", host="localhost", tls=authority.server("localhost")) as node:
        assert RemoteRecords(NodeAccess(context=lambda host: trusting)).read(node.address, position).body == b"hello"
        other = ssl.create_default_context()
        with pytest.raises(NodeUnreachable, match="certificate verify failed"):
            RemoteRecords(NodeAccess(context=lambda host: other)).read(node.address, position)
        with pytest.raises(NodeUnreachable, match=r"expected a spider and no TLS \(tls\.ca is not set here\)"):
            RemoteRecords(QUICK).read(node.address, position)


def test_what_is_not_there_or_damaged_is_unreadable_and_the_connection_is_kept(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    with RecordNode(tmp_path) as node:
        records = RemoteRecords()
        with pytest.raises(RecordUnreadable, match="404"):
            records.read(node.address, POSITION)
        with pytest.raises(RecordUnreadable, match="damaged"):
            records.read(node.address, position._replace(offset=position.offset + 3, length=position.length - 3))
        assert records.read(node.address, position).body == b"hello"
        assert node.connections == 1


def test_a_record_that_is_too_large_to_be_sent_is_unreadable() -> None:
    with pytest.raises(RecordUnreadable, match="not sent"):
        RemoteRecords().read("127.0.0.1:1", POSITION._replace(length=LARGEST + 1))


def test_requests_may_be_sent_ahead_of_the_answers(tmp_path: Path) -> None:
    positions = archived(tmp_path, *(b"page %d" % number for number in range(50)))
    with RecordNode(tmp_path) as node:
        connection = RecordConnection(node.address, NodeAccess())
        for position in [*positions[:25], POSITION, *positions[25:]]:
            connection.ask(position)
        bodies = [parse_record(connection.answer(position), position).body for position in positions[:25]]
        with pytest.raises(RecordUnreadable):
            connection.answer(POSITION)
        bodies += [parse_record(connection.answer(position), position).body for position in positions[25:]]
        assert bodies == [b"page %d" % number for number in range(50)]
        connection.close()


def test_a_wrong_token_is_told_with_the_setting(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    with RecordNode(tmp_path, "right") as node:
        for token in ("", "wrong"):
            with pytest.raises(NodeUnreachable, match=r"\(401\): spider\.token must be the same"):
                RemoteRecords(NodeAccess(token)).read(node.address, position)


def test_a_node_that_was_started_again_is_asked_on_a_new_connection(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    with RecordNode(tmp_path) as node:
        records = RemoteRecords()
        records.read(node.address, position)
        node.stop()
        node.start()
        assert records.read(node.address, position).body == b"hello"


def test_a_node_that_is_away_is_tried_once_a_minute(tmp_path: Path) -> None:
    (position,) = archived(tmp_path, b"hello")
    now = [1000.0]
    records = RemoteRecords(now=lambda: now[0])
    with RecordNode(tmp_path) as node:
        node.stop()
        with pytest.raises(NodeUnreachable, match="refuses"):
            records.read(node.address, position)
        node.start()
        now[0] += 59
        with pytest.raises(NodeUnreachable, match="refuses"):
            records.read(node.address, position)
        now[0] += 2
        assert records.read(node.address, position).body == b"hello"


@pytest.mark.parametrize("address", ["spider", "", "a:b", "[::1]", "::1:7070", "a:99999", "a\r\nX: y:80", "h:1 "])
def test_what_is_no_address_cannot_be_reached(address: str) -> None:
    with pytest.raises(NodeUnreachable, match="expected host:port"):
        RemoteRecords().read(address, POSITION)


def endless(head: bytes) -> Callable[[socket.socket], None]:
    def answer(peer: socket.socket) -> None:
        answering()(peer)
        one_request(peer)
        peer.sendall(head)
        while True:
            peer.sendall(b"x" * 65536)

    return answer


def in_single_bytes(peer: socket.socket) -> None:
    answering()(peer)
    one_request(peer)
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + b"x" * 9:
        peer.sendall(bytes([byte]))
        time.sleep(0.1)


HOSTILE = {
    "silent": silent,
    "single bytes": in_single_bytes,
    "endless head": endless(b"HTTP/1.1 200 OK\r\n"),
    "endless body": endless(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
    "endless reason": endless(b"HTTP/1.1 503 Busy\r\nContent-Length: 1000000000\r\n\r\n"),
    "endless 404": endless(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000000000\r\n\r\n"),
    "chunked": answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    "no length": answering(b"HTTP/1.1 200 OK\r\n\r\n0123456789"),
    "negative length": answering(b"HTTP/1.1 200 OK\r\nContent-Length: -10\r\n\r\n0123456789"),
    "shorter": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678"),
    "longer": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890"),
    "cut": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234"),
    "no HTTP": answering(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "zeros": answering(b"\0" * 100_000),
    "server error": answering(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"),
    "redirect": answering(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
    "closed": answering(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_else_a_node_answers_it_cannot_be_reached_soon_and_in_little_memory(name: str) -> None:
    with RawNode(HOSTILE[name]) as node:
        connection = RecordConnection(node.address, QUICK)
        connection.ask(POSITION)
        tracemalloc.start()
        began = time.monotonic()
        with pytest.raises(NodeUnreachable) as found:
            connection.answer(POSITION)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        connection.close()
        assert time.monotonic() - began < 2
        assert peak < 2 << 20
        assert isinstance(found.value, ConnectionBroken) == (name in ("cut", "closed"))


def test_a_port_that_belongs_to_something_else_is_found_when_it_is_dialled() -> None:
    for answer in (lambda peer: peer.sendall(b"220 mail ESMTP\r\n\r\n"), lambda peer: peer.recv(1)):
        with RawNode(answer) as node, pytest.raises(NodeUnreachable):
            RecordConnection(node.address, QUICK)


def test_only_the_beginning_of_a_record_is_unpacked_to_find_what_it_repeats() -> None:
    head = b"WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Profile: x/identical-payload-digest\r\n"
    bomb = zlib.compress(head + b"Weft-Refers-To: a.warc.gz 1 2\r\n\r\n" + bytes(256 << 20), 9, 31)
    tracemalloc.start()
    assert earlier_record(bomb) == RecordPosition("a.warc.gz", 1, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    "fields", [b"", b"Weft-Refers-To: a.warc.gz 1\r\n", b"Weft-Refers-To: a.warc.gz x y\r\n", b"Weft-Refers-To: \r\n"]
)
def test_a_revisit_that_does_not_say_what_it_repeats_is_unreadable(fields: bytes) -> None:
    head = b"WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Profile: x/identical-payload-digest\r\n" + fields
    member = zlib.compress(head + b"Content-Length: 0\r\n\r\n", 1, 31)
    assert earlier_record(member) is None
    with pytest.raises(RecordUnreadable, match="bad field"):
        parse_record(member, POSITION)


def test_a_record_with_a_content_length_that_is_no_number_is_unreadable() -> None:
    member = zlib.compress(b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: many\r\n\r\n", 1, 31)
    with pytest.raises(RecordUnreadable, match="bad field"):
        parse_record(member, POSITION)

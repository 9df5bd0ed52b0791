"""How nodes are asked for records, by the settings: with the token, and by TLS where that is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.built_world import RULES, World
from support.certificates import Authority
from support.record_node import RecordNode
from weft.archive.archive_errors import NodeUnreachable
from weft.archive.cdxj import RecordPosition
from weft.archive.remote_reader import RemoteRecords
from weft.config import Settings
from weft.config.sections import MgmtSettings, SpiderSettings, TlsSettings
from weft.errors import UsageError
from weft.index.archive_reader import archive_reader_pool
from weft.index.fetch_reader_pool import ReaderSettings, decode_settings, encode
from weft.index.record_access import NodeSettings
from weft.index.verify_archive import verify_archive

POSITION = RecordPosition("a.warc.gz", 0, 1)
POSTGRESQL = MgmtSettings(url="postgresql:///anywhere")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_with_a_control_plane_of_one_machine_nobody_is_asked() -> None:
    assert NodeSettings.from_settings(Settings()) is None


def test_worker_processes_are_sent_all_of_it(tmp_path: Path) -> None:
    tls = TlsSettings(certificate="/c", key="/k", ca="/ca", loopback=False)
    settings = Settings(mgmt=POSTGRESQL, spider=SpiderSettings(token="s3cret"), tls=tls)
    first = ReaderSettings.from_settings(settings, RULES, tmp_path)
    assert first.nodes == NodeSettings("s3cret", tls)
    assert decode_settings(encode(first)) == first


def test_verify_reads_records_by_tls(tmp_path: Path, authority: Authority) -> None:
    world = World(tmp_path)
    tls = authority.server("localhost")
    with RecordNode(tmp_path / "warc", "s3cret", host="localhost", tls=tls) as node:
        world.node = node.address
        world.crawl("https://a.com/", "<title>A</title>")
        settings = Settings(
            mgmt=POSTGRESQL, spider=SpiderSettings(token="s3cret"), tls=TlsSettings(ca=str(authority.file))
        )
        with archive_reader_pool(settings, RULES, tmp_path / "none", workers=1) as read_again:
            found = verify_archive(world.store, read_again)
    assert (found.records, found.differences, found.nodes) == (1, 0, {})


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["other.example"], "its certificate does not name localhost"), (["localhost"], "not of the CA in tls.ca")],
)
def test_a_certificate_that_is_not_good_is_told_with_the_setting(
    tmp_path: Path, authority: Authority, names: list[str], reason: str
) -> None:
    (tmp_path / "another").mkdir()
    trusted = authority if "localhost" not in names else Authority(tmp_path / "another")
    access = NodeSettings(tls=TlsSettings(ca=str(trusted.file))).access()
    node = RecordNode(tmp_path, host="localhost", tls=authority.server(*names))
    with node, pytest.raises(NodeUnreachable, match=reason):
        RemoteRecords(access).member(node.address, POSITION)


def test_a_node_that_speaks_no_tls_is_not_spoken_to(tmp_path: Path, authority: Authority) -> None:
    access = NodeSettings(tls=TlsSettings(ca=str(authority.file))).access(2.0, 2.0)
    with RecordNode(tmp_path) as node, pytest.raises(NodeUnreachable, match="it does not speak TLS"):
        RemoteRecords(access).member(node.address, POSITION)


def test_loopback_may_be_left_out(authority: Authority) -> None:
    access = NodeSettings(tls=TlsSettings(ca=str(authority.file), loopback=False)).access()
    assert access.context("127.0.0.1") is None
    assert access.context("spider.example") is not None


def test_a_ca_that_cannot_be_read_is_told_before_anybody_is_asked(tmp_path: Path) -> None:
    settings = Settings(mgmt=POSTGRESQL, tls=TlsSettings(ca=str(tmp_path / "none.pem")))
    with pytest.raises(UsageError, match=r"tls\.ca"), archive_reader_pool(settings, RULES, tmp_path, workers=1):
        pass

"""A cluster that encrypts: the certificates of docs/tls.md are taken, and nobody else's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra import own_cluster
from tools.cassandra.addresses import free_block
from tools.cassandra.shape import Shape
from weft.config import Settings
from weft.config.settings import settings_with
from weft.errors import StoreError, StoreMissing, UsageError
from weft.store.cassandra.address import parse_address
from weft.store.open import open_reader

PAGE = (Path(__file__).parents[2] / "docs/tls.md").read_text(encoding="utf-8")
FACTORY = {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"}


def make_certificates(place: Path, address: str) -> Path:
    """By the recipe of the page; returns the file with key and certificate."""
    names = f"machine IP:{address}"
    recipe = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
    recipe = re.sub(r"cat > machines.*?^END\n", f"echo '{names}' > machines\n", recipe, flags=re.DOTALL | re.MULTILINE)
    subprocess.run(["sh", "-e"], input=recipe, cwd=place, capture_output=True, text=True, check=True)
    both = place / "both.pem"
    both.write_text((place / "machine.key").read_text() + (place / "machine.pem").read_text())
    return both


def settings(host: str, ca: Path | None) -> Settings:
    more = f"?tls={ca}" if ca else ""
    return settings_with({"store.url": f"cassandra://{host}/weft{more}", "mgmt.url": "postgresql://localhost/weft"})


@pytest.fixture
def encrypting_node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    address = free_block(1)
    both = make_certificates(tmp_path, address)
    encrypted = {"enabled": True, "optional": False, "ssl_context_factory": FACTORY, "keystore": str(both)}
    shape = Shape(settings={"client_encryption_options": encrypted})
    with own_cluster(request, shape, address) as cluster:
        yield cluster.hosts[0]


@pytest.mark.long
def test_a_cluster_that_encrypts_is_asked_by_tls_alone(encrypting_node: str, tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):  # it answered
        open_reader(tmp_path, settings(encrypting_node, tmp_path / "ca.pem"))
    with pytest.raises(StoreError, match="cannot connect"):
        open_reader(tmp_path, settings(encrypting_node, None))
    other = tmp_path / "other"
    other.mkdir()
    make_certificates(other, encrypting_node)
    with pytest.raises(StoreError, match=r"cannot connect .*certificate verify failed"):
        open_reader(tmp_path, settings(encrypting_node, other / "ca.pem"))


def test_a_ca_that_cannot_be_read_is_named_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"store.url: tls: .*ca.pem cannot be read \(No such file or directory\)"):
        open_reader(tmp_path, settings("127.0.0.1", tmp_path / "ca.pem"))
    (tmp_path / "ca.pem").write_text("this is none")
    with pytest.raises(UsageError, match="expected a CA's certificate in PEM form"):
        open_reader(tmp_path, settings("127.0.0.1", tmp_path / "ca.pem"))


def test_what_a_url_says_of_tls_is_not_shown_as_part_of_the_store() -> None:
    address = parse_address("cassandra://me:secret@a,b/weft?datacenter=dc1&tls=/etc/ca.pem")
    assert (address.tls, address.datacenter) == ("/etc/ca.pem", "dc1")
    assert str(address) == "cassandra://a,b:9042/weft"

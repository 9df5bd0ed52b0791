"""What `[tls]` makes of its files, and the sentence about each that is wrong."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.certificates import Authority
from weft.config import Settings
from weft.config.settings import DEFAULTS, settings_with
from weft.errors import UsageError
from weft.roles.tls import client_context, server_context, uses_tls
from weft.store.cassandra.address import parse_address


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def settings_of(authority: Authority, **changed: str) -> Settings:
    return settings_with(authority.tls("10.0.0.2") | {f"tls.{name}": value for name, value in changed.items()})


def refusal(authority: Authority, **changed: str) -> str:
    settings = settings_of(authority, **changed)
    with pytest.raises(UsageError) as refused:
        assert client_context(settings) is server_context(settings), "neither is refused"
    assert refused.value.exit_code == 2
    return str(refused.value)


def test_without_settings_everything_is_in_the_clear() -> None:
    assert (server_context(DEFAULTS), client_context(DEFAULTS)) == (None, None)


def test_both_ends_speak_nothing_older_than_tls_1_2(authority: Authority) -> None:
    settings = settings_of(authority)
    for context in (server_context(settings), client_context(settings)):
        assert context is not None
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_node_that_dials_trusts_its_own_ca_alone_and_wants_the_right_name(authority: Authority) -> None:
    context = client_context(settings_of(authority))
    assert context is not None
    (trusted,) = context.get_ca_certs()
    assert "test authority" in str(trusted["subject"])
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def greeting(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> str:
    """What a client says of a server's certificate; empty: it is content."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(back, there, server_hostname=name)
    theirs = server.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for end in (ours, theirs):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
    return ""


def test_a_common_name_names_no_node_and_no_server_of_a_cluster(authority: Authority) -> None:
    of_a_cluster = parse_address(f"cassandra://c.test/weft?tls={authority.file}").encryption()
    of_a_node = client_context(settings_of(authority))
    assert of_a_cluster
    assert of_a_node
    for context in (of_a_node, of_a_cluster):
        assert greeting(authority.server("c.test"), context, "c.test") == ""
        for names in ((), ("b.test",), ("http://c.test/",)):
            said = greeting(authority.server(*names, common="c.test"), context, "c.test")
            assert "Hostname mismatch" in said, names


def test_a_node_that_only_dials_needs_the_ca_alone(authority: Authority) -> None:
    settings = settings_of(authority, certificate="", key="")
    assert client_context(settings) is not None
    with pytest.raises(UsageError, match=r"^tls\.certificate: expected a file, and tls\.key too: with tls\.ca set"):
        server_context(settings)


def test_loopback_can_be_left_out(authority: Authority) -> None:
    settings = settings_with({**authority.tls("10.0.0.2"), "tls.loopback": False})
    assert [uses_tls(settings, host) for host in ("127.0.0.1", "::1", "localhost")] == [False] * 3
    assert [uses_tls(settings, host) for host in ("10.0.0.2", "a.example", "0.0.0.0", "::")] == [True] * 4
    assert client_context(settings, "127.0.0.1") is None
    assert client_context(settings, "10.0.0.2") is not None


@pytest.mark.parametrize("name", ["certificate", "key", "ca"])
def test_a_file_that_is_not_there_is_named_with_its_setting(authority: Authority, tmp_path: Path, name: str) -> None:
    missing = tmp_path / "missing.pem"
    assert (
        refusal(authority, **{name: str(missing)}) == f"tls.{name}: {missing} cannot be read: No such file or directory"
    )
    assert refusal(authority, **{name: str(tmp_path)}) == f"tls.{name}: {tmp_path} cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("certificate", "holds no certificate; expected one in PEM"),
        ("key", "holds no private key; expected one in PEM"),
        ("ca", "holds no certificate of a CA; expected them in PEM"),
    ],
)
@pytest.mark.parametrize("text", [b"", b"\x00\xff binary", b"-----BEGIN NOTHING-----\n"])
def test_a_file_that_holds_something_else_is_named(
    authority: Authority, tmp_path: Path, name: str, what: str, text: bytes
) -> None:
    file = tmp_path / "other.pem"
    file.write_bytes(text)
    assert refusal(authority, **{name: str(file)}) == f"tls.{name}: {file} {what}"


def test_a_certificate_that_is_damaged_is_named(authority: Authority, tmp_path: Path) -> None:
    file = tmp_path / "damaged.pem"
    file.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert refusal(authority, certificate=str(file)).startswith(
        f"tls.certificate: {file} cannot be loaded with tls.key "
    )


def test_the_certificate_of_a_node_is_no_ca(authority: Authority) -> None:
    file = str(authority.certificate("10.0.0.9"))
    assert refusal(authority, ca=file) == f"tls.ca: {file} holds no certificate of a CA; expected them in PEM"


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    key, certificate = str(authority.certificate("10.0.0.9")), str(authority.certificate("10.0.0.2"))
    wrong = refusal(authority, key=key, certificate=certificate)
    assert wrong == f"tls.key: {key} is not the key of tls.certificate {certificate}"


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(authority: Authority, tmp_path: Path) -> None:
    file = tmp_path / "encrypted.pem"
    made = ec.generate_private_key(ec.SECP256R1())
    lock = serialization.BestAvailableEncryption(b"secret")
    file.write_bytes(made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))
    assert refusal(authority, key=str(file)) == f"tls.key: {file} is encrypted; expected a key without a passphrase"

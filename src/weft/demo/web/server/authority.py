"""An own certificate authority, so that hosts can be secure; needs the package `cryptography`."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError

if TYPE_CHECKING:
    from cryptography import x509


class NoCertificates(WeftError):  # noqa: N818 - a state of the installation
    """Certificates cannot be made here."""


class Authority:
    """Makes a certificate for any name; its own stands in `ca.pem` of the directory."""

    def __init__(self, directory: Path) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise NoCertificates("TLS needs the package `cryptography`, which is not installed") from error
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("weft demo authority")
        self._certificate = self._signed(self._name, self._key.public_key(), is_authority=True)
        self.file = directory / "ca.pem"
        self.file.write_bytes(_pem(self._certificate))
        # One key for all hosts: making keys is the dearer part.
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self.context_for = lru_cache(maxsize=4_096)(self._make_context)

    def server_context(self, is_known: Callable[[str], bool]) -> ssl.SSLContext:
        """A context that chooses the certificate by the name that the client asks for."""

        def choose(connection: Any, name: str | None, _: ssl.SSLContext) -> int | None:
            if name is None or not is_known(name):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            connection.context = self.context_for(name)
            return None

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        return context

    def _make_context(self, name: str) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization

        file = self._directory / "host.pem"
        certificate = self._signed(_name(name), self._host_key.public_key(), host=name)
        key = self._host_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.touch(mode=0o600)
        file.write_bytes(key + _pem(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(self, subject: x509.Name, key: Any, *, host: str = "", is_authority: bool = False) -> x509.Certificate:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=90))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(_usage(is_authority), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _usage(is_authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    # Longer names than 64 characters do not fit here; what counts is the alternative name.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)

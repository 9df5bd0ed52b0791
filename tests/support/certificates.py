"""An authority of our own, and what it signs."""

from __future__ import annotations

import datetime
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def _alternative(name: str) -> x509.GeneralName:
    """A name, or an address, or a URL."""
    if ":/" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass
class Authority:
    directory: Path

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        certificate = self._builder(self._name, self._key, days=2).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file = self.directory / "authority.pem"
        signed = certificate.sign(self._key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def server(self, *names: str, days: int = 2, common: str = "") -> ssl.SSLContext:
        """A server's context for these names."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate(*names, days=days, common=common))
        return context

    def certificate(self, *names: str, days: int = 2, common: str = "") -> Path:
        """A file with a certificate for these names and its key; with a negative number of days it has expired.

        Its common name is the first of them, or `common`.
        """
        key, subject = ec.generate_private_key(ec.SECP256R1()), common or names[0]
        signed = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]), key, days)
        if names:
            alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
            signed = signed.add_extension(alternatives, critical=False)
        file = self.directory / f"{subject}-{'-'.join(names).replace('/', '_')[:40]}-{days}.pem"
        file.write_bytes(
            signed.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return file

    def tls(self, *names: str, days: int = 2) -> dict[str, str]:
        """Settings of a node with these names."""
        file = str(self.certificate(*names, days=days))
        return {"tls.certificate": file, "tls.key": file, "tls.ca": str(self.file)}

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 10 * _DAY)
            .not_valid_after(now + days * _DAY)
        )

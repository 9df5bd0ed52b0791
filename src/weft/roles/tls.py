"""TLS between nodes, from `[tls]`: what a node listens with, and what it dials others with."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from weft.config import Settings
from weft.errors import UsageError
from weft.roles.listener import is_loopback


def uses_tls(settings: Settings, host: str) -> bool:
    """Whether nodes talk TLS at `host`, and nothing else; `host` is as in the settings, a name or an address."""
    return bool(settings.tls.ca) and (settings.tls.loopback or not is_loopback(host))


def server_context(settings: Settings, host: str = "") -> ssl.SSLContext | None:
    """What to listen with on `host`; None: in the clear. Raises UsageError."""
    tls = settings.tls
    if not uses_tls(settings, host):
        return None
    if not tls.certificate:
        raise UsageError("tls.certificate: expected a file, and tls.key too: with tls.ca set, this node listens by TLS")
    _require_readable("tls.certificate", tls.certificate)
    _require_readable("tls.key", tls.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_certificate(context, tls.certificate, tls.key)
    return context


def client_context(settings: Settings, host: str = "") -> ssl.SSLContext | None:
    """What to dial `host` with; None: in the clear. Raises UsageError.

    It trusts the CA of the settings and no other, and wants the certificate to name the host that was dialled.
    """
    if not uses_tls(settings, host):
        return None
    _require_readable("tls.ca", settings.tls.ca)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    with suppress(ssl.SSLError):  # said below: a file with other certificates is as useless
        context.load_verify_locations(settings.tls.ca)
    if not context.get_ca_certs():
        raise UsageError(f"tls.ca: {settings.tls.ca} holds no certificate of a CA; expected them in PEM")
    return context


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    try:
        # Its callback is asked only for an encrypted key. Without one OpenSSL would ask whoever sits at the terminal.
        context.load_cert_chain(certificate, key, password=_refuse_passphrase)
    except ssl.SSLError as error:
        raise UsageError(_loading_problem(error, certificate, key)) from error
    except _Encrypted as error:
        raise UsageError(f"tls.key: {key} is encrypted; expected a key without a passphrase") from error


def _loading_problem(error: ssl.SSLError, certificate: str, key: str) -> str:
    if not _holds(certificate, b"BEGIN CERTIFICATE-----"):
        return f"tls.certificate: {certificate} holds no certificate; expected one in PEM"
    if not _holds(key, b"PRIVATE KEY-----"):
        return f"tls.key: {key} holds no private key; expected one in PEM"
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"tls.key: {key} is not the key of tls.certificate {certificate}"
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return f"tls.certificate: {certificate} cannot be loaded with tls.key {key}: {reason}"


class _Encrypted(Exception):  # noqa: N818
    """The key needs a passphrase."""


def _refuse_passphrase() -> str:
    raise _Encrypted


def _holds(file: str, words: bytes) -> bool:
    return words in Path(file).read_bytes()


def _require_readable(setting: str, file: str) -> None:
    """OpenSSL does not say which of its files it could not read."""
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{setting}: {file} cannot be read: {error.strerror}") from error

"""What `[store] url` says of a cluster."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from weft.config.text import hide_password
from weft.errors import UsageError

if TYPE_CHECKING:
    from cassandra.auth import AuthProvider

_FORM: Final = "cassandra://[USER:PASSWORD@]HOST[,HOST…][:PORT]/KEYSPACE[?datacenter=NAME][&tls=FILE]"
_OPTIONS: Final = {"datacenter", "tls"}
PORT: Final = 9042


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    hosts: tuple[str, ...]
    port: int
    keyspace: str
    datacenter: str = ""
    user: str = ""
    password: str = ""
    tls: str = ""
    """A file with the CA whose certificates the nodes have; empty: nothing is encrypted."""

    def __str__(self) -> str:
        """Without the password."""
        hosts = ",".join(f"[{host}]" if ":" in host else host for host in self.hosts)
        return f"cassandra://{hosts}:{self.port}/{self.keyspace}"

    def login(self) -> AuthProvider | None:
        from cassandra.auth import PlainTextAuthProvider

        return PlainTextAuthProvider(self.user, self.password) if self.user else None

    def encryption(self) -> ssl.SSLContext | None:
        """Raises UsageError if the file cannot be read."""
        if not self.tls:
            return None
        try:
            # A node must have a certificate of this CA that names the address it is dialled by.
            context = ssl.create_default_context(cafile=self.tls)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"store.url: tls: {self.tls} cannot be read ({error.strerror}); expected a CA's certificate in PEM form"
            ) from error
        context.hostname_checks_common_name = False
        return context


def parse_address(url: str) -> ClusterAddress:
    """Raises UsageError with what is wrong and what was expected."""
    parts = urlsplit(url)
    keyspace = parts.path.strip("/")
    where = parts.netloc.rpartition("@")[2]
    hosts, port = _hosts(url, where)
    if parts.scheme != "cassandra" or not hosts:
        raise _refused(url, "it names no host")
    if not (keyspace.isascii() and keyspace.isidentifier()) or len(keyspace) > 48 or keyspace != keyspace.lower():
        raise _refused(url, "the keyspace must be a name of small letters, digits and _, of at most 48 characters")
    options = dict(parse_qsl(parts.query))
    if unknown := options.keys() - _OPTIONS:
        raise _refused(url, f"{min(unknown)} is no option")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    datacenter, tls = options.get("datacenter", ""), options.get("tls", "")
    return ClusterAddress(hosts, port, keyspace, datacenter, user, password, tls)


def _hosts(url: str, where: str) -> tuple[tuple[str, ...], int]:
    names, port = list[str](), PORT
    for each in where.split(","):
        name, colon, digits = each.rpartition(":")
        if colon and digits.isdecimal() and "]" not in digits:
            port = int(digits)
        else:
            name = each
        if not name.strip("[]"):
            raise _refused(url, "it names no host")
        names.append(name.strip("[]"))
    if not 0 < port < 65_536:
        raise _refused(url, f"{port} is no port")
    return tuple(names), port


def _refused(url: str, problem: str) -> UsageError:
    return UsageError(f"store.url: {problem} in {hide_password(url)[:200]!r}; expected {_FORM}")

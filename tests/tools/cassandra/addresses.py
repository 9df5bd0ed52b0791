"""Loopback addresses for the nodes of a cluster: 127.0.0.1, 127.0.0.2 and so on, or a block that nobody else uses."""

from __future__ import annotations

import errno
import ipaddress
import random
import socket

from tools.cassandra.problems import NoCassandraError

NATIVE_PORT = 9042
STORAGE_PORT = 7000
MANAGEMENT_PORT = 7199
_PORTS = (NATIVE_PORT, STORAGE_PORT, MANAGEMENT_PORT)


def following(first: str, count: int) -> list[str]:
    try:
        start = ipaddress.IPv4Address(first)
        found = [start + i for i in range(count)]
    except ValueError as error:
        raise NoCassandraError(f"{first} is no address; expected an IPv4 address such as 127.0.0.1.") from error
    if not all(address.is_loopback for address in found):
        # A node asks nobody for a password.
        raise NoCassandraError(f"{found[-1]} is not in 127.0.0.0/8; expected loopback addresses for {count} nodes.")
    return [str(address) for address in found]


def free_block(count: int) -> str:
    """The first address of a block of our own, so that clusters live beside each other with the same ports."""
    for _ in range(50):
        first = f"127.{random.randint(10, 250)}.{random.randint(0, 255)}.1"
        try:
            require_free(following(first, count))
        except NoCassandraError:
            continue
        return first
    raise NoCassandraError("No free loopback addresses were found; expected some in 127.0.0.0/8 with free ports.")


def require_free(addresses: list[str]) -> None:
    for address in addresses:
        for port in _PORTS:
            _require_free(address, port)


def accepts(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def _require_free(address: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = (
                    f"Port {port} of {address} is taken by another program; expected to find it free for Cassandra."
                )
            else:
                reason = f"{address} cannot be used ({error.strerror}); expected it to be an address of this machine."
            raise NoCassandraError(reason) from error

"""Asking name servers: a socket of its own for every question, so that only the server asked can answer it."""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from weft.addresses.dns_message import (
    LARGEST_MESSAGE,
    DnsMessage,
    DnsQuestion,
    NotDns,
    RecordType,
    ResponseCode,
    decode,
    is_answer,
)
from weft.errors import WeftError

Server = tuple[str, int]
"""Address and port."""
SYSTEM_SERVERS: Final = Path("/etc/resolv.conf")

_LARGEST_DATAGRAM: Final = 65_535
_ROUNDS: Final = 3
"""Times that a question is sent to a server that stays silent."""
_MOST_STRAYS: Final = 32
"""Datagrams other than the answer that are looked at: reading on and on would hold up everything else."""
_NAMESERVER: Final = re.compile(r"\s*nameserver\s+\S")
_USABLE: Final = (ResponseCode.NOERROR, ResponseCode.NXDOMAIN)


class NoAnswer(WeftError):  # noqa: N818 - the name servers' state, not a fault of ours
    """No name server gave an answer that can be used; a later question may well be answered."""


class NameServers:
    """Name servers, asked in turn until one answers; one that fails is asked last from then on."""

    def __init__(self, servers: Iterable[Server], timeout: float) -> None:
        self._servers = list(servers)
        self._patience = timeout / _ROUNDS / max(1, len(self._servers))

    async def ask(self, name: str, type_: RecordType) -> DnsMessage:
        """The answer of the first server that has one; NotDns if the name cannot be asked for."""
        question = DnsQuestion(0, name, type_)
        question.encode()
        waiting, problem = list(self._servers), "there is no name server to ask"
        for server in waiting * _ROUNDS:
            if server not in waiting:
                continue
            try:
                return await self._ask(server, question._replace(id=secrets.randbits(16)))
            except TimeoutError:
                problem = "no answer in time"
            except (NoAnswer, NotDns, OSError) as error:
                # It did answer; asking it again would not change that.
                waiting.remove(server)
                problem = str(error)
            self._put_last(server)
        raise NoAnswer(f"{name}: {problem}")

    async def _ask(self, server: Server, question: DnsQuestion) -> DnsMessage:
        async with asyncio.timeout(self._patience):
            message = decode(await _over_udp(server, question))
            if message.is_truncated:
                message = decode(await _over_tcp(server, question))
        if message.code not in _USABLE or message.is_truncated:
            raise NoAnswer(f"name server {server[0]} answered {_code(message)}")
        return message

    def _put_last(self, server: Server) -> None:
        # Many questions notice at the same time; only the first of them moves it.
        if self._servers[0] == server:
            self._servers.append(self._servers.pop(0))


def system_servers(path: Path = SYSTEM_SERVERS) -> list[Server]:
    """The name servers of this machine; one on it if it names none, as its own resolver assumes."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.split()[1] for line in lines if _NAMESERVER.match(line))
    return [(address, 53) for address in named if _is_address(address)] or [("127.0.0.1", 53)]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


async def _over_udp(server: Server, question: DnsQuestion) -> bytes:
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as connection:
        connection.setblocking(False)
        connection.connect(server)
        connection.send(question.encode())
        for _ in range(_MOST_STRAYS):
            data = await loop.sock_recv(connection, _LARGEST_DATAGRAM)
            if is_answer(data, question):
                return data
    raise NoAnswer(f"name server {server[0]} answered other questions")


async def _over_tcp(server: Server, question: DnsQuestion) -> bytes:
    reader, writer = await asyncio.open_connection(*server)
    try:
        message = question.encode()
        writer.write(len(message).to_bytes(2) + message)
        size = int.from_bytes(await reader.readexactly(2))
        if size > LARGEST_MESSAGE:
            raise NoAnswer(f"name server {server[0]} answered with {size} bytes; expected at most {LARGEST_MESSAGE}")
        data = await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise NoAnswer(f"name server {server[0]} closed the connection") from error
    finally:
        writer.close()
    if not is_answer(data, question):
        raise NoAnswer(f"name server {server[0]} answered other questions")
    return data


def _code(message: DnsMessage) -> str:
    if message.is_truncated:
        return "in parts"
    return ResponseCode(message.code).name if message.code in list(ResponseCode) else f"with code {message.code}"

"""A small name server on loopback, over UDP and TCP, that says whatever a test wants it to."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self

A, CNAME, SOA, AAAA = 1, 5, 6, 28
SERVFAIL, NXDOMAIN, REFUSED = 2, 3, 5
RESPONSE, TRUNCATED = 0x8180, 0x0200


@dataclass
class Reply:
    """What to say to a question. Records are (name, type, ttl, data); data is text, or bytes as they are."""

    answers: list[tuple[str, int, int, str | bytes]] = field(default_factory=list)
    code: int = 0
    authorities: list[tuple[str, int, int, str | bytes]] = field(default_factory=list)
    only_over_tcp: bool = False


@dataclass
class Asked:
    """A question as it came; `respond` sends any bytes back."""

    id: int
    name: str
    type: int
    question: bytes
    is_tcp: bool
    client: tuple[str, int] | None
    respond: Callable[[bytes], None]

    def message(self, reply: Reply, *, id_: int | None = None, question: bytes | None = None) -> bytes:
        flags = RESPONSE | reply.code | (TRUNCATED if reply.only_over_tcp and not self.is_tcp else 0)
        answers = [] if flags & TRUNCATED else reply.answers
        counts = (1, len(answers), len(reply.authorities), 0)
        header = struct.pack("!6H", self.id if id_ is None else id_, flags, *counts)
        records = b"".join(encoded_record(*each) for each in (*answers, *reply.authorities))
        return header + (question or self.question) + records


Handler = Callable[[Asked], Awaitable[Reply | None]]
Zone = dict[tuple[str, int], Reply]


def a(name: str, *addresses: str, ttl: int = 300) -> Reply:
    """An answer with the addresses of a name."""
    return Reply([(name, AAAA if ":" in address else A, ttl, address) for address in addresses])


def zone_end(ttl: int, minimum: int) -> tuple[str, int, int, bytes]:
    """The record by which a zone says for how long a name is not there."""
    data = encoded_name("ns.example") + encoded_name("me.example") + struct.pack("!5I", 1, 2, 3, 4, minimum)
    return "example", SOA, ttl, data


class NameServer:
    """`async with NameServer(zone or handler) as server`; a name that is not in the zone does not exist."""

    def __init__(self, says: Zone | Handler) -> None:
        self._says = says
        self.asked: list[Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(asked.name, asked.type) for asked in self.asked]

    async def __aenter__(self) -> Self:
        self._tcp = await asyncio.start_server(self._serve_tcp, "127.0.0.1", 0)
        host, self.port = self._tcp.sockets[0].getsockname()[:2]
        self.address = f"{host}:{self.port}"
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(lambda: _Udp(self), local_addr=(host, self.port))
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._udp.close()
        self._tcp.close()

    def take(self, data: bytes, client: tuple[str, int] | None, respond: Callable[[bytes], None]) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(read_question(data, client, respond)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, asked: Asked) -> None:
        self.asked.append(asked)
        if isinstance(self._says, dict):
            reply: Reply | None = self._says.get((asked.name, asked.type), Reply(code=NXDOMAIN))
        else:
            reply = await self._says(asked)
        if reply is not None:
            asked.respond(asked.message(reply))

    async def _serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.readexactly(int.from_bytes(await reader.readexactly(2)))

        def respond(message: bytes) -> None:
            writer.write(len(message).to_bytes(2) + message if message else b"")
            writer.close()

        self.take(data, None, respond)


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, client: tuple[str, int]) -> None:
        self._server.take(data, client, lambda message: self._transport.sendto(message, client))


def read_question(data: bytes, client: tuple[str, int] | None, respond: Callable[[bytes], None]) -> Asked:
    id_, flags, questions = struct.unpack_from("!3H", data)
    assert flags == 0x0100, "a plain question that asks for recursion"
    assert questions == 1
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode())
        at += 1 + size
    type_, class_ = struct.unpack_from("!2H", data, at + 1)
    assert class_ == 1
    return Asked(id_, ".".join(labels), type_, data[12 : at + 5], client is None, client, respond)


def encoded_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def encoded_record(name: str, type_: int, ttl: int, data: str | bytes) -> bytes:
    if isinstance(data, str):
        data = ip_address(data).packed if type_ in (A, AAAA) else encoded_name(data)
    return encoded_name(name) + struct.pack("!2HIH", type_, 1, ttl, len(data)) + data


def silent_port() -> socket.socket:
    """A UDP socket that takes everything and says nothing; close it."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 0))
    return taken


def closed_port() -> int:
    with silent_port() as freed:
        port: int = freed.getsockname()[1]
    return port

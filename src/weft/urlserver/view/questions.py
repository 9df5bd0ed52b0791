"""Questions about a host over the URL server's socket, one JSON line each way: both ends."""

from __future__ import annotations

import asyncio
import hmac
import socket
import ssl
from typing import Final, Protocol

import msgspec

from weft.config import host_and_port
from weft.config.settings import Settings
from weft.errors import WeftError
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.port import OpenPort, open_port
from weft.roles.tls import client_context
from weft.roles.tls_problems import FIRST_BYTE, dial_problem
from weft.urlserver.view.snapshot import HostView, Snapshot

LONGEST_QUESTION: Final = 16 * 1024
LONGEST_ANSWER: Final = 1 << 20
SECONDS: Final = 5.0
_HUNG_UP: Final = "it hung up without an answer; perhaps it speaks TLS and this node does not (tls.ca)"
_SPEAKS_TLS: Final = "it speaks TLS, and this port does not (tls.certificate is not set here)"


class HostQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """About a web host, and whether its robots.txt allows a URL there; without one, about all queues."""

    web_host: str = ""
    url: str = ""
    token: str = ""


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    host: HostView | None = None
    queues: Snapshot | None = None
    problem: str = ""


class NoUrlServer(WeftError):  # noqa: N818 - an answer about what runs
    """Nobody answers where the URL server should be."""

    exit_code = 1


class HostExplainer(Protocol):
    def explain(self, web_host: str, url: str) -> HostView: ...

    def queues(self) -> Snapshot: ...


class _Asker:
    """Whoever asks; everybody has SECONDS, so nobody has to be trusted for longer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def turn_away(self, _reason: str) -> None:
        self._writer.transport.abort()


async def serve_questions(
    listener: socket.socket, token: str, explainer: HostExplainer, tls: ssl.SSLContext | None = None
) -> OpenPort:
    """Answer at the socket until the port is closed."""
    limit = ConnectionLimit()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asker = _Asker(writer)
        peer = writer.get_extra_info("peername") or ("?", 0)
        limit.arrived(asker, peer[0])
        try:
            async with asyncio.timeout(SECONDS):
                line = await _question(reader)
                if line.startswith(FIRST_BYTE):
                    limit.tell(asker, "{}:{}".format(*peer[:2]), _SPEAKS_TLS)
                    return
                writer.write(msgspec.json.encode(_answer(line, token, explainer)) + b"\n")
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # the other end has hung up, or sent no line in time
        except asyncio.CancelledError:
            pass  # the loop ends; asyncio would print a traceback for whoever is connected at that moment
        finally:
            limit.gone(asker)
            writer.close()

    def connect() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(LONGEST_QUESTION), answer)

    return await open_port(listener, connect, tls)


async def _question(reader: asyncio.StreamReader) -> bytes:
    """A line, or the first byte of somebody who speaks TLS: no line may ever come of that."""
    first = await reader.read(1)
    return first if first in (b"", b"\n", FIRST_BYTE) else first + await reader.readline()


def _answer(line: bytes, token: str, explainer: HostExplainer) -> HostAnswer:
    try:
        question = msgspec.json.decode(line, type=HostQuestion)
    except (msgspec.MsgspecError, RecursionError) as error:
        return HostAnswer(problem=f"not a question: {error}")
    if not hmac.compare_digest(question.token.encode(), token.encode()):
        return HostAnswer(problem="wrong token; expected the URL server's spider.token")
    try:
        if not question.web_host:
            return HostAnswer(queues=explainer.queues())
        return HostAnswer(host=explainer.explain(question.web_host, question.url))
    except WeftError as error:
        return HostAnswer(problem=str(error))


def ask_host(settings: Settings, web_host: str, url: str, address: str = "") -> HostView:
    """What the URL server at `address`, by default that of the settings, knows of a web host; raises NoUrlServer."""
    where = address or settings.urlserver.listen
    question = HostQuestion(web_host=web_host, url=url, token=settings.spider.token)
    answer = _ask(where, question, client_context(settings, host_and_port(where)[0]))
    if answer.host is None:
        raise NoUrlServer(f"URL server {where}: {answer.problem}")
    return answer.host


def ask_queues(settings: Settings, address: str) -> Snapshot:
    """What the queues of the URL server at `address` look like; raises NoUrlServer."""
    tls = client_context(settings, host_and_port(address)[0])
    answer = _ask(address, HostQuestion(token=settings.spider.token), tls)
    if answer.queues is None:
        raise NoUrlServer(f"URL server {address}: {answer.problem}")
    return answer.queues


def _ask(address: str, question: HostQuestion, tls: ssl.SSLContext | None) -> HostAnswer:
    host, port = host_and_port(address)
    try:
        with _dialled(host, port, tls) as connection:
            connection.sendall(msgspec.json.encode(question) + b"\n")
            with connection.makefile("rb") as file:
                line = file.readline(LONGEST_ANSWER)
        return msgspec.json.decode(line, type=HostAnswer) if line else HostAnswer(problem=_HUNG_UP)
    except (OSError, msgspec.MsgspecError) as error:
        if tls and isinstance(error, OSError) and (problem := dial_problem(error, host)):
            raise NoUrlServer(f"URL server {address}: {problem}") from error
        raise NoUrlServer(f"no URL server answers at {address} ({error}); `weft run urlserver` starts one") from error


def _dialled(host: str, port: int, tls: ssl.SSLContext | None) -> socket.socket:
    connection = socket.create_connection((host, port), SECONDS)
    if tls is None:
        return connection
    try:
        return tls.wrap_socket(connection, server_hostname=host)
    except OSError:
        connection.close()
        raise

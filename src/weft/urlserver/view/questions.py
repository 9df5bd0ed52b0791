"""Questions about a host over the URL server's socket, one JSON line each way: both ends."""

from __future__ import annotations

import asyncio
import hmac
import socket
from typing import Final, Protocol

import msgspec

from weft.config import host_and_port
from weft.config.settings import Settings
from weft.errors import WeftError
from weft.roles.connection_limit import ConnectionLimit
from weft.urlserver.view.snapshot import HostView

LONGEST_QUESTION: Final = 16 * 1024
LONGEST_ANSWER: Final = 1 << 20
SECONDS: Final = 5.0


class HostQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """About a web host, and whether its robots.txt allows a URL there."""

    web_host: str
    url: str = ""
    token: str = ""


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    host: HostView | None = None
    problem: str = ""


class NoUrlServer(WeftError):  # noqa: N818 - an answer about what runs
    """Nobody answers where the URL server should be."""

    exit_code = 1


class HostExplainer(Protocol):
    def explain(self, web_host: str, url: str) -> HostView: ...


class _Asker:
    """Whoever asks; everybody has SECONDS, so nobody has to be trusted for longer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def turn_away(self, _reason: str) -> None:
        self._writer.transport.abort()


async def serve_questions(listener: socket.socket, token: str, explainer: HostExplainer) -> asyncio.Server:
    """Answer at the socket until the server is closed."""
    limit = ConnectionLimit()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asker = _Asker(writer)
        limit.arrived(asker, (writer.get_extra_info("peername") or ("?",))[0])
        try:
            async with asyncio.timeout(SECONDS):
                line = await reader.readline()
                writer.write(msgspec.json.encode(_answer(line, token, explainer)) + b"\n")
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # the other end has hung up, or sent no line in time
        except asyncio.CancelledError:
            pass  # the loop ends; asyncio would print a traceback for whoever is connected at that moment
        finally:
            limit.gone(asker)
            writer.close()

    return await asyncio.start_server(answer, sock=listener, limit=LONGEST_QUESTION)


def _answer(line: bytes, token: str, explainer: HostExplainer) -> HostAnswer:
    try:
        question = msgspec.json.decode(line, type=HostQuestion)
    except (msgspec.MsgspecError, RecursionError) as error:
        return HostAnswer(problem=f"not a question: {error}")
    if not hmac.compare_digest(question.token.encode(), token.encode()):
        return HostAnswer(problem="wrong token; expected the URL server's spider.token")
    try:
        return HostAnswer(host=explainer.explain(question.web_host, question.url))
    except WeftError as error:
        return HostAnswer(problem=str(error))


def ask_host(settings: Settings, web_host: str, url: str, address: str = "") -> HostView:
    """What the URL server at `address`, by default that of the settings, knows of a web host; raises NoUrlServer."""
    where = address or settings.urlserver.listen
    answer = _ask(where, HostQuestion(web_host=web_host, url=url, token=settings.spider.token))
    if answer.host is None:
        raise NoUrlServer(f"URL server {where}: {answer.problem}")
    return answer.host


def _ask(address: str, question: HostQuestion) -> HostAnswer:
    try:
        with socket.create_connection(host_and_port(address), SECONDS) as connection:
            connection.sendall(msgspec.json.encode(question) + b"\n")
            with connection.makefile("rb") as file:
                return msgspec.json.decode(file.readline(LONGEST_ANSWER), type=HostAnswer)
    except (OSError, msgspec.MsgspecError) as error:
        raise NoUrlServer(f"no URL server answers at {address} ({error}); `weft run urlserver` starts one") from error

"""Questions about a host: a URL server answers them at its own address, one JSON line for one JSON line."""

from __future__ import annotations

import asyncio
import hmac
import socket
from typing import Final, Protocol

import msgspec

from weft.config import host_and_port
from weft.config.settings import Settings
from weft.errors import WeftError
from weft.urlserver.snapshot import HostView

LONGEST_QUESTION: Final = 16 * 1024
LONGEST_ANSWER: Final = 1 << 20
SECONDS: Final = 5.0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """About a web host, and what its robots.txt says to a URL there."""

    web_host: str
    url: str = ""
    token: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    host: HostView | None = None
    problem: str = ""


class NoUrlServer(WeftError):  # noqa: N818 - an answer about what runs
    """Nobody answers where the URL server should be."""

    exit_code = 1


class Informant(Protocol):
    def explain(self, web_host: str, url: str) -> HostView: ...


async def serve_questions(listener: socket.socket, token: str, informant: Informant) -> asyncio.Server:
    """Answer at the socket until the server is closed."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                line = await reader.readline()
                writer.write(msgspec.json.encode(_answer(line, token, informant)) + b"\n")
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # whoever asks like this has hung up or does not listen
        finally:
            writer.close()

    return await asyncio.start_server(answer, sock=listener, limit=LONGEST_QUESTION)


def _answer(line: bytes, token: str, informant: Informant) -> Answer:
    try:
        question = msgspec.json.decode(line, type=Question)
    except msgspec.MsgspecError as error:
        return Answer(problem=f"not a question: {error}")
    if not hmac.compare_digest(question.token.encode(), token.encode()):
        return Answer(problem="wrong token; expected the URL server's spider.token")
    try:
        return Answer(host=informant.explain(question.web_host, question.url))
    except WeftError as error:
        return Answer(problem=str(error))


def ask_host(settings: Settings, web_host: str, url: str, address: str = "") -> HostView:
    """What the URL server at `address`, by default that of the settings, knows of a web host; raises NoUrlServer."""
    where = address or settings.urlserver.listen
    answer = _ask(where, Question(web_host=web_host, url=url, token=settings.spider.token))
    if answer.host is None:
        raise NoUrlServer(f"URL server {where}: {answer.problem}")
    return answer.host


def _ask(address: str, question: Question) -> Answer:
    try:
        with socket.create_connection(host_and_port(address), SECONDS) as connection:
            connection.sendall(msgspec.json.encode(question) + b"\n")
            with connection.makefile("rb") as file:
                return msgspec.json.decode(file.readline(LONGEST_ANSWER), type=Answer)
    except (OSError, msgspec.MsgspecError) as error:
        raise NoUrlServer(f"no URL server answers at {address} ({error}); `weft run urlserver` starts one") from error

"""`GET /records?file=&offset=&length=`: packed records by position, for builders on other nodes."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from weft.archive.archive_errors import RecordDropped, RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import LARGEST
from weft.archive.record_reader import read_member_bytes
from weft.roles.connection_limit import ConnectionLimit
from weft.roles.http_protocol import HttpAnswer, HttpProtocol, HttpRequest

BEGINNING: Final = b"GET /"
_MOST_FIELDS: Final = 10


class RecordsProtocol(HttpProtocol):
    """Answers nothing but this one question."""

    token_of = "spider"  # noqa: S105 - whose, not which

    def __init__(self, archive: Path, token: str, limit: ConnectionLimit, readers: Executor) -> None:
        super().__init__(token, limit)
        self._archive, self._readers = archive, readers

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        position = asked_position(request)
        if position is None:
            return HttpAnswer(400, b"expected GET /records?file=NAME&offset=NUMBER&length=NUMBER\n")
        loop = asyncio.get_running_loop()
        try:
            member = await loop.run_in_executor(self._readers, read_member_bytes, self._archive, position)
        except RecordDropped as error:
            return HttpAnswer(410, f"{error}\n".encode())
        except RecordUnreadable as error:
            return HttpAnswer(404, f"{error}\n".encode())
        # Without a token, whoever knows where a record lies has shown enough.
        return HttpAnswer(200, member, "application/warc", shows_trust=True)


def asked_position(request: HttpRequest) -> RecordPosition | None:
    path, _, query = request.target.partition("?")
    if query.count("&") > _MOST_FIELDS:
        return None
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    numbers = [asked.get(name, "") for name in ("offset", "length")]
    is_asked = request.method == "GET" and path == "/records"
    if not is_asked or not all(n.isascii() and n.isdecimal() and len(n) < 19 for n in numbers):
        return None
    offset, length = map(int, numbers)
    return RecordPosition(asked.get("file", ""), offset, length) if 0 < length <= LARGEST else None

"""Reads records that lie on another node, over HTTP."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import urlencode

from weft.archive.archive_errors import RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import ArchivedResponse, parse_record

_TIMEOUT: Final = 30.0


class RemoteRecords:
    """Keeps one connection to each node; not for several threads at once."""

    def __init__(self, token: str = "", timeout: float = _TIMEOUT) -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._connections: dict[str, HTTPConnection] = {}

    def read(self, node: str, position: RecordPosition) -> ArchivedResponse:
        """The response at a position on the node `host:port`; raises RecordUnreadable."""
        record = parse_record(self._member(node, position), position)
        if record.refers_to is None:
            return record.response()
        return record.response(parse_record(self._member(node, record.refers_to), record.refers_to))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _member(self, node: str, position: RecordPosition) -> bytes:
        query = urlencode({"file": position.file, "offset": position.offset, "length": position.length})
        try:
            status, body = self._get(node, f"/records?{query}")
        except (OSError, HTTPException) as error:
            raise RecordUnreadable(
                node, f"cannot be asked for {position.file}: {error or type(error).__name__}"
            ) from error
        if status != 200:
            raise RecordUnreadable(node, f"{status}: {body[:200].decode(errors='replace').strip()}")
        return body

    def _get(self, node: str, target: str) -> tuple[int, bytes]:
        """Ask over the kept connection; the other side may have closed it meanwhile, so ask twice."""
        for _ in range(2):
            is_new = node not in self._connections
            connection = self._connections.setdefault(node, HTTPConnection(node, timeout=self._timeout))
            try:
                connection.request("GET", target, headers=self._headers)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, HTTPException):
                connection.close()
                del self._connections[node]
                if is_new:
                    raise
        raise HTTPException("closed twice")

"""Reading the head of an HTTP/1.1 request."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_HEAD: Final = 64 << 10
MOST_BODY: Final = 1 << 20


class BadRequest(Exception):  # noqa: N818 - an answer to the client
    """What the client sent is no request; carries the status to answer with."""

    def __init__(self, status: int = 400) -> None:
        super().__init__(status)
        self.status = status


class Head(NamedTuple):
    """Header names in lower case; of a repeated header the last one counts."""

    method: str
    target: str
    host: str
    headers: dict[bytes, bytes]
    is_kept: bool
    body_length: int


def read_head(data: bytes) -> Head:
    """`data` is everything before the empty line; raises BadRequest."""
    first, *lines = data.split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not words[1].startswith((b"/", b"*")):
        raise BadRequest
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise BadRequest
        headers[name.lower()] = value.strip()
    try:
        method, target = words[0].decode("ascii"), words[1].decode("ascii")
        host = headers.get(b"host", b"").decode("ascii").lower().partition(":")[0]
    except UnicodeDecodeError:
        raise BadRequest from None
    asked = headers.get(b"connection", b"").lower()
    is_kept = b"close" not in asked and (words[2] != b"HTTP/1.0" or b"keep-alive" in asked)
    return Head(method, target, host, headers, is_kept, _body_length(headers))


def _body_length(headers: dict[bytes, bytes]) -> int:
    text = headers.get(b"content-length", b"0")
    if not text.isdigit() or b"transfer-encoding" in headers:
        raise BadRequest(411)
    if int(text) > MOST_BODY:
        raise BadRequest(413)
    return int(text)

"""The lines between a URL server and a spider: what each may say, and nothing else. See docs/wire.md."""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Iterator
from typing import Final, NamedTuple, NewType

import msgspec

from weft.errors import WeftError

VERSION: Final = 1
LONGEST_LINE: Final = 16 * 1024
"""Bytes of a line with its line feed."""

TransId = NewType("TransId", str)
"""Names one sending of one URL; opaque to the spider, which repeats it in every line about it."""

_TRANS_ID: Final = rb"([!-~]{1,64})"
_NUMBER: Final = rb"(0|[1-9][0-9]{0,18})"
# A URL in serialised form: the path is never empty; userinfo and fragment are not sent.
_FETCH: Final = re.compile(_TRANS_ID + b" " + _NUMBER + rb" ([0-9A-Fa-f:.]{2,45}) (https?://[^/?#@\\ ]+/[^# ]*)")
_REPLY: Final = re.compile(_TRANS_ID + rb" (DONE|WORKING)")
_HELLO: Final = re.compile(rb"HELLO " + _NUMBER + rb" ([!-~]+)")
_SLOTS: Final = re.compile(rb"\.".join([_NUMBER] * 3))
_UNPRINTABLE: Final = re.compile(rb"[^ -~]")
_MOST: Final = 2**63 - 1
_EXPECTED_REQUEST: Final = "expected <TRANS_ID> <DOC_ID> <HOST_IP> <URL>"
_EXPECTED_REPLY: Final = "expected <TRANS_ID> DONE or <TRANS_ID> WORKING"
_EXPECTED_SLOTS: Final = "expected three whole numbers below 2^63 with dots between"


class WireError(WeftError):
    """A line that must not be sent, or that the other side must not have sent: the connection is of no use any more."""


class Hello(msgspec.Struct, frozen=True):
    """The first line where spider and URL server share a token."""

    token: str

    def __repr__(self) -> str:
        return "Hello(***)"

    def is_for(self, token: str) -> bool:
        """Compare the tokens in a time that tells nothing about them."""
        return hmac.compare_digest(self.token.encode(), token.encode())


class Fetch(msgspec.Struct, frozen=True):
    """Fetch `url`, the link `doc_id`, from the host at `ip`."""

    trans_id: TransId
    doc_id: int
    ip: str
    url: str


class Done(msgspec.Struct, frozen=True):
    """The fetch is over, well or badly, and its result is stored."""

    trans_id: TransId


class Working(msgspec.Struct, frozen=True):
    """The fetch goes on."""

    trans_id: TransId


class Slots(NamedTuple):
    """What the URL server finds a sent URL by. Generations are never used again, so a late line means nobody else."""

    host: int
    active: int
    generation: int


def make_trans_id(slots: Slots) -> TransId:
    trans_id = TransId(f"{slots.host}.{slots.active}.{slots.generation}")
    if min(slots) < 0 or max(slots) > _MOST:
        raise _not_ours(trans_id)
    return trans_id


def split_trans_id(trans_id: TransId) -> Slots:
    """The slots that a TRANS_ID was made of; WireError for one that make_trans_id() cannot have made."""
    found = _SLOTS.fullmatch(trans_id.encode())
    if found is None or max(numbers := [int(number) for number in found.groups()]) > _MOST:
        raise _not_ours(trans_id)
    return Slots(*numbers)


def _not_ours(trans_id: TransId) -> WireError:
    return WireError(f"TRANS_ID {_shown(trans_id)} is not one of ours; {_EXPECTED_SLOTS}")


def encode_request(message: Fetch | Hello) -> bytes:
    """The line for the spider; WireError if it would not be read as `message`."""
    if isinstance(message, Hello):
        return _encode_hello(message)
    text = f"{message.trans_id} {message.doc_id} {message.ip} {message.url}"
    line = _encoded(text, _FETCH, _EXPECTED_REQUEST)
    _check_fetch(message)
    return line


def encode_reply(message: Done | Working) -> bytes:
    """The line for the URL server; WireError if it would not be read as `message`."""
    verb = "DONE" if isinstance(message, Done) else "WORKING"
    return _encoded(f"{message.trans_id} {verb}", _REPLY, _EXPECTED_REPLY)


def decode_request(line: bytes) -> Fetch | Hello:
    """What a URL server said, its line feed removed; WireError with what is wrong about it."""
    _check_bytes(line)
    found = _FETCH.fullmatch(line)
    if found is None:
        return _decode_hello(line)
    trans_id, doc_id, ip, url = found.groups()
    message = Fetch(TransId(trans_id.decode()), int(doc_id), ip.decode(), url.decode())
    _check_fetch(message)
    return message


def decode_reply(line: bytes) -> Done | Working:
    """What a spider said, its line feed removed; WireError with what is wrong about it."""
    _check_bytes(line)
    found = _REPLY.fullmatch(line)
    if found is None:
        raise WireError(f"line {_shown(line.decode())} is no reply; {_EXPECTED_REPLY}")
    trans_id = TransId(found[1].decode())
    return Done(trans_id) if found[2] == b"DONE" else Working(trans_id)


class LineSplitter:
    """Cuts what comes over a connection into lines; keeps less than LONGEST_LINE of an unfinished one."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._refusal = ""

    @property
    def is_begun(self) -> bool:
        """Whether a part of a line waits for its rest."""
        return bool(self._begun)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that end in `data`, without line feeds; after WireError every call raises it again."""
        *endings, begun = data.split(b"\n")
        try:
            for ending in endings:
                yield self._finish(ending)
            self._add(begun)
        except WireError as error:
            self._refusal = str(error)
            raise

    def _finish(self, ending: bytes) -> bytes:
        self._add(ending)
        line = bytes(self._begun)
        _check_bytes(line)
        self._begun.clear()
        return line

    def _add(self, piece: bytes) -> None:
        if self._refusal:
            raise WireError(self._refusal)
        if len(self._begun) + len(piece) >= LONGEST_LINE:
            start = bytes((self._begun + piece[:40])[:40]).decode(errors="replace")
            raise WireError(f"line {start!r}… is too long; expected at most {LONGEST_LINE} bytes")
        self._begun += piece


def _encoded(text: str, pattern: re.Pattern[bytes], expected: str) -> bytes:
    line = text.encode(errors="replace")
    _check_bytes(line)
    if not pattern.fullmatch(line) or not text.isascii():
        raise WireError(f"line {_shown(text)} cannot be sent; {expected}")
    if len(line) >= LONGEST_LINE:
        raise WireError(f"line {_shown(text)} is too long; expected at most {LONGEST_LINE} bytes")
    return line + b"\n"


def _encode_hello(message: Hello) -> bytes:
    # The sentences about a token do not show it.
    line = f"HELLO {VERSION} {message.token}".encode()
    if not _HELLO.fullmatch(line) or len(line) >= LONGEST_LINE:
        raise WireError(
            f"the token cannot be sent; expected printable ASCII without spaces, below {LONGEST_LINE} bytes"
        )
    return line + b"\n"


def _decode_hello(line: bytes) -> Hello:
    found = _HELLO.fullmatch(line)
    if found is None and line.startswith(b"HELLO"):
        raise WireError(f"line 'HELLO …' is no greeting; expected HELLO {VERSION} <TOKEN>")
    if found is None:
        raise WireError(f"line {_shown(line.decode())} is no request; {_EXPECTED_REQUEST}")
    if int(found[1]) != VERSION:
        raise WireError(f"the URL server speaks version {int(found[1])} of the wire; expected {VERSION}")
    return Hello(found[2].decode())


def _check_fetch(message: Fetch) -> None:
    if message.doc_id > _MOST:
        raise WireError(f"DOC_ID {message.doc_id} is too large; expected a whole number below 2^63")
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in message.ip else socket.AF_INET, message.ip)
    except OSError as error:
        raise WireError(f"HOST_IP {message.ip} is no IP address; expected one such as 192.0.2.1") from error


def _check_bytes(line: bytes) -> None:
    found = _UNPRINTABLE.search(line)
    if found:
        raise WireError(f"byte {found[0][0]:#04x} at {found.start()} of a line; expected printable ASCII alone")


def _shown(text: str, longest: int = 80) -> str:
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}…"

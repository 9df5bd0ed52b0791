"""DNS messages (RFC 1035): the question that is sent, and what an answer says about it."""

from __future__ import annotations

import struct
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from weft.errors import WeftError

_HEADER: Final = struct.Struct("!6H")
_QUESTION: Final = struct.Struct("!2H")
_RECORD: Final = struct.Struct("!2HIH")
_INTERNET: Final = 1
_RECURSION_DESIRED: Final = 0x0100
_RESPONSE: Final = 0x8000
_TRUNCATED: Final = 0x0200
_POINTER: Final = 0xC0
_LONGEST_NAME: Final = 255
_LONGEST_LABEL: Final = 63
_MOST_STEPS: Final = 160
"""Labels and pointers of one name: 127 labels fit, and nobody honest needs a pointer for each."""
LARGEST_MESSAGE: Final = 16 * 1024
MOST_RECORDS: Final = 256
"""Records of a message that may be in sections which are read. A message with more is nobody's honest answer."""
_MOST_STEPS_IN_ALL: Final = 4096
"""Labels and pointers of all names in a message."""


class NotDns(WeftError):  # noqa: N818 - says what the bytes or the name are not
    """Bytes that are no DNS message, or a name that cannot be in one."""


class RecordType(IntEnum):
    A, CNAME, SOA, AAAA = 1, 5, 6, 28


class ResponseCode(IntEnum):
    NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = range(6)


class DnsQuestion(NamedTuple):
    id: int
    name: str
    type: RecordType

    def encode(self) -> bytes:
        """The message to send; NotDns if the name cannot be asked for."""
        header = _HEADER.pack(self.id, _RECURSION_DESIRED, 1, 0, 0, 0)
        return header + _encoded_name(self.name) + _QUESTION.pack(self.type, _INTERNET)


class DnsRecord(NamedTuple):
    name: str
    type: int
    ttl: int
    data: str | int
    """An address, the name that a CNAME leads to, or the negative TTL of a SOA."""


class DnsMessage(NamedTuple):
    code: int
    is_truncated: bool
    answers: list[DnsRecord]
    authorities: list[DnsRecord]


def is_answer(data: bytes, question: DnsQuestion) -> bool:
    """Tell whether these bytes claim to answer this very question; anything else on the socket is not for us."""
    try:
        id_, flags, questions = _HEADER.unpack_from(data)[:3]
        if id_ != question.id or not flags & _RESPONSE or questions > 1:
            return False
        if not questions:
            # A server that could not even read the question does not repeat it.
            return flags & 0x000F not in (ResponseCode.NOERROR, ResponseCode.NXDOMAIN)
        name, at = _Names(data).read(_HEADER.size)
        return (name, *_QUESTION.unpack_from(data, at)) == (question.name.lower(), question.type, _INTERNET)
    except (NotDns, struct.error):
        return False


def decode(data: bytes) -> DnsMessage:
    """Read an answer; NotDns if it is damaged or too large. Of a truncated one only that it is counts."""
    try:
        _, flags, questions, answers, authorities, _ = _HEADER.unpack_from(data)
        if flags & _TRUNCATED:
            return DnsMessage(flags & 0x000F, True, [], [])
        if len(data) > LARGEST_MESSAGE or questions + answers + authorities > MOST_RECORDS:
            raise NotDns(f"the message has more than {LARGEST_MESSAGE} bytes or {MOST_RECORDS} records")
        names, at = _Names(data), _HEADER.size
        for _ in range(questions):
            at = names.read(at)[1] + _QUESTION.size
        found, at = _records(names, at, answers)
        about, _ = _records(names, at, authorities)
    except struct.error as error:
        raise NotDns("the message ends early") from error
    return DnsMessage(flags & 0x000F, False, found, about)


def _records(names: _Names, at: int, count: int) -> tuple[list[DnsRecord], int]:
    """The records of one section that concern us, and where the next section begins."""
    data, found = names.data, []
    for _ in range(count):
        name, at = names.read(at)
        type_, class_, ttl, size = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + size > len(data):
            raise NotDns("a record ends behind the message")
        value = _value(names, at, size, type_) if class_ == _INTERNET else None
        if value is not None:
            # A time of more than 2^31 seconds is none (RFC 2181, 8).
            found.append(DnsRecord(name, type_, ttl if ttl < 2**31 else 0, value))
        at += size
    return found, at


def _value(names: _Names, at: int, size: int, type_: int) -> str | int | None:
    content = names.data[at : at + size]
    match type_, size:
        case RecordType.A, 4:
            return str(IPv4Address(content))
        case RecordType.AAAA, 16:
            return str(IPv6Address(content))
        case RecordType.CNAME, _:
            return names.read(at)[0]
        case RecordType.SOA, _ if size >= 22:
            return int.from_bytes(content[-4:])
        case RecordType.A | RecordType.AAAA | RecordType.SOA, _:
            raise NotDns("a record has the wrong size")
    return None


def _encoded_name(name: str) -> bytes:
    labels = name.encode(errors="replace").split(b".")
    encoded = b"".join(bytes([len(label)]) + label for label in labels if len(label) <= _LONGEST_LABEL) + b"\0"
    if not name.isascii() or len(encoded) != len(name) + 2 or len(encoded) > _LONGEST_NAME or not all(labels):
        raise NotDns(f"{name!r} is no name that the DNS can hold")
    return encoded


class _Names:
    """The names in a message, read with so many steps in all."""

    __slots__ = ("_left", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self._left = data, _MOST_STEPS_IN_ALL

    def read(self, at: int) -> tuple[str, int]:
        """A name in lower case, and where what follows begins."""
        data, labels, length, end = self.data, list[bytes](), 0, 0
        for step in range(min(_MOST_STEPS, self._left)):
            size = _byte(data, at)
            if size & _POINTER == _POINTER:
                end = end or at + 2
                at = (size & ~_POINTER) << 8 | _byte(data, at + 1)
                continue
            length += size + 1
            if size > _LONGEST_LABEL or length > _LONGEST_NAME or at + 1 + size > len(data):
                raise NotDns("a name is too long")
            at += 1 + size
            if not size:
                self._left -= step + 1
                return b".".join(labels).lower().decode("latin-1"), end or at
            labels.append(data[at - size : at])
        raise NotDns("a name never ends" if self._left >= _MOST_STEPS else "its names take too many steps")


def _byte(data: bytes, at: int) -> int:
    if at >= len(data):
        raise NotDns("a name ends behind the message")
    return data[at]

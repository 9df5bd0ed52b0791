"""The messages between an import and its parse workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from weft.intake.parsing import Found, Task
from weft.intake.records import Reason, Refused
from weft.linkindex.loaded import LoadedPage, Outlinks
from weft.linkindex.records import Version
from weft.reading.settings import ReadingSettings

_Columns = tuple[list[bytes], list[bytes], list[bytes], list[bool]]
_Page = tuple[int, bytes, bytes, int, bytes, bytes, bytes, _Columns]
"""Number in the task, uri, domain, fetched, content hash, cur, doc, outlinks: tuples are read faster than objects."""
_Answer = tuple[list[_Page], list[tuple[int, Reason, str]], list[tuple[int, str]]]


class WorkerSettings(msgspec.Struct, frozen=True):
    """What a worker gets first."""

    reading: ReadingSettings
    seconds: float
    """Processor time for one page."""
    memory: int
    """Bytes that reading may take."""
    parent: int
    """The process to die with."""


encode: Final = msgspec.msgpack.Encoder().encode
decode_settings: Final = msgspec.msgpack.Decoder(WorkerSettings).decode
decode_task: Final = msgspec.msgpack.Decoder(Task).decode
_decode_answer: Final = msgspec.msgpack.Decoder(_Answer).decode


def encode_answer(answer: Sequence[Found]) -> bytes:
    pages, refused, passed = [], [], []
    for number, found in enumerate(answer):
        if isinstance(found, LoadedPage):
            pages.append((number, found.uri, found.domain, *found.version, found.cur, found.doc, found.outlinks))
        elif isinstance(found, Refused):
            refused.append((number, *found))
        else:
            passed.append((number, found))
    return encode((pages, refused, passed))


def decode_answer(data: bytes | bytearray) -> list[Found]:
    """Raises msgspec.DecodeError for what no worker of ours sends."""
    pages, refused, passed = _decode_answer(data)
    found: dict[int, Found] = dict(passed)
    for number, reason, why in refused:
        found[number] = Refused(reason, why)
    for number, uri, domain, fetched, content, cur, doc, outlinks in pages:
        found[number] = LoadedPage(uri, domain, Version(fetched, content), cur, doc, Outlinks(*outlinks))
    if sorted(found) != list(range(len(found))):
        raise msgspec.ValidationError("an answer lacks some of its parts")
    return [found[number] for number in range(len(found))]

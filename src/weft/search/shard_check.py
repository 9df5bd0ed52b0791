"""Whether the files of a shard are what was written: a query that fails may be to blame itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec

from weft.errors import SearchDamaged
from weft.search.shard import open_index, read_cursors

_MAGIC: Final = 1337
"""How tantivy ends every file of an index: a footer with a checksum, the footer's size, this number."""
_NUMBER: Final = 4
_READ_AT_ONCE: Final = 1 << 20


def damage_of(generation: Path) -> str:
    """What is wrong with the files of a generation, or nothing. Reads all of them."""
    try:
        read_cursors(open_index(generation).searcher(), generation)
        before = _segments(generation)
        files = [file for file in sorted(generation.iterdir()) if _segment_of(file) in before]
        found = [(file, problem) for file in files if (problem := _file_damage(file))]
        # A merge removes files meanwhile.
        after = _segments(generation) if found else before
        return next((f"{file.name}: {problem}" for file, problem in found if _segment_of(file) in after), "")
    except SearchDamaged as error:
        return error.damage
    except (OSError, ValueError, KeyError, TypeError) as error:
        return str(error) if generation.is_dir() else ""  # else: another one has taken its place


def _segments(generation: Path) -> frozenset[str]:
    """Names that the files of the committed segments begin with."""
    meta: dict[str, Any] = msgspec.json.decode((generation / "meta.json").read_bytes())
    return frozenset(segment["segment_id"].replace("-", "") for segment in meta["segments"])


def _segment_of(file: Path) -> str:
    return file.name.partition(".")[0]


def _file_damage(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - 2 * _NUMBER))
            ending = opened.read()
            footer, magic = (int.from_bytes(ending[at : at + _NUMBER], "little") for at in (0, _NUMBER))
            body = size - 2 * _NUMBER - footer
            if magic != _MAGIC or body < 0:
                return "it does not end as it was written"
            opened.seek(body)
            expected = msgspec.json.decode(opened.read(footer))["crc"]
            opened.seek(0)
            found = 0
            while body:
                piece = opened.read(min(body, _READ_AT_ONCE))
                found, body = crc32(piece, found), body - len(piece)
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        return str(error)
    return "" if found == expected else "its checksum is wrong"

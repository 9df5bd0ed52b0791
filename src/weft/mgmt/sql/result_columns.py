"""The columns in which relation `link` keeps the last result: listed here, and nowhere else.

A new one is a field of `Result`, a line here, and a migration that adds the column to `link`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from weft.mgmt.rules.results import fields_from_result
from weft.mgmt.values import DocId, Result, WarcPosition

_PLAIN: Final[Mapping[str, str]] = {
    "status": "int",
    "error": "text",
    "started": "int",
    "ended": "int",
    "size": "int",
    "retry_after": "int",
    "etag": "text",
    "last_modified": "text",
    "location": "text",
    "content_type": "text",
}
"""Fields of Result, each in a column of the same name, with its type."""

_POSITION: Final[Mapping[str, str]] = {
    "warc_node": "text",
    "warc_file": "text",
    "warc_offset": "int",
    "warc_length": "int",
}
"""The fields of WarcPosition, in their order; all NULL without a record."""

_CLAIM: Final = "result_claim"
"""The claim that the result belongs to; 0: there is no result yet."""

_WRITTEN: Final = {**_PLAIN, **_POSITION}
_READ: Final = (_CLAIM, *_WRITTEN)
_plain_values = attrgetter(*_PLAIN)

SELECTED: Final = ", ".join(_READ)
"""For a SELECT; read_result() takes the values."""
ASSIGNMENTS: Final = ", ".join([f"{_CLAIM} = link.claim", *(f"{name} = given.{name}" for name in _WRITTEN)])
"""For an UPDATE of `link` from rows called `given`, with the columns GIVEN and the values of write_result()."""
GIVEN: Final = " ".join(f"{name}:{kind}" for name, kind in _WRITTEN.items())


def write_result(result: Result) -> list[object]:
    position = msgspec.structs.astuple(result.position) if result.position else (None,) * len(_POSITION)
    return [*_plain_values(result), *position]


def read_result(doc_id: DocId, values: Iterable[Any]) -> Result:
    """From the values of SELECTED."""
    found = dict(zip(_READ, values, strict=True))
    claim = found.pop(_CLAIM)
    node, *rest = [found.pop(name) for name in _POSITION]
    position = None if node is None else WarcPosition(node, *rest)
    return Result(doc_id=doc_id, claim=claim, position=position, **found)


def columns_for(kind: type[msgspec.Struct], relation: str = "link") -> str:
    """For a SELECT of what a struct, such as Outcome, repeats from the last result; values_for() names the values."""
    return ", ".join(f"{relation}.{name}" for name in fields_from_result(kind))


def values_for(kind: type[msgspec.Struct], values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(fields_from_result(kind), values, strict=True))

"""Answers to programs: JSON or CSV, with an ETag, so that what has not changed is not sent again."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import xxhash
from starlette.requests import Request
from starlette.responses import Response

from weft.model.spreadsheet import spreadsheet_cell
from weft.web.problems import PROBLEM_JSON, problem

_JSON: Final = "application/json"
_CSV: Final = "text/csv; charset=utf-8"
_HEADERS: Final = {"Cache-Control": "no-cache"}
"""Kept, and asked for again each time: an answer is true for the index of now."""


def answer(request: Request, content: bytes, kind: str = _JSON, headers: Mapping[str, str] | None = None) -> Response:
    """The content, or 304 if the asker has it."""
    tag = f'"{xxhash.xxh3_64_hexdigest(content)}"'
    sent = {**_HEADERS, "ETag": tag, **(headers or {})}
    if has_tag(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=sent)
    return Response(content, media_type=kind, headers=sent)


def json_answer(request: Request, found: object) -> Response:
    return answer(request, msgspec.json.encode(found))


def csv_answer(request: Request, found: Any, name: str) -> Response:
    """The items of a listing, one a line, as a file to save."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in _rows(found.items):
        writer.writerow(map(spreadsheet_cell, row))
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return answer(request, text.getvalue().encode("utf-8", "replace"), _CSV, headers)


def problem_answer(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    content = msgspec.json.encode(problem(status, sentence))
    return Response(content, status, dict(headers or {}), PROBLEM_JSON)


def has_tag(sent: str, tag: str) -> bool:
    tags = [each.strip().removeprefix("W/") for each in sent.split(",")]
    return tag in tags or tags == ["*"]


def _rows(items: Sequence[Any]) -> Iterator[Sequence[str]]:
    """The names of the fields, then the values; what is a list itself is JSON."""
    if not items:
        return
    yield items[0].__struct_fields__
    for item in items:
        yield [_cell(getattr(item, name)) for name in items[0].__struct_fields__]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

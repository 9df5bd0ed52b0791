"""The fields of a form, as browsers send them by themselves."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from weft.web.problems import RequestRefused

_MOST_FIELDS: Final = 100


async def form_fields(request: Request) -> list[tuple[str, str]]:
    """Raises RequestRefused if the body is no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestRefused(415, "expected the fields of a form (application/x-www-form-urlencoded)")
    try:
        return parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise RequestRefused(400, "the form has too many fields, or is not UTF-8") from None


def taken(fields: list[tuple[str, str]], name: str) -> str:
    """The value of a field, which is no longer among the fields; empty if there is none."""
    found = [pair for pair in fields if pair[0] == name]
    for pair in found:
        fields.remove(pair)
    return found[0][1] if found else ""

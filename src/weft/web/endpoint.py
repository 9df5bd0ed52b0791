"""A question of the API, declared once: what it takes, what it answers, and how it is found out.

The OpenAPI document, the checks of parameters, the answer as JSON and as CSV, and the pages for people all follow from
the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

import msgspec

from weft.web.problems import RequestRefused
from weft.web.resources import WebResources

_SHOWN: Final = 100
"""Characters of a wrong value that are repeated in a sentence."""

Params = TypeVar("Params", bound=msgspec.Struct)


class NoParams(msgspec.Struct, frozen=True, kw_only=True):
    pass


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Params]):
    path: str
    """Parts in braces are parameters, too."""
    summary: str
    params: type[Params]
    answer: Any
    """A type."""
    ask: Callable[[WebResources, Params], Any]
    """Runs in a thread; raises WeftError."""
    item: Any = None
    """Of a listing: the type of its items."""
    is_light: bool = False
    """Whether its work does not grow with the index, nor with what is asked: it need not wait for those that do."""
    may_be_unknown: bool = False
    """Whether 404 is an answer: the page or domain is not known."""

    @property
    def is_listing(self) -> bool:
        """Whether it has items, which can be had as CSV."""
        return "format" in self.params.__struct_fields__

    @property
    def most_items(self) -> int | None:
        """In one answer; None: as many as there are."""
        return next((int(meta.le) for name, meta in bounds_of(self.params) if name == "limit" and meta.le), None)

    def read(self, query: Iterable[tuple[str, str]], path: Mapping[str, str]) -> Params:
        return read_params(self.params, query, path)


def bounds_of(params: type[msgspec.Struct]) -> Iterator[tuple[str, msgspec.Meta]]:
    """The parameters that have bounds, with these."""
    for name, kind in get_type_hints(params, include_extras=True).items():
        for each in (kind, *get_args(kind)):
            yield from ((name, meta) for meta in getattr(each, "__metadata__", ()) if isinstance(meta, msgspec.Meta))


def read_params(kind: type[Params], query: Iterable[tuple[str, str]], path: Mapping[str, str]) -> Params:
    """The parameters of a request, checked; raises RequestRefused. An empty value is one that was not given."""
    given: dict[str, str] = dict(path)
    known = kind.__struct_fields__
    for name, value in query:
        if name not in known or name in path:
            expected = ", ".join(each for each in known if each not in path) or "none"
            raise RequestRefused(400, f"there is no parameter {name[:_SHOWN]!r}; expected {expected}")
        if name in given:
            raise RequestRefused(400, f"{name} is given twice; expected it once")
        if value:
            given[name] = value
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RequestRefused(400, _sentence(error)) from None


def read_body(kind: type[Params], body: bytes) -> Params:
    """The JSON body of a request, checked; raises RequestRefused."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestRefused(400, f"the body is not as expected: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    """msgspec says "Expected `int` >= 1 - at `$.limit`"; people read "limit: expected `int` >= 1"."""
    text = str(error)
    what, _, where = text.partition(" - at `$.")
    name = where.rstrip("`")
    what = what.replace("Object missing required field", "missing")
    what = what[:1].lower() + what[1:]
    return f"{name}: {what}" if name else what

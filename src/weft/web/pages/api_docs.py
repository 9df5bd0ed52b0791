"""The API for people: every question and change with its parameters, its answer, and a command line that works."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from weft.errors import WeftError
from weft.web.api import ENDPOINTS
from weft.web.changes import CHANGES
from weft.web.endpoint import Endpoint, NoParams
from weft.web.events import EVENTS_PATH
from weft.web.openapi import openapi
from weft.web.pages.page import Page
from weft.web.resources import WebResources

_PAGE: Final = "https://example.com/"
_WORDS: Final = {"q": "weft", "site": "example.com", "where": "com.example/list", "parameters": "session"}
"""Values for required parameters that the index does not give."""
_NUMBER_WORDS: Final = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}


class Kind(NamedTuple):
    """A type in words; `name` is that of another table on the page, if it is one."""

    words: str
    name: str = ""


class Field(NamedTuple):
    name: str
    kind: Kind
    about: str = ""
    is_required: bool = False
    default: str = ""


class Operation(NamedTuple):
    id: str
    method: str
    path: str
    summary: str
    fields: list[Field]
    """What it takes."""
    answer: Kind
    target: str
    """Path and query of an example."""
    body: str
    """JSON of an example; empty: a question."""
    is_stream: bool
    has_csv: bool


class Table(NamedTuple):
    """An object that answers hold, or that changes take."""

    name: str
    about: str
    fields: list[Field]


@cache
def document() -> dict[str, Any]:
    return openapi(ENDPOINTS, CHANGES)


def _ask(web: WebResources, asked: NoParams) -> dict[str, Any]:
    return document()


def _docs(web: WebResources, asked: NoParams, found: Mapping[str, Any]) -> dict[str, Any]:
    values = _example_values(web)
    schemas = found["components"]["schemas"]
    operations = [
        _operation(path, method, about, schemas, values)
        for path, methods in found["paths"].items()
        for method, about in methods.items()
    ]
    return {
        "questions": [each for each in operations if not each.body],
        "changes": [each for each in operations if each.body],
        "tables": [
            Table(name, schema.get("description", ""), list(_fields(schema))) for name, schema in schemas.items()
        ],
    }


def _example_values(web: WebResources) -> dict[str, str]:
    """A page that the index has, if it has any, so that examples have an answer."""
    try:
        with web.borrowed() as index:
            url = next((item.url for item in index.top(limit=1).items), _PAGE)
            domain = next((item.domain for item in index.domains(limit=1).items), "example.com")
    except WeftError:
        url, domain = _PAGE, "example.com"
    return {**_WORDS, "url": url, "domain": domain}


def _operation(
    path: str, method: str, about: Mapping[str, Any], schemas: Mapping[str, Any], values: Mapping[str, str]
) -> Operation:
    answers = about["responses"]["200"]["content"]
    if method == "post":
        body = schemas[_name(about["requestBody"]["content"]["application/json"]["schema"])]
        fields = list(_fields(body))
        example = json.dumps({each.name: values.get(each.name, "") for each in fields if each.is_required})
    else:
        fields, example = [_parameter(each) for each in about["parameters"]], ""
    in_path = {each["name"] for each in about.get("parameters", ()) if each["in"] == "path"}
    given = {each.name: values.get(each.name, "") for each in fields if each.is_required and not example}
    query = urlencode({name: value for name, value in given.items() if name not in in_path})
    target = path.format(**given) + (f"?{query}" if query else "")
    answer = answers.get("application/json", {}).get("schema", {})
    return Operation(
        about["operationId"],
        method.upper(),
        path,
        about["summary"],
        fields,
        _kind(answer) if answer else Kind("server-sent events"),
        target,
        example,
        path == EVENTS_PATH,
        "text/csv" in answers,
    )


def _parameter(about: Mapping[str, Any]) -> Field:
    schema = about["schema"]
    name = about["name"] if about["in"] != "header" else f"{about['name']} (header)"
    default = schema.get("default")
    return Field(
        name,
        _kind(schema),
        about.get("description", ""),
        about.get("required", False),
        "" if default in (None, "") else json.dumps(default),
    )


def _fields(schema: Mapping[str, Any]) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, about in schema.get("properties", {}).items():
        described = about.get("description", "") or next(
            (each["description"] for each in about.get("anyOf", ()) if "description" in each), ""
        )
        yield Field(name, _kind(about), described, name in required)


def _kind(schema: Mapping[str, Any]) -> Kind:
    """A JSON schema in words."""
    if "$ref" in schema:
        return Kind(_name(schema), _name(schema))
    if "anyOf" in schema:
        kinds = [_kind(each) for each in schema["anyOf"]]
        return Kind(" or ".join(kind.words for kind in kinds), next((kind.name for kind in kinds if kind.name), ""))
    if "enum" in schema:
        return Kind("one of " + ", ".join(map(str, schema["enum"])))
    kind = schema.get("type", "")
    if kind == "array":
        item = _kind(schema.get("items", {}) or {})
        return Kind(f"list of {item.words}", item.name)
    if kind == "object":
        value = _kind(schema.get("additionalProperties") or {})
        return Kind(f"names with {value.words}" if value.words != "anything" else "an object", value.name)
    return Kind(_NUMBER_WORDS.get(kind, kind or "anything") + _bounds(schema))


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low:,} to {high:,}"
    longest = schema.get("maxLength")
    return f", at most {longest:,} characters" if longest else ""


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


_DOCUMENT: Final = Endpoint("/openapi.json", "The API as an OpenAPI document", NoParams, dict, _ask, is_light=True)

PAGES: Final = (Page("/docs", "docs.html", "API", _DOCUMENT, _docs),)

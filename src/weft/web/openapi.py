"""The OpenAPI document, made from the declarations of the endpoints: it cannot say anything else than they do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from weft import __version__
from weft.web.change import Change
from weft.web.endpoint import Endpoint
from weft.web.event_feed import EventsParams
from weft.web.events import EVENTS_PATH
from weft.web.problems import PROBLEM_JSON, Problem

_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = {
    400: "A parameter is wrong; the sentence says which, and what was expected",
    401: "The token is not valid, or one is needed",
    421: "Host is no name of this web app",
    429: "Too many requests",
    503: "weft cannot answer now",
}

_HEAD_TOO_LONG: Final = {
    "description": "The address and the headers are too long",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
"""Told before the request is read, so it is no problem+json."""


def openapi(endpoints: Sequence[Endpoint[Any]], changes: Sequence[Change[Any]]) -> dict[str, Any]:
    kinds = [
        Problem,
        *(kind for each in endpoints for kind in (each.answer, each.params, each.item) if kind is not None),
    ]
    kinds += [EventsParams, *(kind for each in changes for kind in (each.body, each.answer))]
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    paths: dict[str, Any] = {each.path: {"get": _get(each, components)} for each in endpoints}
    paths |= {each.path: {"post": _post(each)} for each in changes}
    paths[EVENTS_PATH] = {"get": _events(components)}
    used = _used(paths, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "weft",
            "version": __version__,
            "description": "Questions about the index and the crawl. Changes need a token: `weft token create`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {name: components[name] for name in sorted(used)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _reference(kind: Any) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _answer(endpoint: Endpoint[Any], components: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer. A listing of one kind of items is a schema of its own."""
    if endpoint.item is None:
        return _reference(endpoint.answer)
    listing = components[endpoint.answer.__name__]
    items = {"type": "array", "items": _reference(endpoint.item)}
    name = f"{endpoint.item.__name__}s"
    components[name] = {**listing, "title": name, "properties": {**listing["properties"], "items": items}}
    return {"$ref": _REF.format(name=name)}


def _get(endpoint: Endpoint[Any], components: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _answer(endpoint, components)}}
    if endpoint.is_listing:
        content["text/csv"] = {"schema": {"type": "string"}}
    answers = {"200": {"description": endpoint.summary, "content": content}, "304": {"description": "Not modified"}}
    more = {404: "It is not known"} if endpoint.may_be_unknown else {}
    return {
        "operationId": operation_id(endpoint.path),
        "summary": endpoint.summary,
        "parameters": _parameters(endpoint.path, components[endpoint.params.__name__]),
        "responses": {**answers, **_problems({**_ALWAYS, **more})},
        "security": [{}, {"token": []}],
    }


def _post(change: Change[Any]) -> dict[str, Any]:
    more = {403: "The form is of another session or origin", 404: "It is not known", 413: "The body is too large"}
    done = {
        "200": {"description": change.summary, "content": {"application/json": {"schema": _reference(change.answer)}}}
    }
    return {
        "operationId": operation_id(change.path),
        "summary": change.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _reference(change.body)}}},
        "responses": {**done, **_problems({**_ALWAYS, **more, 415: "The body is no JSON"})},
        "security": [{"token": []}],
    }


def _events(components: dict[str, Any]) -> dict[str, Any]:
    stream = {"text/event-stream": {"schema": {"type": "string"}}}
    resumes = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}
    return {
        "operationId": operation_id(EVENTS_PATH),
        "summary": "What happens, as it happens (server-sent events: status, figures, changes, restarted, problem)",
        "parameters": [*_parameters(EVENTS_PATH, components[EventsParams.__name__]), resumes],
        "responses": {"200": {"description": "A stream without end", "content": stream}, **_problems(_ALWAYS)},
        "security": [{}, {"token": []}],
    }


def _problems(sentences: dict[int, str]) -> dict[str, Any]:
    content = {PROBLEM_JSON: {"schema": _reference(Problem)}}
    problems = {str(status): {"description": text, "content": content} for status, text in sorted(sentences.items())}
    return problems | {"431": _HEAD_TOO_LONG}


def _parameters(path: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    in_path = set(re.findall(r"{(\w+)}", path))
    found = []
    for name, about in schema["properties"].items():
        described = _without_null(about)
        shown = {"name": name, "in": "path" if name in in_path else "query", "schema": described}
        if description := described.pop("description", None):
            shown["description"] = description
        if name in in_path or name in schema.get("required", ()):
            shown["required"] = True
        found.append(shown)
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is given or not; it is never null."""
    kept = {key: value for key, value in schema.items() if key != "anyOf" and (key != "default" or value is not None)}
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return {**kept, **choices[0]} if len(choices) == 1 else kept | ({"anyOf": choices} if choices else {})


def _used(paths: object, components: dict[str, Any]) -> set[str]:
    """The schemas that something refers to, directly or not."""
    used: set[str] = set()
    open_ends: list[object] = [paths]
    while open_ends:
        for name in _references(open_ends.pop()):
            if name not in used:
                used.add(name)
                open_ends.append(components[name])
    return used


def _references(schema: object) -> Iterable[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def operation_id(path: str) -> str:
    return re.sub(r"\W+", "_", path.removeprefix("/api/")).strip("_")

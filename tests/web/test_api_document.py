"""The app does what its OpenAPI document says: a program makes up requests from the document and checks every answer.

Events are left out, because they do not end; test_parameters.py and test_run_web.py ask for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from support.web_app import RunningApp, copy_home, new_token, running_app
from weft.web.api import ENDPOINTS
from weft.web.changes import CHANGES

OPERATIONS = [("GET", each.path) for each in ENDPOINTS] + [("POST", each.path) for each in CHANGES]
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    unsupported_method,
]
SHORT, LONG = 50, 1500
KNOWN = {"url": "https://hub.example/", "q": "weft", "domain": "s1.example", "of": "s1.example", "since": "2025-01-01"}
"""Made-up values are nearly never of something that is known."""


@pytest.fixture(scope="module")
def changing_app(small_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Over a copy: changes happen."""
    home = copy_home(small_home, tmp_path_factory.mktemp("changing"))
    token = new_token(home)
    with running_app(home) as running:
        yield running, token


def conforms(app: RunningApp, token: str, method: str, path: str, examples: int) -> None:
    schema = schemathesis.openapi.from_dict(app.ask("/openapi.json").json)
    operation = schema[path][method]
    wanted = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )

    @seed(8765)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=wanted, has_token=st.booleans(), is_known=st.booleans())
    def check(case: Any, has_token: bool, is_known: bool) -> None:
        if is_known and isinstance(case.query, dict):
            case.query |= {name: KNOWN[name] for name in case.query if name in KNOWN}
        headers = {"Authorization": f"Bearer {token}"} if has_token else {}
        answer = case.call(base_url=app.origin, headers=headers)
        case.validate_response(answer, checks=CHECKS)
        assert "Traceback" not in answer.text

    check()


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_documented(changing_app: tuple[RunningApp, str], method: str, path: str) -> None:
    conforms(*changing_app, method, path, SHORT)


@pytest.mark.long
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_documented_however_often_one_asks(
    changing_app: tuple[RunningApp, str], method: str, path: str
) -> None:
    conforms(*changing_app, method, path, LONG)


def test_the_document_names_every_question_and_every_change(app: RunningApp) -> None:
    document = app.ask("/openapi.json").json
    assert set(document["paths"]) == {path for _, path in OPERATIONS} | {"/api/events"}
    names = [about["operationId"] for path in document["paths"].values() for about in path.values()]
    assert len(set(names)) == len(names)

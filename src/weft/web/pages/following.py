"""What changed, newest first; new changes are put on top while the page is open."""

from __future__ import annotations

from typing import Any, Final

from weft.answers.objects import ChangeItem, ChangeListing
from weft.errors import NotKnown, UsageError
from weft.model.url import UrlRefused
from weft.web.api import CHANGES, ChangesParams
from weft.web.endpoint import Endpoint
from weft.web.pages.page import Page
from weft.web.resources import WebResources

_KINDS: Final = {"": "Links and pages", "links": "Links", "pages": "Pages"}
_FORM: Final = ChangeItem("", "links", "new", "?", "?", "?", "?", "?", "?", "?")
"""Has everything that a change can have: scripts take away what theirs has not."""


def _ask(web: WebResources, asked: ChangesParams) -> ChangeListing | str:
    """What somebody typed may be wrong: then the page shows the sentence beside the form."""
    try:
        return CHANGES.ask(web, asked)  # type: ignore[no-any-return]
    except (NotKnown, UsageError, UrlRefused) as error:
        return str(error)


def _changes(web: WebResources, asked: ChangesParams, found: ChangeListing | str) -> dict[str, Any]:
    return {
        "answer": None if isinstance(found, str) else found,
        "sentence": found if isinstance(found, str) else "",
        "kinds": _KINDS,
        "filters": {"of": asked.of, "kind": asked.kind, "since": asked.since},
        "form": _FORM,
    }


_SHOWN: Final = Endpoint(CHANGES.path, CHANGES.summary, CHANGES.params, CHANGES.answer, _ask)

PAGES: Final = (Page("/changes", "changes.html", "Changes", _SHOWN, _changes),)

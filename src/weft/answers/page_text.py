"""What a page says, as it is stored and searched."""

from __future__ import annotations

import msgspec

from weft.answers.objects import moment_or_none
from weft.answers.view import View
from weft.errors import NotKnown
from weft.linkindex import keys
from weft.linkindex.records import Doc, read_doc
from weft.model.url import PageUrl
from weft.store.tables import Table


class PageText(msgspec.Struct, frozen=True, kw_only=True):
    """Empty where the page says nothing; a page that asks not to be indexed has neither title, headings nor text."""

    seq: int
    uri: str
    url: str
    title: str
    description: str
    language: str
    """As the page names it."""
    headings: list[str]
    text: str
    changed: str | None
    """When the page began to say this."""
    noindex: bool
    """Whether it asks not to be indexed."""


def page_text(view: View, page: PageUrl) -> PageText:
    info = view.info(page)
    if not info.docs:
        raise NotKnown(f"{page.url} is not loaded, so its text is not known")
    uri = page.uri.encode()
    stored, changed = (view.value(Table.DOCS, column(uri)) for column in (keys.doc_column, keys.doc_changed_column))
    doc = read_doc(stored) if stored else Doc()
    return PageText(
        seq=view.seq,
        uri=page.uri,
        url=view.urls([page.uri], [info])[0],
        title=doc.title,
        description=doc.description,
        language=doc.language,
        headings=doc.headings,
        text=doc.text,
        changed=moment_or_none(int(changed) if changed else None),
        noindex=doc.noindex,
    )

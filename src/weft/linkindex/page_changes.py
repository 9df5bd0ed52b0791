"""What happened to a page itself, for the history: it is new, gone, moved, or has another title or text."""

from __future__ import annotations

from weft.linkindex.loaded import LoadedPage
from weft.linkindex.observers import PageBefore
from weft.linkindex.records import unpack_doc
from weft.linkindex.updates import PAGE_GONE, PAGE_MOVED, PAGE_NEW, PAGE_TEXT, PAGE_TITLE, PageChange


def page_changes(page: LoadedPage, before: PageBefore | None, doc_before: bytes) -> list[PageChange]:
    """`before` is None for a page that was not there; `doc_before` is its packed doc, empty if it had none."""
    if before is None:
        return [] if page.is_gone else [_change(page, PAGE_NEW, _title(page))]
    if page.is_gone:
        return [_change(page, PAGE_MOVED if page.moved_to else PAGE_GONE, page.moved_to)]
    if page.doc == doc_before:
        return []
    title = _title(page)
    changes = [] if title == before.title else [_change(page, PAGE_TITLE, title)]
    return changes if _words(page.doc) == _words(doc_before) else [*changes, _change(page, PAGE_TEXT, b"")]


def _change(page: LoadedPage, step: int, what_to: bytes) -> PageChange:
    return page.uri, page.domain, b"", step, 0, what_to, page.version.fetched


def _title(page: LoadedPage) -> bytes:
    return unpack_doc(page.doc).title.encode() if page.doc else b""


def _words(doc: bytes) -> tuple[str, list[str], str]:
    """What is to be read on the page apart from its title."""
    found = unpack_doc(doc)
    return found.description, found.headings, found.text

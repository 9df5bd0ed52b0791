"""The tree of a page: which of its elements matter, and how it becomes what a reader sees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from turbohtml import Document, DocumentFragment, Element

from weft.html import tags

_KINDS: Final = (
    tags.HEAD,
    tags.LINKS,
    tags.HEADINGS,
    tags.TEMPLATES,
    tags.UNSEEN - tags.HEAD,
    tags.REPLACED,
    tags.INLINE,
    tags.AS_WRITTEN,
)
_KIND_OF: Final = {tag: kind for kind, names in enumerate(_KINDS) for tag in names}
_WANTED: Final = tuple(_KIND_OF)


class Elements(NamedTuple):
    """Elements by what they are to us, each list in the order of the document."""

    head: list[Element]
    links: list[Element]
    headings: list[Element]
    templates: list[Element]
    unseen: list[Element]
    replaced: list[Element]
    inline: list[Element]
    as_written: list[Element]


def find_elements(document: Document) -> Elements:
    """Everything that matters; templates are left out, but for those that make a shadow root, which is shown."""
    found = _grouped(document)
    if not found.templates:
        return found
    for template in found.templates:
        if template.attr("shadowrootmode") is None:
            template.extract()
        else:
            _show(template)
    return _grouped(document)


def _show(template: Element) -> None:
    """Make what is in the template part of the page."""
    for content in template.children:
        if isinstance(content, DocumentFragment):
            content.unwrap()


def _grouped(document: Document) -> Elements:
    groups: tuple[list[Element], ...] = tuple([] for _ in _KINDS)
    for element in document.iter_elements(_WANTED):
        groups[_KIND_OF[element.tag]].append(element)
    return Elements(*groups)


def leave_only_seen(document: Document, found: Elements) -> None:
    """Take out what a reader does not see, and dissolve what does not part words; links stay."""
    _take_out(filter(_is_hidden, document.select("[hidden]")))
    _take_out(found.unseen)
    _take_out(element for element in found.head if element.tag == "title")
    for element in found.replaced:
        element.clear()
    dissolve(found.inline)
    for element in found.as_written:
        element.tag = "div"


def _is_hidden(element: Element) -> bool:
    """Not so what a reader may search for, and a body that waits for its scripts."""
    return element.attr("hidden") != "until-found" and element.tag not in ("html", "body")


def _take_out(elements: Iterable[Element]) -> None:
    for element in elements:
        element.extract()


def dissolve(elements: Iterable[Element]) -> None:
    """Put the children of each in its place. Outer ones come first, so no node is moved twice."""
    for element in elements:
        if element.parent is not None:
            element.unwrap()

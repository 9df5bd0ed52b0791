"""Pages made of pieces, for the laws, and a slow reading of the same pages to compare with."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import strategies as st
from turbohtml import DocumentFragment, Element, Node, Text, parse

from weft.html import tags

_SPACE = re.compile(r"[\t\n\f\r \xa0]+")

_OTHERS = (
    *("a", "br", "button", "div", "img", "li", "my-part", "option", "p", "section", "table", "td", "template"),
    *("tr", "ul"),
)

words = st.sampled_from(
    ["weft", "index", "Straße", "日本語", "a b", " spaced  out ", "x", "&amp;", "&nbsp;", "&shy;", "\n", "12:30", ""]
)
names = st.sampled_from(
    sorted({*tags.INLINE, *tags.HEADINGS, *tags.UNSEEN, *tags.REPLACED, *tags.AS_WRITTEN, *_OTHERS} - {"plaintext"})
)
attributes = st.sampled_from(
    [
        *("", "", "", " class=c", " hidden", ' hidden="until-found"', " shadowrootmode=open", ' alt="a picture"'),
        *(" href=/x", ' href=" /y?a=1&amp;b=2 "'),
    ]
)


@st.composite
def elements(draw, inside):
    name = draw(names)
    closed = draw(st.sampled_from([f"</{name}>", f"</{name}>", f"</{name}>", "", "</p>"]))
    return f"<{name}{draw(attributes)}>{draw(inside)}{closed}"


pieces = st.recursive(
    words | st.sampled_from(["<!-- -->", "<br>", "<script>var x</script>", "<style>y</style>"]),
    lambda inside: st.lists(elements(inside) | inside, max_size=5).map("".join),
    max_leaves=30,
)
pages = st.lists(pieces, max_size=6).map("".join)


def visible_lines(page: str) -> list[str]:
    """The text of a page by the rules of docs/html.md, one node after the other."""
    body = parse(page.encode(), encoding="utf-8", allow_declarative_shadow_roots=False).find("body")
    lines = [""]
    if body is not None:
        _walk(body, lines)
    return list(filter(None, (_SPACE.sub(" ", line.replace("\xad", "")).strip(" ") for line in lines)))


def _walk(node: Node, lines: list[str]) -> None:
    for child in node.children:
        if isinstance(child, Text):
            lines[-1] += child.data
        elif isinstance(child, DocumentFragment):
            _walk(child, lines)
        elif isinstance(child, Element) and not _is_unseen(child):
            _enter(child, lines)


def _enter(element: Element, lines: list[str]) -> None:
    if element.tag in tags.INLINE | tags.LINKS:
        _walk(element, lines)
        return
    lines.append("")
    if element.tag not in tags.REPLACED:
        _walk(element, lines)
        lines.append("")


def _is_unseen(element: Element) -> bool:
    if element.attr("hidden") not in (None, "until-found"):
        return True
    if element.tag == "template":
        return element.attr("shadowrootmode") is None
    return element.tag in tags.UNSEEN


def link_anchors(page: str) -> list[tuple[str, str]]:
    """The href and words of each link by the rules of docs/html.md, one node after the other."""
    document = parse(page.encode(), encoding="utf-8", allow_declarative_shadow_roots=False)
    found = [
        node for node in document.iter_elements("a") if node.attr("href") is not None and not _is_in_template(node)
    ]
    return [((link.attr("href") or "").strip("\t\n\f\r "), _anchor(link)) for link in found]


def _is_in_template(element: Element) -> bool:
    around = (node for node in element.ancestors if isinstance(node, Element))
    return any(node.tag == "template" and node.attr("shadowrootmode") is None for node in around)


def _anchor(link: Element) -> str:
    lines, pictures = [""], [""]
    with suppress(StopIteration):
        _read_until_link(link, lines, pictures)
    return " ".join(" ".join(lines).split()) or " ".join(pictures[0].split())


def _read_until_link(node: Node, lines: list[str], pictures: list[str]) -> None:
    for child in node.children:
        if isinstance(child, Text):
            lines[-1] += child.data
        elif isinstance(child, DocumentFragment):
            _read_until_link(child, lines, pictures)
        elif isinstance(child, Element) and not _is_unseen(child):
            if child.tag in tags.LINKS:
                raise StopIteration
            if child.tag == "img":
                pictures[0] = pictures[0] or child.attr("alt") or ""
            if child.tag not in tags.INLINE:
                lines.append("")
            if child.tag not in tags.REPLACED:
                _read_until_link(child, lines, pictures)
            if child.tag not in tags.INLINE:
                lines.append("")

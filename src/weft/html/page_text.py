"""The text of a page and of its parts.

Elements that do not part words are dissolved before, so that each text node is a block of its own: then the parser
joins the texts, in C, and no walk over all nodes is needed.
"""

from __future__ import annotations

from typing import Final

from turbohtml import Document, Element, Node, Text
from turbohtml.clean import collapse_whitespace_node, strip_comments_node

_NO_BREAK_SPACE: Final = "\xa0"
_SOFT_HYPHEN: Final = "\xad"


def text_of(document: Document) -> str:
    """The words of the body, a line per block; to be asked last, when links are dissolved too."""
    body = document.find("body")
    if body is None:
        return ""
    strip_comments_node(body)
    body.normalize()
    collapse_whitespace_node(body)
    lines = list(body.stripped_strings)
    text = "\n".join(lines)
    if _NO_BREAK_SPACE in text or _SOFT_HYPHEN in text:
        return "\n".join(filter(None, map(_plain, lines)))
    return text


def _plain(line: str) -> str:
    """The line with ordinary spaces, and without the places at which a word may be parted at its end."""
    if _NO_BREAK_SPACE not in line and _SOFT_HYPHEN not in line:
        return line
    words = line.replace(_SOFT_HYPHEN, "").replace(_NO_BREAK_SPACE, " ").split(" ")
    return " ".join(filter(None, words))


def collapsed(text: str, longest: int) -> str:
    """`text` with single spaces between its words and none around them, cut at `longest` characters."""
    if len(text) <= longest:
        return " ".join(text.split())
    # More words than that cannot stand; not to split the rest keeps a hostile text from becoming millions of words.
    return " ".join(text.split(None, longest))[:longest].rstrip()


def words_within(element: Element, longest: int, ends_at: frozenset[str]) -> str:
    """The words of an element up to the first element of `ends_at` in it; without any, those of its first image.

    No node is looked at for two elements of `ends_at`, however they are nested: the work stays linear.
    """
    if element.find() is None:
        return collapsed(element.text, longest)
    texts: list[str] = []
    image_text = ""
    block: Node | None = None
    for node in element.descendants:
        if isinstance(node, Text):
            parent = node.parent
            if parent is not block:
                texts.append(" ")
                block = parent
            texts.append(node.data)
        elif isinstance(node, Element):
            if node.tag in ends_at:
                break
            block = None
            if not image_text and node.tag == "img":
                image_text = node.attr("alt") or ""
    return collapsed("".join(texts), longest) or collapsed(image_text, longest)

"""From bytes to a document: the encoding is found as browsers find it."""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Document, parse

_HEADER_CHARSET: Final = re.compile(
    r'[^;]*+;\s*+charset\s*+=\s*+"?+\s*+([\w.:+-]{1,64})\s*+"?+\s*+', re.IGNORECASE | re.ASCII
)
"""All of what `HttpHead.content_type` gives: in a label that was quoted, anything may follow what looks like one."""
_XML_CHARSET: Final = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:+-]{1,64})["']""")


def read_document(body: bytes, content_type: str = "") -> Document:
    """Byte order mark, header, meta, UTF-8 if it is valid, XML declaration, then the likeliest legacy encoding."""
    document = _parse_labelled(body, _header_charset(content_type)) or parse(
        body, detect_encoding=True, positions=False, allow_declarative_shadow_roots=False
    )
    if document.encoding_confidence == "tentative" and document.encoding != "UTF-8":
        return _parse_labelled(body, _xml_charset(body)) or document
    return document


def _parse_labelled(body: bytes, label: str) -> Document | None:
    """None when there is no label, or none that the standard knows: then the page decides."""
    if not label:
        return None
    try:
        return parse(body, encoding=label, positions=False, allow_declarative_shadow_roots=False)
    except LookupError:
        return None


def _header_charset(content_type: str) -> str:
    found = _HEADER_CHARSET.fullmatch(content_type)
    return found[1] if found else ""


def _xml_charset(body: bytes) -> str:
    """The label in an XML declaration; UTF-16 in a text that was just read as ASCII is a lie."""
    found = None if body.isascii() else _XML_CHARSET.match(body)
    label = found[1].decode("ascii", "replace").lower() if found else ""
    return "" if label.startswith("utf-16") else label

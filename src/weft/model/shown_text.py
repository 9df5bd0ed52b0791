"""Text from the web, made fit for a terminal: no title can move the cursor or turn a line around."""

from __future__ import annotations

import re
from typing import Final

# Line and paragraph separators and tabs would make rows and columns.
_SPACES: Final = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# Controls (C0, DEL, C1), ends of lines, everything that changes the direction of text, invisible characters that carry
# nothing a person reads, halves of surrogate pairs. The joiners U+200C and U+200D stay: scripts and emoji need them.
_UNSAFE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)


def shown_text(text: str) -> str:
    """The text as one line for people: white space is a space, anything unsafe is its escape, such as `\\x1b`."""
    if text.isprintable():
        return text
    return _UNSAFE.sub(_escape, _SPACES.sub(" ", text))


def readable_text(text: str) -> str:
    """The text as one line for people who want to read it: controls are spaces, anything else unsafe is left out."""
    if text.isprintable():
        return text
    return _UNSAFE.sub("", _CONTROLS.sub(" ", text))


def shown_json(text: str) -> str:
    """JSON with the same value in which no unsafe character stands as itself."""
    return text if text.isprintable() else _UNSAFE.sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_in_json(found: re.Match[str]) -> str:
    # Only within strings: encoders put no such character between them.
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

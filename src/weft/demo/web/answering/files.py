"""Content that is not HTML: a picture, a paper, a text."""

from __future__ import annotations

import struct
import zlib

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.words import Language


def picture(dice: Dice) -> bytes:
    """A small PNG of coloured noise."""
    side = dice.between(8, 32)
    rows = b"".join(b"\0" + bytes(dice.below(256) for _ in range(side * 3)) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def paper(dice: Dice, language: Language) -> bytes:
    """A PDF of one page."""
    words = " ".join(dice.pick(language.plain) for _ in range(40))
    stream = f"BT /F1 12 Tf 20 700 Td ({words}) Tj ET".encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    )
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer


def note(dice: Dice, language: Language) -> bytes:
    """Plain text, with something that looks like a link."""
    lines = [" ".join(dice.pick(language.words) for _ in range(12)) for _ in range(20)]
    return "\n".join([*lines, '<a href="/only-a-text.html">nothing</a>', ""]).encode()

"""The capture that a page was last taken from: what a later `304 Not Modified` stands for."""

from __future__ import annotations

from typing import Final

import msgspec


class Original(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How others find a capture: the fields of its WARC record, as they stand there.

    It is kept with the link, beside the validators that came with it, because a spider that was restarted, or another
    one, must be able to say what a 304 refers to.
    """

    record: str
    """WARC-Record-ID."""
    url: str
    date: str
    digest: str
    """Of the payload, in base32."""

    def encode(self) -> str:
        return _encode(self).decode()

    @classmethod
    def decode(cls, text: str) -> Original | None:
        """None for an empty text: there is no such capture."""
        return _decode(text) if text else None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Original).decode

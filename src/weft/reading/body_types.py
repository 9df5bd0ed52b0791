"""The formats that weft reads. A new one is a file like `html_body` and a line here."""

from __future__ import annotations

from typing import Final

from weft.reading.html_body import HTML
from weft.reading.listing_body import LISTING
from weft.reading.response_body import BodyType

BODY_TYPES: Final[tuple[BodyType, ...]] = (
    HTML,
    LISTING,
)
"""The first that recognises a body reads it."""

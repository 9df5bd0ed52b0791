"""The content of `<meta http-equiv=refresh>`, read as the HTML standard reads it."""

from __future__ import annotations

import re
from typing import Final

from weft.html.values import Refresh

_SPACE: Final = r"[\t\n\f\r ]*"
_TIME: Final = re.compile(rf"{_SPACE}(?:([0-9]{{1,9}})|(?=\.))[0-9.]*(?=[\t\n\f\r ;,]|$){_SPACE}[;,]?{_SPACE}")
_URL: Final = re.compile(rf"url{_SPACE}={_SPACE}", re.IGNORECASE)


def refresh_in(content: str) -> Refresh | None:
    """`5; url=/next` is (5, "/next"); None for what no browser would act on."""
    time = _TIME.match(content)
    if time is None:
        return None
    rest = content[time.end() :]
    named = _URL.match(rest)
    url = rest[named.end() :] if named else rest
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return Refresh(int(time[1] or 0), url.strip())

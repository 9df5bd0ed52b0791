"""Which tokens of the web app can be added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.errors import MgmtError
from weft.mgmt.values import WebToken

MOST_WEB_TOKENS: Final = 1000
"""Each request is compared with all of them."""


def is_known(known: Mapping[str, WebToken], token: WebToken, digest: str) -> bool | None:
    """True: this token is there already; False: another one has its id or digest; None: it is new and there is room.

    Raises MgmtError if there is none.
    """
    if digest in known or any(one.id == token.id for one in known.values()):
        return digest in known and known[digest].id == token.id
    if len(known) >= MOST_WEB_TOKENS:
        raise MgmtError(f"there are {MOST_WEB_TOKENS:,} tokens already; revoke one with `weft token revoke ID`")
    return None

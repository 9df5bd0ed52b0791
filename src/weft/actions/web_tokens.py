"""Tokens with which programs change something through the web app. A token is shown once; a hash of it is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

import msgspec

from weft.errors import NotKnown, UsageError
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import WebToken
from weft.model.similar import did_you_mean

_PREFIX: Final = "weft_"
"""By which people, and programs that look for leaked secrets, know it."""
_BYTES: Final = 32
_TOKEN: Final = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{43}}")
_ID_CHARACTERS: Final = 8
"""Of the digest: enough to tell tokens apart, and worth nothing to whoever reads it."""
_LONGEST_NAME: Final = 100
NOTED_EVERY: Final = 3_600_000
"""Milliseconds: to note every use would cost a write for every request."""


class NewToken(msgspec.Struct, frozen=True):
    """A token that was just made, with its text: nobody can learn that later."""

    text: str
    token: WebToken

    def __repr__(self) -> str:
        return f"NewToken({self.token})"


def create_token(mgmt: OperatorCalls, name: str, now: int) -> NewToken:
    """A new token; `now` is in milliseconds. Raises UsageError for a name that cannot be shown, MgmtError if full."""
    name = _checked(name)
    while True:
        text = _PREFIX + secrets.token_urlsafe(_BYTES)
        digest = _digest(text)
        token = WebToken(digest[:_ID_CHARACTERS], name, now)
        if mgmt.add_web_token(token, digest):  # nearly always: ids are random
            return NewToken(text, token)


def list_tokens(mgmt: OperatorCalls) -> list[WebToken]:
    """The tokens that work, the oldest first."""
    return list(mgmt.web_tokens().values())


def find_token(mgmt: OperatorCalls, text: str, now: int | None = None) -> WebToken | None:
    """The token with this text, if there is one that works. With `now`, in milliseconds, its use is noted."""
    if not _TOKEN.fullmatch(text):
        return None
    found, digest = None, _digest(text)
    for known, token in mgmt.web_tokens().items():
        # Not by a look in the dict, and to the end: the time that it takes tells nothing.
        found = token if hmac.compare_digest(known, digest) else found
    if found is not None and now is not None and now >= found.used + NOTED_EVERY:
        mgmt.use_web_token(found.id, now)
    return found


def revoke_token(mgmt: OperatorCalls, id_: str) -> WebToken:
    """The token works no more; returns what it was. Raises NotKnown."""
    known = {token.id: token for token in list_tokens(mgmt)}
    if id_ not in known or not mgmt.revoke_web_token(id_):
        # Somebody may give the token itself by mistake: it is not repeated.
        named = f"{id_} is not the id of a token{did_you_mean(id_, known)}" if len(id_) <= 2 * _ID_CHARACTERS else ""
        raise NotKnown(f"{named or 'this is not the id of a token'}; `weft token list` lists them")
    return known[id_]


def _checked(name: str) -> str:
    name = name.strip()
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(f"the name of a token is one line of at most {_LONGEST_NAME} characters")
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

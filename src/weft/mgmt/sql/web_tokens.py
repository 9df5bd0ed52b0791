"""Relation `web_token`: who may change something through the web app."""

from __future__ import annotations

from typing import Final

from weft.mgmt.rules.web_tokens import is_known
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import WebToken

MAKING_TOKENS: Final = 7

_TOKENS: Final = "SELECT digest, id, name, created, used FROM web_token ORDER BY created, id"
_ADD: Final = "INSERT INTO web_token (id, name, digest, created) VALUES (:id, :name, :digest, :created)"
_USE: Final = "UPDATE web_token SET used = :used WHERE id = :id AND used < :used"
_REVOKE: Final = "DELETE FROM web_token WHERE id = :id"


def web_tokens(tx: Transaction) -> dict[str, WebToken]:
    return {digest: WebToken(*token) for digest, *token in tx.rows(_TOKENS)}


def add_web_token(tx: Transaction, token: WebToken, digest: str) -> bool:
    tx.serialise(MAKING_TOKENS)
    answer = is_known(web_tokens(tx), token, digest)
    if answer is None:
        tx.run(_ADD, id=token.id, name=token.name, digest=digest, created=token.created)
    return answer is not False


def use_web_token(tx: Transaction, token: str, used: int) -> None:
    tx.run(_USE, id=token, used=used)


def revoke_web_token(tx: Transaction, token: str) -> bool:
    return tx.run(_REVOKE, id=token) > 0

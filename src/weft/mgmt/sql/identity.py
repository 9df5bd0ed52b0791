"""Relation `identity`: what all processes of a control plane must agree on, and which store holds its index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import StoreOwner

IDENTITY: Final = 5
_ID, _WHERE = "store", "store_at"

_RECORDED: Final = "SELECT name, value FROM identity"
_RECORD: Final = """
INSERT INTO identity (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_NO_BATCH: Final = "UPDATE bucket SET epoch = epoch + 1, seq = 0, batch = :nothing"
_ANY_LINK: Final = "SELECT 1 FROM link LIMIT 1"


def agree(tx: Transaction, facts: Mapping[str, str], *, replaces: bool = False) -> dict[str, str]:
    recorded = _others(dict(tx.rows(_RECORDED)))
    if all(recorded.get(name) == value for name, value in facts.items()):
        return recorded  # nearly always: nobody waits
    tx.serialise(IDENTITY)
    recorded = _others(dict(tx.rows(_RECORDED)))
    may_replace = replaces or not tx.rows(_ANY_LINK)
    for name, value in sorted(facts.items()):
        if may_replace or name not in recorded:
            tx.run(_RECORD, name=name, value=value)
            recorded[name] = value
    return recorded


def _others(recorded: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in recorded.items() if name not in (_ID, _WHERE)}


def index_store(tx: Transaction) -> StoreOwner | None:
    recorded: dict[str, str] = dict(tx.rows(_RECORDED))
    return StoreOwner(recorded[_ID], recorded[_WHERE]) if _ID in recorded else None


def own_store(tx: Transaction, store: StoreOwner, *, replaces: bool = False) -> StoreOwner:
    tx.serialise(IDENTITY)
    recorded = index_store(tx)
    if recorded is not None and recorded.id != store.id and not replaces:
        return recorded
    if recorded is not None and recorded.id != store.id:
        # The last batch was one of the other store.
        tx.run(_NO_BATCH, nothing=b"")
    tx.run(_RECORD, name=_ID, value=store.id)
    tx.run(_RECORD, name=_WHERE, value=store.where)
    return store

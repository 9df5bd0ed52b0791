"""When the tables of a cluster were last repaired, and whether that is too long ago."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.config import Settings
from weft.errors import StoreError
from weft.store.open import is_cluster


class Repairs(msgspec.Struct, frozen=True):
    tables: dict[str, int | None]
    """When the last repair of each began that covered all of it, in milliseconds since 1970; None: never."""
    problem: str = ""
    """Why it cannot be told."""
    warning: str = ""


def repairs_of(settings: Settings, now: int) -> Repairs | None:
    """Asks the cluster; None: there is none, or nothing to repair in it."""
    if not is_cluster(settings):
        return None
    from weft.store.cassandra.address import parse_address
    from weft.store.cassandra.repairs import REPAIR_WITHIN, last_repairs

    try:
        found = last_repairs(settings)
    except StoreError as error:
        return Repairs({}, problem=str(error))
    if found is None:
        return None
    keyspace = parse_address(settings.store.url).keyspace
    # Before it was made there was nothing to repair.
    late = [table for table, at in found.tables.items() if now - (at or found.made) > REPAIR_WITHIN * 1000]
    return Repairs(dict(found.tables), warning=_warning(late, REPAIR_WITHIN, keyspace))


def _warning(late: Sequence[str], within: int, keyspace: str) -> str:
    if not late:
        return ""
    days = within // 86_400
    return (
        f"not repaired within {days} days: {', '.join(late)}; deletes take up disk until then, and a node that was "
        f"away may have missed something. Run `nodetool repair {keyspace}` on every node, every {days} days at least"
    )

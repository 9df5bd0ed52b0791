"""The numbered steps of `schema/`: which of them a database has seen, and how it gets the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from weft.errors import MgmtForeign, MgmtOutdated
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.dialect import DIALECTS, Dialect

MARKER = "weft_schema"

BeforeMigration = Callable[[int], None]
"""Called with the version of an older control plane, while nobody else can change it and before it is brought up to
date; refuses that with an exception."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    sql: str


def migrations(dialect: Dialect) -> list[Migration]:
    """All steps from an empty database to the schema of this weft."""
    folder = files("weft.mgmt.sql.schema")
    found: dict[int, str] = {}
    for file in sorted(folder.iterdir(), key=_order):
        parts = file.name.split(".")
        if parts[-1] == "sql" and parts[1] in ("sql", dialect.name):
            number = int(parts[0].partition("_")[0])
            found[number] = found.get(number, "") + dialect.text(file.read_text(encoding="utf-8"))
    return [Migration(number, found[number]) for number in sorted(found)]


def _order(file: Traversable) -> tuple[str, bool]:
    """Within a step, first what is for all engines."""
    first, _, rest = file.name.partition(".")
    return first, rest != "sql"


def schema_text(name: str) -> str:
    """What `weft schema` prints: the relations as this engine makes them."""
    return "\n".join(migration.sql.rstrip() for migration in migrations(DIALECTS[name])) + "\n"


def do_nothing(version: int) -> None:
    """For a BeforeMigration: whoever opens it has seen to everything."""


def is_up_to_date(tx: Transaction, steps: Sequence[Migration], tables: set[str], where: str) -> bool:
    """Whether nothing is to be done; raises if the database, which has these tables, is not ours to change."""
    if tables and MARKER not in tables:
        raise MgmtForeign(
            f"control plane {where}: this database holds tables of another program ({_some(tables)}); "
            "expected an empty one or weft's own; nothing was changed"
        )
    version, newest = _version(tx, tables), steps[-1].number
    if version > newest:
        raise MgmtForeign(
            f"control plane {where}: it has version {version}, made by a newer weft; this one knows up to {newest}; "
            "nothing was changed"
        )
    return version == newest


def refuse_an_older_one(tx: Transaction, steps: Sequence[Migration], tables: set[str], where: str) -> None:
    """Raise unless this database is up to date, or empty: for those who only ask."""
    if not is_up_to_date(tx, steps, tables, where) and tables:
        raise MgmtOutdated(
            f"control plane {where}: an older weft made it (version {_version(tx, tables)}, this one has "
            f"{steps[-1].number}), and a question does not change it; `weft crawl`, or another command that changes "
            "something, brings it up to date"
        )


def bring_up_to_date(
    tx: Transaction,
    steps: Sequence[Migration],
    tables: set[str],
    script: Callable[[str], None],
    where: str,
    before: BeforeMigration = do_nothing,
) -> None:
    """Run the steps that this database has not seen, all in one transaction."""
    if is_up_to_date(tx, steps, tables, where):
        return
    if tables:
        before(_version(tx, tables))
    else:
        script(f"CREATE TABLE {MARKER} (version INTEGER NOT NULL PRIMARY KEY, since BIGINT NOT NULL);\n")
    version = _version(tx, {MARKER})
    for step in steps:
        if step.number > version:
            script(step.sql)
            tx.run(f"INSERT INTO {MARKER} (version, since) VALUES (:number, :now)", number=step.number, now=tx.now)  # noqa: S608


def _version(tx: Transaction, tables: set[str]) -> int:
    if MARKER not in tables:
        return 0
    found = tx.rows(f"SELECT max(version) FROM {MARKER}")  # noqa: S608 - a constant
    return int(found[0][0] or 0)


def _some(tables: set[str]) -> str:
    names = sorted(tables)
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")

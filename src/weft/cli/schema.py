"""`weft schema`."""

from __future__ import annotations

import click

from weft.cli.invocation import Invocation, command
from weft.cli.output import say, say_lines
from weft.errors import UsageError

_CLUSTER = "cassandra"


@command("schema")
@click.argument("database", type=click.Choice(["sqlite", "postgresql", _CLUSTER]))
@click.option("--apply", "is_applied", is_flag=True, help="Make the keyspace that store.url names (cassandra only).")
@click.option(
    "--replication", type=click.IntRange(1, 100), metavar="N", help="How many nodes hold each cell (default: 3)."
)
@click.option(
    "--shards",
    type=click.IntRange(1, 256),
    metavar="P",
    help="Parts of each of the 64 bases, fixed for good (default: 16, good for about 200 million links).",
)
@click.pass_obj
def run(invocation: Invocation, database: str, is_applied: bool, replication: int | None, shards: int | None) -> None:
    """Print the schema of the control plane (SQL), or of a cluster's index (CQL).

    With --apply, make the keyspace in the cluster of store.url. One that is there is left as it is.
    """
    if database != _CLUSTER:
        if is_applied or replication or shards:
            raise UsageError(f"--apply, --replication and --shards go with cassandra; weft makes {database} by itself")
        _print_sql(database)
    elif is_applied:
        _make_keyspace(invocation, replication or 3, shards)
    else:
        _print_cql(invocation, replication or 3, shards)


def _print_sql(database: str) -> None:
    from weft.mgmt.sql.migrations import schema_text

    say_lines(schema_text(database).rstrip("\n").split("\n"))


def _print_cql(invocation: Invocation, replication: int, shards: int | None) -> None:
    from weft.store.cassandra.address import parse_address
    from weft.store.cassandra.schema import SHARDS, VERSION, Keyspace, notes_text, schema_text
    from weft.store.open import is_cluster

    settings = invocation.load().settings
    name = parse_address(settings.store.url).keyspace if is_cluster(settings) else "weft"
    notes = notes_text(name, Keyspace(VERSION, shards or SHARDS, "…"))
    say_lines(f"{text};" for text in (*schema_text(name, replication), *notes))


def _make_keyspace(invocation: Invocation, replication: int, shards: int | None) -> None:
    from weft.store.open import is_cluster

    settings = invocation.load().settings
    if not is_cluster(settings):
        raise UsageError(
            f'store.url is "{settings.store.url}"; expected "cassandra://host,host/keyspace" to make a keyspace of'
        )
    from weft.clock import SystemClock
    from weft.store.cassandra.opening import open_session
    from weft.store.cassandra.schema import SHARDS, make_keyspace

    session = open_session(settings)
    try:
        made, is_new = make_keyspace(session, replication, SystemClock().now(), shards or SHARDS)
    finally:
        session.close()
    what = f"version {made.version}, {made.shards} shards, data centre {made.datacenter}"
    if is_new:
        say(f"Created {session.name} (replication {replication}, {what})")
    else:
        say(f"{session.name} is already there ({what}); nothing was changed")

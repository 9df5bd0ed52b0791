"""`weft schema`."""

from __future__ import annotations

import click

from weft.cli.invocation import command
from weft.cli.output import say_lines


@command("schema")
@click.argument("database", type=click.Choice(["sqlite", "postgresql"]))
def run(database: str) -> None:
    """Print the SQL schema of the control plane."""
    from weft.mgmt.sql.migrations import schema_text

    say_lines(schema_text(database).rstrip("\n").split("\n"))

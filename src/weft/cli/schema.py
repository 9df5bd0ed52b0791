"""`weft schema`."""

from __future__ import annotations

import click

from weft.cli.invocation import command


@command("schema")
@click.argument("database", type=click.Choice(["sqlite", "postgresql"]))
def run(database: str) -> None:
    """Print the SQL schema of the control plane."""
    from weft.mgmt.sql.migrations import schema_text

    click.echo(schema_text(database), nl=False)

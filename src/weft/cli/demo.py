"""`weft demo`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from weft.cli.invocation import command
from weft.cli.scan import drawn


@command("demo")
def run() -> None:
    """Make a home in a temporary directory, store the documents' sample there and print its query table."""
    from weft.config import starter
    from weft.demo.sample import sample_batch
    from weft.home import Home
    from weft.store.rocksdb import RocksReader, RocksStore
    from weft.store.tables import Table

    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        home = Home(Path(directory))
        home.make(starter())
        with RocksStore(home.store) as store:
            store.write(sample_batch(), store.last_seq + 1)
            click.echo(
                f"made a home in {home.path} and wrote the documents' sample as one batch, seq {store.last_seq}:\n"
            )
        with RocksReader(home.store) as reader:
            for line in drawn(Table.QUERY, reader.scan_rows(Table.QUERY)):
                click.echo(line)
    click.echo("\nc.com is referenced most: 3 pages link to it. The temporary home is gone again.")
    click.echo("Make your own with `weft init`, look into it with `weft scan query`.")

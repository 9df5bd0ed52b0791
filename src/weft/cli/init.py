"""`weft init`."""

from __future__ import annotations

import json

import click

from weft.cli.invocation import Invocation, as_json, command


@command("init")
@as_json
@click.pass_obj
def run(invocation: Invocation, as_json: bool) -> None:
    """Create a home: a directory with a settings file and an empty index.

    It never changes a home that exists.
    """
    from weft.config import starter

    home = invocation.home
    invocation.load()  # refuses bad settings before anything is created
    is_new = home.make(starter())
    with invocation.writer() as store:
        seq = store.last_seq
    if as_json:
        click.echo(json.dumps({"home": str(home.path), "new": is_new, "seq": seq}))
        return
    click.echo(f"Created {home.path}" if is_new else f"{home.path} already exists")
    click.echo(f"  {home.settings_file.name:<10} settings, every key explained")
    click.echo(f"  {home.store.name + '/':<10} index (RocksDB, seq {seq})")

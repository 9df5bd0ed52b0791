"""`weft init`."""

from __future__ import annotations

import json

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json


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
        say_json(json.dumps({"home": str(home.path), "new": is_new, "seq": seq}))
        return
    say(f"Created {home.path}" if is_new else f"{home.path} already exists")
    say(f"  {home.settings_file.name:<10} settings, every key explained")
    say(f"  {home.store.name + '/':<10} index (RocksDB, seq {seq})")

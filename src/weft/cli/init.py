"""`weft init`."""

from __future__ import annotations

import json

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json
from weft.config.text import hide_password


@command("init")
@as_json
@click.pass_obj
def run(invocation: Invocation, as_json: bool) -> None:
    """Create a home: a directory with a settings file and an empty index.

    It never changes a home that exists.
    """
    from weft.mgmt.open import is_embedded
    from weft.store.open import is_cluster, open_reader

    home, settings = invocation.home, invocation.load().settings  # bad ones are refused before anything is created
    is_new = invocation.make_home()
    if not is_new:
        invocation.ask_servers()
    invocation.prepare_store(may_stand_by=True)
    with open_reader(home.store, settings) as reader:
        seq = reader.last_seq
    if as_json:
        say_json(json.dumps({"home": str(home.path), "new": is_new, "seq": seq}))
        return
    say(f"Created {home.path}" if is_new else f"{home.path} already exists")
    say(f"  {home.settings_file.name:<10} settings, every key explained")
    if not is_embedded(settings):
        say(f"  mgmt.url   control plane in {hide_password(settings.mgmt.url)}")
    if is_cluster(settings):
        say(f"  store.url  index in {hide_password(settings.store.url)} (seq {seq})")
    else:
        say(f"  {home.store.name + '/':<10} index (RocksDB, seq {seq})")

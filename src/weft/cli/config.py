"""`weft config`."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say_json, say_table


@command("config")
@as_json
@click.pass_obj
def run(invocation: Invocation, as_json: bool) -> None:
    """Print every setting, its current value and where that value comes from."""
    from weft.config import rows, shown, toml_text

    loaded = invocation.load()
    if as_json:
        items = [
            {"key": row.name, "value": _plain(shown(row.key, row.value)), "origin": row.origin} for row in rows(loaded)
        ]
        say_json(json.dumps({"home": str(invocation.home.path), "count": len(items), "items": items}))
        return
    lines = [(row.name, row.origin, toml_text(shown(row.key, row.value))) for row in rows(loaded)]
    say_table(("key", "from", "value"), lines, is_cut=False)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value

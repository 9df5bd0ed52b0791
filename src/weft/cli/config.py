"""`weft config`."""

from __future__ import annotations

import click
import msgspec

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
        from weft.answers.settings_listing import setting_items

        items = setting_items(loaded)
        say_json(msgspec.json.encode({"home": str(invocation.home.path), "count": len(items), "items": items}))
        return
    lines = [(row.name, row.origin, toml_text(shown(row.key, row.value))) for row in rows(loaded)]
    say_table(("key", "from", "value"), lines, is_cut=False)

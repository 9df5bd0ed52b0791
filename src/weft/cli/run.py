"""`weft run`: one role of weft, as a process of its own."""

from __future__ import annotations

from importlib import import_module

import click

from weft.cli.invocation import shared_options

# role: (module, function in it, one line for `weft run --help`). A module is imported only when its role runs.
ROLES = {
    "urlserver": ("weft.cli.run_urlserver", "run", "Decide when each host may be requested, and send URLs to spiders."),
    "spider": ("weft.cli.run_spider", "run", "Fetch the URLs that URL servers send."),
    "index": ("weft.cli.run_index", "run", "Load crawled pages into the index, and choose what to crawl next."),
    "indexserver": ("weft.cli.run_indexserver", "run", "Keep the search index up to date, and answer searches."),
    "web": ("weft.cli.run_web", "run", "Serve the web app and its API."),
}


class Roles(click.Group):
    """All roles; a role's module is imported when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(ROLES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in ROLES:
            return None
        module, function, _ = ROLES[cmd_name]
        found: click.Command = getattr(import_module(module), function)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Roles"):
            formatter.write_dl([(name, line) for name, (_, _, line) in ROLES.items()])


@click.group("run", cls=Roles, params=shared_options(), subcommand_metavar="ROLE")
def run() -> None:
    """Run one role of weft as a process of its own.

    Ctrl-C or SIGTERM finishes running work and stops; a second one stops at once.
    """

"""`weft completion`."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from weft.cli.invocation import command
from weft.cli.output import say_lines

MAKERS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@command("completion")
@click.argument("shell", type=click.Choice(list(MAKERS)))
@click.pass_context
def run(context: click.Context, shell: str) -> None:
    """Print a shell script that completes weft's commands.

    For bash, put `eval "$(weft completion bash)"` into ~/.bashrc.
    """
    say_lines(MAKERS[shell](context.find_root().command, {}, "weft", "_WEFT_COMPLETE").source().split("\n"))

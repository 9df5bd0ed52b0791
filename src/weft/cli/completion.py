"""`weft completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from weft.cli.invocation import command


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def run(context: click.Context, shell: str) -> None:
    """Print the script that completes weft's commands.

    For bash: `eval "$(weft completion bash)"`, best in ~/.bashrc.
    """
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(context.find_root().command, {}, "weft", "_WEFT_COMPLETE").source())

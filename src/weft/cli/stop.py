"""`weft stop`: ends the weft that uses a home."""

from __future__ import annotations

import click
import msgspec

from weft.actions.stop import STOP_SECONDS, StopAnswer, stop_weft
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json
from weft.process_lock import in_words


@command("stop")
@click.option("--force", "at_once", is_flag=True, help="Drop running work and stop at once.")
@click.option(
    "--wait", "patience", type=click.FloatRange(min=0), default=STOP_SECONDS, metavar="S", help="Seconds to wait."
)
@as_json
@click.pass_context
def run(context: click.Context, at_once: bool, patience: float, as_json: bool) -> None:
    """Stop the weft that uses this home: it finishes running work first."""
    answer = stop_weft(context.ensure_object(Invocation).home.require(), patience, at_once=at_once)
    if as_json:
        say_json(msgspec.json.encode(answer))
    else:
        say(sentence(answer))
    context.exit(0 if answer.stopped or not answer.found else 1)


def sentence(answer: StopAnswer) -> str:
    if not answer.found:
        return "Nothing is running in this home."
    name = f"`{answer.command}` (pid {answer.pid}, running for {in_words(answer.ran)})" if answer.pid else "weft"
    if answer.stopped:
        return f"{'Killed' if answer.killed else 'Stopped'} {name} in {answer.took:.1f} s."
    return f"{name} has not stopped after {answer.took:.0f} s. Run `weft stop` again to wait, or `weft stop --force`."

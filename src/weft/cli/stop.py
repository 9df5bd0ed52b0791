"""`weft stop`: ends the weft that uses a home."""

from __future__ import annotations

import click
import msgspec

from weft.actions.stop import STOP_SECONDS, StopAnswer, stop_weft
from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, NumberRange, as_json, command
from weft.cli.output import say, say_json, say_lines
from weft.errors import MgmtError, UsageError
from weft.mgmt.open import is_embedded
from weft.process_lock import in_words


@command("stop")
@click.option("--all", "is_all", is_flag=True, help="Stop every process of this control plane, on all machines.")
@click.option("--force", "at_once", is_flag=True, help="Drop running work and stop at once.")
@click.option("--wait", "patience", type=NumberRange(min=0), default=STOP_SECONDS, metavar="S", help="Seconds to wait.")
@as_json
@click.pass_context
def run(context: click.Context, is_all: bool, at_once: bool, patience: float, as_json: bool) -> None:
    """Stop the weft that uses this home: it finishes running work first."""
    invocation = context.ensure_object(Invocation)
    if is_all:
        if at_once:
            raise UsageError("--all asks other machines, which finish their work first; leave out --force")
        context.exit(_stop_all(invocation, patience, as_json=as_json))
    answer = stop_weft(invocation.home.require(), patience, at_once=at_once)
    if as_json:
        say_json(msgspec.json.encode(answer))
    else:
        say(sentence(answer))
        say_lines(_elsewhere(invocation))
    context.exit(0 if answer.stopped or not answer.found else 1)


def _stop_all(invocation: Invocation, patience: float, *, as_json: bool) -> int:
    """Returns the exit code."""
    from weft.actions.stop_all import stop_all

    with control_plane(invocation) as mgmt:
        answer = stop_all(mgmt, patience, lambda sentence: say(f"weft: {sentence}", err=True))
    if as_json:
        say_json(msgspec.json.encode(answer))
    elif not answer.asked:
        say("Nothing is running on any machine.")
    elif answer.left:
        say(f"{', '.join(answer.left)} did not stop within {answer.took:.0f} s. Run `weft stop --all` again to wait.")
    else:
        say(f"Stopped {_processes(len(answer.asked))} in {answer.took:.1f} s.")
    return 1 if answer.left else 0


def _elsewhere(invocation: Invocation) -> list[str]:
    """A word about other machines, if the control plane knows of any and can be asked."""
    from weft.answers.nodes import is_up
    from weft.roles.this_node import machine_name

    settings = invocation.load().settings
    if is_embedded(settings):
        return []
    try:
        with control_plane(invocation, to_read=True) as mgmt:
            running = [node for node in mgmt.nodes() if is_up(node) and node.machine != machine_name(settings)]
    except MgmtError:
        return []
    if not running:
        return []
    return [f"On other machines, {_processes(len(running))} still running; `weft stop --all` stops everything."]


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count:,} processes"


def sentence(answer: StopAnswer) -> str:
    if not answer.found:
        return "Nothing is running in this home."
    name = f"`{answer.command}` (pid {answer.pid}, running for {in_words(answer.ran)})" if answer.pid else "weft"
    if answer.stopped:
        return f"{'Killed' if answer.killed else 'Stopped'} {name} in {answer.took:.1f} s."
    return f"{name} has not stopped after {answer.took:.0f} s. Run `weft stop` again to wait, or `weft stop --force`."

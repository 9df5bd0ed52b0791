"""`weft nodes` and `weft retry`: weft's processes, and chunks that failed."""

from __future__ import annotations

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json, say_lines, say_table
from weft.cli.tables import amount
from weft.errors import NotKnown


@command("nodes")
@click.option(
    "--ask",
    type=click.Choice(["online", "paused", "draining"]),
    help="Ask the node at ADDRESS, or all nodes that run, to enter this state.",
)
@click.option("--all", "is_all", is_flag=True, help="List nodes that died long ago, too.")
@click.argument("address", required=False)
@as_json
@click.pass_obj
def nodes(invocation: Invocation, ask: str | None, is_all: bool, address: str | None, as_json: bool) -> None:
    """List weft's processes (nodes) on all machines: type, state, health, how much work each holds, and its clock."""
    from weft.actions.nodes import ask_nodes
    from weft.answers.nodes import living_nodes, warnings
    from weft.cli.node_table import node_table
    from weft.mgmt.values import NodeState

    with control_plane(invocation, to_read=not ask) as mgmt:
        if ask:
            found = ask_nodes(mgmt, address, NodeState(ask))
        elif address or is_all:
            found = [node for node in mgmt.nodes() if address in (None, node.address)]
        else:
            found = living_nodes(mgmt.nodes(), invocation.load().settings.mgmt.show_dead)
    if address and not found:
        raise NotKnown(f"no node has the address {address}")
    if as_json:
        say_json(msgspec.json.encode({"count": len(found), "items": found}))
        return
    say_table(*node_table(found))
    say_lines((f"weft: {sentence}" for sentence in warnings(found)), err=True)


@command("retry")
@click.argument("chunks", nargs=-1, type=int, metavar="[CHUNK]...")
@as_json
@click.pass_obj
def retry(invocation: Invocation, chunks: tuple[int, ...], as_json: bool) -> None:
    """Retry chunks of crawled pages that could not be indexed: the given ones, or all."""
    from weft.actions.chunks import retry_chunks

    with control_plane(invocation) as mgmt:
        retried = retry_chunks(mgmt, chunks)
    if as_json:
        say_json(msgspec.json.encode(retried))
    else:
        say(f"{amount(retried.chunks, 'chunk')} will be retried")

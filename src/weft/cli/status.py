"""`weft status`: how the crawl is doing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from weft.answers.objects import moment
from weft.cli.control import control_plane
from weft.cli.crawl_facts import counted
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.tables import aligned
from weft.errors import UsageError
from weft.supervisor.disk import Disk

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import Node

_ROWS = 10


@command("status")
@click.option("--tables", is_flag=True, help="The relations of the control plane, drawn as the documents draw them.")
@click.option("--queues", is_flag=True, help="The queues of a running URL server, one line a host.")
@as_json
@click.pass_obj
def run(invocation: Invocation, tables: bool, queues: bool, as_json: bool) -> None:
    """Print links by state, chunks by task, nodes, and how fresh the index is."""
    if tables and queues:
        raise UsageError("--tables and --queues show different things; expected one of them")
    if queues:
        _show_queues(invocation, as_json)
        return
    with control_plane(invocation) as mgmt:
        if tables:
            _show_tables(mgmt, as_json)
            return
        facts = status_facts(mgmt, invocation.home.path, invocation.load().settings)
    if as_json:
        click.echo(msgspec.json.encode(facts))
        return
    for line in spoken(facts):
        click.echo(line)


def status_facts(mgmt: Mgmt, home: Path, settings: Settings) -> dict[str, Any]:
    """Everything that a status says, for people and programs alike."""
    from weft.roles.status_file import last_status, read_status
    from weft.supervisor.disk import look_at_disk

    counts, index = mgmt.counts(), last_status(home, "index") or {}
    disk = look_at_disk(home / settings.spider.warc_dir, settings.spider.min_free)
    running = [role for role in ("index", "urlserver") if read_status(home, role)]
    running += ["spider"] if any(node.type == "Spider" and _is_up(node) for node in mgmt.nodes()) else []
    return {
        "running": running,
        "links": counts.links,
        "chunks": counts.chunks,
        "errors": counts.errors,
        "refused": index.get("refused", {}),
        "oldest_lease": counts.oldest_lease,
        "nodes": msgspec.to_builtins(mgmt.nodes()),
        "freshness": index.get("freshness", {"p50": None, "p99": None}),
        "rate": index.get("rate", 0.0) if "index" in running else 0.0,
        "told": index.get("at"),
        "disk": {"free": disk.free, "min_free": disk.least, "is_low": disk.is_low},
        "index": {name: index.get(name) for name in ("pages", "links", "discovered", "given", "outstanding")},
    }


def _is_up(node: Node) -> bool:
    return node.state in ("online", "paused") and node.health == "healthy"


def spoken(facts: dict[str, Any]) -> list[str]:
    lines = [
        f"runs     {', '.join(facts['running']) or 'nothing: no role of this home is running'}",
        f"links    {counted(facts['links'])}",
        f"chunks   {counted(facts['chunks'])}",
    ]
    lines += [
        f"{name:9}{counted(facts[key])}" for name, key in (("errors", "errors"), ("left out", "refused")) if facts[key]
    ]
    lines += _figures_of_the_index(facts)
    if facts["disk"]["is_low"]:
        lines.append(f"disk     {Disk(facts['disk']['free'], facts['disk']['min_free'])}")
    if facts["oldest_lease"] is not None:
        lines.append(f"oldest   a node that holds work was last heard {facts['oldest_lease'] / 1000:.0f} s ago")
    rows = [
        (node["address"], node["type"], node["state"], node["health"], str(node["holds"])) for node in facts["nodes"]
    ]
    if rows:
        lines += ["", *aligned(("node", "type", "state", "health", "holds"), rows)]
    return lines


def _figures_of_the_index(facts: dict[str, Any]) -> list[str]:
    """What the index process tells; of one that is gone, what it told last."""
    index, fresh = facts["index"], facts["freshness"]
    if index["pages"] is None:
        return []
    is_running = "index" in facts["running"]
    when = (
        f"{facts['rate']:.1f}/s lately" if is_running else f"by the last run, until {moment(int(facts['told'] * 1000))}"
    )
    lines = [f"pages    {index['pages']:,}, {when}"]
    if fresh["p50"] is not None:
        lines.append(f"fresh    {fresh['p50']:.1f} s from fetch to answer (p99 {fresh['p99']:.1f} s)")
    return lines


def _show_tables(mgmt: Mgmt, as_json: bool) -> None:
    from weft.mgmt.relations import DOCUMENTED

    found = {name: mgmt.table(name, limit=_ROWS) for name in DOCUMENTED}
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for name, rows in found.items():
        for line in drawn(name, rows):
            click.echo(line)
        click.echo()


def drawn(name: str, rows: Sequence[Mapping[str, object]]) -> list[str]:
    """A relation in the frame that the documents draw."""
    from weft.mgmt.relations import RELATIONS

    header = RELATIONS[name]
    cells = [header, *(tuple(str(row[column]) for column in header) for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    rule = "    " + "-" * (sum(widths) + 3 * len(widths) - 1)
    lines = [
        "   | " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return [name, rule, lines[0], rule, *lines[1:], *([rule] if rows else [])]


def _show_queues(invocation: Invocation, as_json: bool) -> None:
    from weft.errors import NotKnown
    from weft.roles.status_file import read_status
    from weft.urlserver.drawing import draw_queues

    facts = read_status(invocation.home.require().path, "urlserver")
    if facts is None:
        raise NotKnown("no URL server of this home is running, so there are no queues")
    click.echo(json.dumps(facts) if as_json else draw_queues(facts))

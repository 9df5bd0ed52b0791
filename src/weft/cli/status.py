"""`weft status`: how the crawl is doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from weft.answers.disk import Disk
from weft.answers.growth import growth_lines
from weft.answers.link_outcomes import by_outcome, failures_of, refusals_of
from weft.answers.objects import moment
from weft.answers.search_servers import numbers_in_words
from weft.cli.control import control_plane
from weft.cli.crawl_facts import counted
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.node_table import node_table
from weft.cli.output import say, say_json, say_lines
from weft.cli.tables import aligned, amount, fitted
from weft.cli.text_width import cut, padded, terminal_width, width_of
from weft.errors import UsageError
from weft.model.shown_text import shown_text
from weft.roles.mgmt_upkeep import WAY_OUT

if TYPE_CHECKING:
    from weft.answers.repairs import Repairs
    from weft.answers.search_servers import SearchServer
    from weft.answers.status import Status
    from weft.mgmt.api import OperatorCalls
    from weft.mgmt.values import ClockJump

_ROWS = 10
_FRAME = 4
"""Columns that the frame of a table takes beside those between its cells."""


@command("status")
@click.option("--tables", is_flag=True, help="Print the tables of the control plane.")
@click.option("--queues", is_flag=True, help="Print the queues of the running URL servers, one line per host.")
@as_json
@click.pass_obj
def run(invocation: Invocation, tables: bool, queues: bool, as_json: bool) -> None:
    """Show how the crawl is doing: links, chunks, errors, processes, and how fresh the index is."""
    from weft.answers.repairs import repairs_of
    from weft.answers.status import status
    from weft.clock import SystemClock

    if tables and queues:
        raise UsageError("give --tables or --queues, not both")
    if queues:
        _show_queues(invocation, as_json)
        return
    with control_plane(invocation, to_read=True) as mgmt:
        if tables:
            _show_tables(mgmt, as_json)
            return
        found = status(mgmt, invocation.home.path, invocation.load().settings)
    found = msgspec.structs.replace(found, repairs=repairs_of(invocation.load().settings, SystemClock().now()))
    if as_json:
        say_json(msgspec.json.encode(found))
        return
    say_lines(status_lines(found))


def status_lines(found: Status) -> list[str]:
    lines = [
        f"running  {', '.join(found.running) or 'nothing'}",
        f"links    {counted(by_outcome(found.links, found.statuses, found.errors))}",
        f"chunks   {counted(found.chunks)}",
    ]
    lines += [f"{name:9}{counted(some)}" for name, some in _failures_and_skipped(found) if some]
    lines += _index_lines(found)
    lines += [f"search   {search_words(server)}" for server in found.search]
    if found.told is not None:
        lines += [f"size     {line}" for line in growth_lines(found.growth)]
    if found.disk.is_low:
        lines.append(f"disk     {Disk(found.disk.free, found.disk.min_free)}")
    if found.oldest_lease is not None:
        lines.append(f"oldest   last heartbeat of a node with work: {found.oldest_lease / 1000:.0f} s ago")
    if found.mgmt.damage:
        lines.append(f"damage   the control plane is damaged ({found.mgmt.damage}); {WAY_OUT}")
    if found.clock_jump is not None:
        lines.append(f"clock    {_clock_sentence(found.clock_jump)}")
    if found.repairs is not None:
        lines.append(f"repair   {repair_words(found.repairs)}")
    lines += [f"warning  {sentence}" for sentence in (*found.warnings, *_repair_warning(found))]
    if found.nodes:
        lines += ["", *aligned(*node_table(found.nodes), room=terminal_width())]
    return lines


def _failures_and_skipped(found: Status) -> list[tuple[str, dict[str, int]]]:
    return [("errors", failures_of(found.errors)), ("skipped", {**found.refused, **refusals_of(found.errors)})]


def _clock_sentence(jump: ClockJump) -> str:
    hours, minutes = divmod(round(jump.by / 60_000), 60)
    by = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    if jump.at is None:
        return f"it went back by {by}; waits are cut to their own length when weft runs next"
    return f"it went back by {by} on {moment(jump.at)}; waits were cut to their own length"


def _index_lines(found: Status) -> list[str]:
    """The figures of the index process; after it has stopped, its last ones."""
    if found.index.pages is None:
        return []
    until = f"in the last run, which ended {moment(int((found.told or 0) * 1000))}"
    now = f"since the index process began, {found.rate:.1f}/s now"
    lines = [f"pages    {found.index.pages:,} {now if 'index' in found.running else until}"]
    fresh = found.freshness
    if fresh.p50 is not None and fresh.p99 is not None:
        lines.append(f"fresh    {fresh.p50:.1f} s from fetch to answer (p99 {fresh.p99:.1f} s)")
    return lines


def repair_words(repairs: Repairs) -> str:
    """When each table of a cluster was last repaired."""
    if repairs.problem:
        return f"not known: {repairs.problem}"
    told = {table: "never" if at is None else moment(at) for table, at in repairs.tables.items()}
    if len(set(told.values())) == 1:
        return f"all tables: {next(iter(told.values()))}"
    return ", ".join(f"{table} {when}" for table, when in told.items())


def _repair_warning(found: Status) -> list[str]:
    return [found.repairs.warning] if found.repairs is not None and found.repairs.warning else []


def search_words(server: SearchServer) -> str:
    shards = numbers_in_words(server.shards)
    where = f"row {server.row}, {f'shard {shards} of {server.count}' if shards else 'no shard yet'}"
    lag = f"{amount(server.lag, 'round')} behind" if server.lag else "up to date"
    pending = f", {server.pending:,} to be written for their references" if server.pending else ""
    building = f", building anew ({server.build:,} documents so far)" if server.building else ""
    fresh = server.freshness
    within = f", {fresh.p50:.1f} s after the index (p99 {fresh.p99:.1f} s)" if fresh.p50 and fresh.p99 else ""
    return (
        f"{where}: {amount(server.documents, 'document')} to seq {server.content:,}, {lag}{within}{pending}{building}"
    )


def _show_tables(mgmt: OperatorCalls, as_json: bool) -> None:
    from weft.mgmt.relations import DOCUMENTED

    found = {name: mgmt.table(name, limit=_ROWS) for name in DOCUMENTED}
    if as_json:
        say_json(msgspec.json.encode(found))
        return
    for name, rows in found.items():
        say_lines(drawn(name, rows, terminal_width()))
        say()


def drawn(name: str, rows: Sequence[Mapping[str, object]], room: int | None = None) -> list[str]:
    """A table of the control plane, framed as in the design documents and cut to a terminal of `room` columns."""
    from weft.mgmt.relations import RELATIONS

    header = RELATIONS[name]
    cells = [header, *(tuple(shown_text(str(row[column])) for column in header) for row in rows)]
    widths = [max(width_of(row[n]) for row in cells) for n in range(len(header))]
    if room is not None:
        widths = fitted(widths, room - _FRAME - 3 * len(widths))
    rule = "    " + "-" * (sum(widths) + 3 * len(widths) - 1)
    lines = [
        "   | " + " | ".join(padded(cut(cell, width), width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return [name, rule, lines[0], rule, *lines[1:], *([rule] if rows else [])]


def _show_queues(invocation: Invocation, as_json: bool) -> None:
    from weft.answers.queues_now import queues_now
    from weft.roles.run_token import with_run_token
    from weft.urlserver.view.queue_diagram import draw_queues

    settings = with_run_token(invocation.load().settings, invocation.home.require().path)
    with control_plane(invocation, to_read=True) as mgmt:
        found = queues_now(mgmt, settings)
    if as_json:
        say_json(msgspec.json.encode(found))
        return
    for number, snapshot in enumerate(found.items):
        say_lines([*([""] if number else []), *draw_queues(snapshot).split("\n")])
    say_lines((f"weft: {problem}" for problem in found.silent.values()), err=True)

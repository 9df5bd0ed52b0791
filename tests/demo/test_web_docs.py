"""docs/synthetic-web.md names every option, share, trait, rule and field, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import click
import msgspec
import pytest

from weft.cli.demo import run as demo
from weft.cli.invocation import shared_options
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES, SECONDS, SHARES
from weft.demo.web.definition.state import CHANGES
from weft.demo.web.definition.traits import SWITCHABLE, RobotsKind
from weft.demo.web.fates import Fate
from weft.demo.web.judge.judge import judge_lines
from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import RequestLine

PAGE = (Path(__file__).parents[2] / "docs" / "synthetic-web.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([^`]+)`")


def first_cells(header: str) -> list[str]:
    """The names in the first column of every table with this heading."""
    names = []
    for table in re.findall(rf"^\| {re.escape(header)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE):
        for row in table.splitlines():
            names += NAME.findall(row.split("|")[1])
    return names


@pytest.mark.parametrize("name", ["serve", "judge", "truth"])
def test_the_options_of_a_command_are_those_documented(name: str) -> None:
    shared = {option for parameter in shared_options() for option in parameter.opts}
    options = {
        option
        for parameter in demo.commands[name].params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    assert sorted(first_cells(f"option of `weft demo {name}`")) == sorted(options - shared)


def test_the_shares_of_a_profile_are_those_documented() -> None:
    tables = [*first_cells("shares of hosts"), *first_cells("leaves for each page"), *first_cells("shares of pages")]
    assert sorted([*tables, "nofollow"]) == sorted(SHARES)
    assert all(f"`{name}`" in PAGE for name in SECONDS)
    assert first_cells("profile") == list(PROFILES)


def test_the_rules_are_those_documented() -> None:
    report = judge_lines(WebPlan(), [], Limits())
    assert first_cells("rule") == [rule.rule for rule in report.rules]


def test_the_fields_of_the_log_are_those_documented() -> None:
    assert first_cells("field | default") == list(RequestLine.__struct_fields__)


def test_the_line_that_is_printed_is_a_line_of_the_log() -> None:
    found = re.search(r"```json\n(.*)\n```", PAGE)
    assert found
    line = msgspec.json.decode(found[1], type=RequestLine)
    assert msgspec.json.encode(line).decode() == found[1]


def test_control_calls_and_traits_are_those_documented() -> None:
    assert first_cells("`do`") == ["change", "vanish", "return", "switch", "advance", "flush", "count"]
    assert set(CHANGES) < set(first_cells("`do`"))
    sentence = PAGE.partition("Traits that can be switched: ")[2].partition("The answer is")[0]
    assert set(NAME.findall(sentence)) == {*SWITCHABLE, *RobotsKind}


def test_the_fates_are_those_documented() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `fate` |"))
    assert sorted(NAME.findall(row)) == sorted(["fate", *Fate])

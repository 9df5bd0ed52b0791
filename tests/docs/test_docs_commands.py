"""docs/commands.md names every command and every option, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from weft.cli.invocation import shared_options
from weft.cli.main import COMMANDS, weft

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
SHARED = SECTIONS["On every command"]
DOCUMENTED_OPTION = re.compile(r"^\| `(-[^ `]+)", re.MULTILINE)


def command(name: str) -> click.Command:
    found = weft.get_command(click.Context(weft), name)
    assert found is not None
    return found


def options_of(parameters: list[click.Parameter]) -> set[str]:
    return {name for parameter in parameters if isinstance(parameter, click.Option) for name in parameter.opts}


def test_the_commands_are_documented_in_the_order_of_the_help() -> None:
    assert [title.removeprefix("weft ") for title in SECTIONS if title.startswith("weft ")] == list(COMMANDS)


def test_the_options_of_every_command_are_documented_once() -> None:
    documented = DOCUMENTED_OPTION.findall(SHARED)
    assert sorted(documented) == sorted([*options_of(weft.params), "--help"])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_a_command_are_those_documented(name: str) -> None:
    own = options_of(command(name).params) - options_of(shared_options())
    assert sorted(DOCUMENTED_OPTION.findall(SECTIONS[f"weft {name}"])) == sorted(own)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_arguments_of_a_command_are_documented(name: str) -> None:
    made = command(name)
    usage = made.collect_usage_pieces(click.Context(made))
    expected = " ".join(["weft", name, *(piece for piece in usage if piece != "[OPTIONS]")])
    assert f"`{expected}`" in SECTIONS[f"weft {name}"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_and_its_exit_codes(name: str) -> None:
    section = SECTIONS[f"weft {name}"]
    assert "```console\n$ " in section
    assert re.search(r"^Exit codes?: ", section, re.MULTILINE)
